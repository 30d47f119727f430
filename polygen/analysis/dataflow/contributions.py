"""Tracks the contents of an accumulator: the combined parts of a reduction.

A reduction that several instructions compute, in stages, is right if what is read in the end holds
each part once.  For instance, of ``sum(j, a[j])``, with j from 0 to 3:

    acc[j] = a[j]                   holds j
    acc[p] = acc[p] + acc[p + 2]    holds p and p + 2, for p from 0 to 1
    acc[q] = acc[q] + acc[q + 1]    holds 0, 2 and 1, 3, for q = 0
    b = acc[0]                      finds 0 to 3, each once

Where a stage finds what it combines, isl's dataflow says (`read_sources.sources`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TypeAlias

import islpy as isl

from polygen.analysis.access.accesses import Reference, references
from polygen.analysis.access.domains import domain_of, domain_temporaries, with_surrounding
from polygen.analysis.dataflow.read_sources import sources
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.second_instance import OTHER
from polygen.analysis.pairs.instance_pairs import greater, renamed
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import ValueArg
from polygen.ir.domain import (
    Domain,
    flatten,
    project_out,
    rename_dimension,
    unflatten,
    universe,
)
from polygen.ir.dtype import DType
from polygen.ir.empty import NO_NAMES, new_dict
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import Parts, facts_of, identity_of, parts_of
from polygen.ir.show_expression import show_expression
from polygen.ir.verify import excerpt

_MOST_PIECES = 32  # that are tried to be made fewer
_PART = "__part_"  # names of users do not begin so


_Place: TypeAlias = tuple[tuple[str, ...], tuple[Expression, ...]]  # accumulators, subscripts


@dataclass(frozen=True)
class Staged:
    """A reduction that instructions compute in stages.

    Attributes:
        reduction: what is computed.
        names: the variables that it is computed in: groups of one for each result.
        dtypes: their types.
        conditions: those that it is computed under.
        stages: the instructions.
        use: the one that uses the result.
        values: what inames of the reduction are where its operand is computed outside of it.
        inner: other names of inames over which a stage reduces.
        carried: the instruction that takes all that was found up to an iteration to the next ones,
            if one does, and the iname along which that is: an axis of the work items.
    """

    reduction: ex.Reduction
    names: tuple[tuple[str, ...], ...]
    dtypes: tuple[DType, ...]
    conditions: tuple[Expression, ...]
    stages: tuple[Assigning, ...]
    use: Instruction
    values: Mapping[str, Expression] = field(default_factory=new_dict)
    inner: Mapping[str, str] = field(default_factory=new_dict)
    carried: tuple[str, str] | None = None


def check_stages(kernel: Kernel, staged: Staged) -> None:
    """Check that what computes a reduction in stages combines each part of it once.

    Parameters:
        kernel: one that has the stages, and what uses the result.
        staged: the stages.

    Raises:
        InternalError: if it does not.
    """
    why = _wrong(kernel, staged)
    if why is not None:
        reduction = show_expression(staged.reduction)
        raise InternalError(
            f"the stages of {reduction} in '{staged.use.id}' are wrong: {why}",
            where=staged.use.location,
            excerpt=excerpt(kernel, *(stage.id for stage in staged.stages)),
        )


def _wrong(kernel: Kernel, staged: Staged) -> str | None:
    """Return what is wrong.

    It is first looked for in one iteration of the loops around all stages, whichever it is, as if
    there were no others: that is less to look at, and what is right there is right in all.
    """
    kernel = _without_data(kernel, staged)
    around = _around(kernel, staged)
    if around:
        known = domain_of(kernel, around)
        if _found_wrong(_in_one_iteration(kernel, around), staged, known) is None:
            return None
    return _found_wrong(kernel, staged, universe())


def _found_wrong(kernel: Kernel, staged: Staged, known: isl.Set) -> str | None:
    """Return what is wrong, given what is known of the loops around."""
    contributions = _Contributions(kernel, staged)
    use = kernel.instruction(staged.use.id)
    places = contributions.places(use)
    if len(places) != 1:
        return f"{len(places)} results are used"
    needed = _needed(kernel, staged)
    try:
        found = contributions.read(use, places[0])
        if staged.carried is not None:
            contributions.check_carried(needed)
    except _WrongError as wrong:
        return str(wrong)
    parts = [part for condition in staged.conditions for part in walk.conjuncts(condition)]
    given = [s for s in map(condition_set, parts) if s is not None]  # the others are data
    asked = reduce(isl.Set.intersect, given, kernel.assumptions.flat.intersect(known))
    if not needed.intersect(asked).is_equal(found.intersect(asked)):
        return "not all parts are found"
    return None


def _needed(kernel: Kernel, staged: Staged) -> isl.Set:
    """Return which parts each instance of the use is to find."""
    reduced = staged.reduction.inames
    use = kernel.instruction(staged.use.id)
    inames = with_surrounding(kernel, use.within_inames.union(reduced))
    return _as_parts(domain_of(kernel, inames), {i: i for i in reduced}, {})


def _without_data(kernel: Kernel, staged: Staged) -> Kernel:
    """Return the kernel for what data decides, once: under the conditions, with some bounds."""
    insns = (*staged.stages, staged.use)
    inames = NO_NAMES.union(*(i.within_inames | i.reduction_inames for i in insns))
    bounds = domain_temporaries(kernel, with_surrounding(kernel, inames))
    ids = {insn.id for insn in insns}
    return kernel.copy(
        instructions=tuple(
            [
                insn.copy(
                    predicates=tuple([p for p in insn.predicates if p not in staged.conditions]),
                    depends_on=insn.depends_on & ids,
                    happens_after=frozenset(),
                )
                for insn in insns
            ]
        ),
        temporaries=tuple([t for t in kernel.temporaries if t.name not in bounds]),
        arguments=(*kernel.arguments, *(ValueArg(name) for name in sorted(bounds))),
    )


def _around(kernel: Kernel, staged: Staged) -> frozenset[str]:
    """Return the loops around all stages, if each iteration of these can be looked at alone."""
    if staged.carried is not None:
        return NO_NAMES
    insns = [kernel.instruction(insn.id) for insn in (*staged.stages, staged.use)]
    shared = reduce(frozenset[str].intersection, [insn.within_inames for insn in insns])
    return with_surrounding(kernel, shared)


def _in_one_iteration(kernel: Kernel, around: frozenset[str]) -> Kernel:
    """Return the kernel for one iteration of some loops, whose inames are names like any other."""
    domains: list[Domain] = []
    for domain in kernel.domains:
        inames = tuple([iname for iname in domain.inames if iname not in around])
        if inames:
            domains.append(Domain(unflatten(flatten(domain.set), inames)))
    return kernel.copy(
        instructions=tuple(
            [i.copy(within_inames=i.within_inames - around) for i in kernel.instructions]
        ),
        domains=tuple(domains),
        tags={iname: tag for iname, tag in kernel.tags.items() if iname not in around},
        priorities=(),
        separations=(),
        arguments=(*kernel.arguments, *(ValueArg(name) for name in sorted(around))),
    )


class _WrongError(Exception):
    """The fault that was found."""


class _Contributions:
    """Finds which parts instructions leave in accumulators.

    Sets are flat: over the inames of an instruction and, with a prefix, those of the parts.
    """

    def __init__(self, kernel: Kernel, staged: Staged) -> None:
        self._kernel, self._of = kernel, staged
        self._facts = facts_of(staged.reduction.operation)
        self._left: dict[str, isl.Set] = {}
        self._pending: set[str] = set()

    def check_carried(self, needed: isl.Set) -> None:
        """Check what is said of what is carried, given that it is so in earlier iterations."""
        assert self._of.carried is not None
        insn_id, _ = self._of.carried
        insn = self._kernel.instruction(insn_id)
        assert isinstance(insn, Assigning)
        known = self._kernel.assumptions.flat
        said, found = self._said(needed).intersect(known), self._find(insn).intersect(known)
        if not said.is_equal(found):
            raise _WrongError(f"'{insn_id}' carries something else")

    def _said(self, needed: isl.Set) -> isl.Set:
        """Return what is said to be carried: all that is needed up to an iteration."""
        assert self._of.carried is not None
        insn_id, iname = self._of.carried
        inames = with_surrounding(self._kernel, self._kernel.instruction(insn_id).within_inames)
        return project_out(needed, [iname]).intersect(domain_of(self._kernel, inames))

    def left(self, insn_id: str) -> isl.Set:
        """Return which parts each instance of an instruction leaves where it writes."""
        if insn_id not in self._left:
            insn = self._kernel.instruction(insn_id)
            if self._of.carried is not None and self._of.carried[0] == insn_id:
                return self._said(_needed(self._kernel, self._of))
            assert isinstance(insn, Assigning)
            if insn_id in self._pending:
                raise _WrongError(f"'{insn_id}' finds what it left in an earlier iteration")
            self._pending.add(insn_id)
            self._left[insn_id] = self._find(insn)
        return self._left[insn_id]

    def _find(self, insn: Assigning) -> isl.Set:
        inames = with_surrounding(self._kernel, insn.within_inames)
        if insn.values == identity_of(self._of.reduction.operation, self._of.dtypes):
            return isl.Set.empty(domain_of(self._kernel, inames).get_space())
        places = self.places(insn)
        if not places:
            return self._own(insn, inames)
        if len(places) == 1 and insn.values == _elements(places[0]):
            return self.read(insn, places[0])
        if len(places) != 2 or not self._combines(insn, places):
            if len(places) != 2 or not self._combines(insn, places[::-1]):
                raise _WrongError(f"'{insn.id}' computes something else")
            places = places[::-1]
        first, second = (self.read(insn, place) for place in places)
        if not first.is_disjoint(second):
            raise _WrongError(f"'{insn.id}' combines a part with itself")
        if not (self._facts.regroups or self._is_before(first, second)):
            raise _WrongError(f"'{insn.id}' combines parts in another order")
        return _joined([first, second])

    def _is_before(self, first: isl.Set, second: isl.Set) -> bool:
        """Tell whether all of some parts come before all of others in the reduction's loop."""
        (part,) = [_PART + iname for iname in self._of.reduction.inames]
        return bool(first.intersect(renamed(second, [part])).intersect(greater(part)).is_empty())

    def _own(self, insn: Assigning, inames: frozenset[str]) -> isl.Set:
        """Return what an instruction contributes itself: the operand, or a reduction over parts."""
        whole, values = self._of.reduction, dict[str, Expression](self._of.values)
        values |= {i: ex.Variable(i) for i in whole.inames if i in insn.within_inames}
        inner = {i: self._of.inner.get(i, i) for i in whole.inames if i not in values}
        names = {i: ex.Variable(name) for i, name in inner.items()}
        operand = walk.substitute(whole.operand, {**self._of.values, **names})
        if inner:
            operand = ex.Reduction(whole.operation, tuple(inner.values()), operand)
        parts = parts_of(ex.Reduction(whole.operation, (), operand))
        if _flat(insn.values) != _flat(parts):
            raise _WrongError(f"'{insn.id}' computes something else")
        inames = with_surrounding(self._kernel, inames.union(inner.values()))
        own = domain_of(self._kernel, inames)
        for predicate in insn.predicates:
            given = condition_set(predicate)
            if given is None:
                raise _WrongError(f"data decides whether '{insn.id}' is executed")
            own = own.intersect(given)
        return _as_parts(own, inner, values)

    def _combines(self, insn: Assigning, places: Sequence[_Place]) -> bool:
        """Tell whether an instruction combines what is in two places, in this order."""
        first, second = map(_elements, places)
        return insn.values == self._facts.combined(first, second, self._of.dtypes)

    def read(self, insn: Instruction, place: _Place) -> isl.Set:
        """Return which parts each instance of an instruction finds at a place."""
        group, index = place
        here = [r for r in references(insn) if r.name in group and not r.is_write]
        # What accumulators hold decides nothing here: that is data.
        alike = {(r.name, r.index, self._decided(r.conditions)): r for r in here}
        found = [self._found_in(r, group) for r in alike.values() if r.index == index]
        if not all(found[0].is_equal(other) for other in found[1:]):
            raise _WrongError(f"'{insn.id}' finds results of different parts")
        return found[0]

    def _decided(self, conditions: Sequence[Expression]) -> tuple[Expression, ...]:
        """Return those of some conditions that mention no accumulator."""
        names = {name for group in self._of.names for name in group}
        return tuple([c for c in conditions if names.isdisjoint(walk.free_variables(c))])

    def _found_in(self, reference: Reference, group: tuple[str, ...]) -> isl.Set:
        flow = sources(self._kernel, reference)
        if flow is None:
            raise _WrongError(f"data decides what '{reference.insn.id}' finds")
        position = group.index(reference.name)
        found: list[isl.Set] = []
        for source in flow:
            if source.writer is None or source.position != position:
                raise _WrongError(f"'{reference.insn.id}' finds something else")
            inames = self._kernel.instruction(source.writer).within_inames
            left = renamed(self.left(source.writer), inames).intersect(source.pairs)
            found.append(project_out(left, [i + OTHER for i in inames]))
        return _joined(found)

    def places(self, insn: Instruction) -> tuple[_Place, ...]:
        """Return where an instruction reads accumulators."""
        read = [r for r in references(insn) if not r.is_write]
        return tuple(
            dict.fromkeys((g, r.index) for r in read for g in self._of.names if r.name in g)
        )


def _joined(sets: Sequence[isl.Set]) -> isl.Set:
    """Return the union of sets, as few pieces: each stage would double their number.

    Parts that are far apart are pieces whatever is tried, which costs more than it saves.
    """
    whole = reduce(isl.Set.union, sets, universe().complement())
    if whole.n_basic_set() > _MOST_PIECES:
        return whole
    return whole.detect_equalities().coalesce()


def _flat(values: Parts) -> Parts:
    return tuple(map(walk.with_flat_subscripts, values))


def _elements(place: _Place) -> Parts:
    group, index = place
    if not index:
        return tuple(map(ex.Variable, group))
    subscript = index[0] if len(index) == 1 else index
    return tuple([ex.Subscript(ex.Variable(name), subscript) for name in group])


def _as_parts(
    domain: isl.Set, inner: Mapping[str, str], values: Mapping[str, Expression]
) -> isl.Set:
    """Return a set of instances with the parts that they have.

    Parameters:
        domain: the instances, with the inames of reductions over parts.
        inner: what those of the reduction's inames are called that the set has.
        values: what the others are.
    """
    for iname, value in values.items():
        same = condition_set(ex.Comparison(value, "==", ex.Variable(_PART + iname)))
        if same is None:
            raise _WrongError(f"data decides what '{iname}' is")
        domain = domain.intersect(same)
    for iname, name in inner.items():
        domain = rename_dimension(domain, name, _PART + iname)
    return domain
