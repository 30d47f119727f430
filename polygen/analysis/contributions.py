"""What is in an accumulator: which parts of a reduction have been combined in it.

A reduction that several instructions compute, in stages, is right if what is read in the end holds
each part once.  For instance, of ``sum(j, a[j])``, with j from 0 to 3:

    acc[j] = a[j]                   holds j
    acc[p] = acc[p] + acc[p + 2]    holds p and p + 2, for p from 0 to 1
    acc[q] = acc[q] + acc[q + 1]    holds 0, 2 and 1, 3, for q = 0
    b = acc[0]                      finds 0 to 3, each once

Where a stage finds what it combines, isl's dataflow says (`dataflow.sources`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

import islpy as isl

from polygen.analysis.access import Reference, references
from polygen.analysis.dataflow import sources
from polygen.analysis.domains import domain_of, domain_temporaries, with_surrounding
from polygen.analysis.isl_affine import condition_set
from polygen.analysis.pairs import renamed
from polygen.analysis.second import OTHER
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import ValueArg
from polygen.ir.domain import project_out
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import Parts, facts_of, identity_of, parts_of
from polygen.ir.show_expression import show_expression
from polygen.ir.verify import excerpt

_PARAM = isl.dim_type.param
_PART = "__part_"  # names of users do not begin so


@dataclass(frozen=True)
class Staged:
    """A reduction that instructions compute in stages.

    Attributes:
        reduction: what is computed.
        names: the variables that it is computed in, one for each result.
        dtypes: their types.
        conditions: those that it is computed under.
        stages: the instructions.
        use: the one that uses the result.
    """

    reduction: ex.Reduction
    names: tuple[str, ...]
    dtypes: tuple[DType, ...]
    conditions: tuple[Expression, ...]
    stages: tuple[Assigning, ...]
    use: Instruction


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
    if any(not set(stage.predicates) <= set(staged.conditions) for stage in staged.stages):
        return "a part is under a condition of its own"
    use, reduced = staged.use, staged.reduction.inames
    contributions = _Contributions(_without_data(kernel, staged), staged)
    places = dict.fromkeys(r.index for r in contributions.reads(use))
    if len(places) != 1:
        return f"{len(places)} results are used"
    try:
        found = contributions.read(use, *places)
    except _WrongError as wrong:
        return str(wrong)
    inames = with_surrounding(kernel, use.within_inames.union(reduced))
    needed = _as_parts(domain_of(kernel, inames), use, reduced)
    parts = [part for condition in staged.conditions for part in walk.conjuncts(condition)]
    given = [s for s in map(condition_set, parts) if s is not None]  # the others are data
    asked = reduce(isl.Set.intersect, given, kernel.assumptions.flat)
    if not needed.intersect(asked).is_equal(found.intersect(asked)):
        return "not all parts are found"
    return None


def _without_data(kernel: Kernel, staged: Staged) -> Kernel:
    """Return the kernel for what data decides, once: under the conditions, with some bounds."""
    insns = (*staged.stages, staged.use)
    inames = frozenset[str]().union(*(i.within_inames | i.reduction_inames for i in insns))
    bounds = domain_temporaries(kernel, with_surrounding(kernel, inames))
    ids = {insn.id for insn in insns}
    return kernel.copy(
        instructions=tuple(
            [insn.copy(predicates=(), depends_on=insn.depends_on & ids) for insn in insns]
        ),
        temporaries=tuple([t for t in kernel.temporaries if t.name not in bounds]),
        arguments=(*kernel.arguments, *(ValueArg(name) for name in sorted(bounds))),
    )


class _WrongError(Exception):
    """What is wrong."""


class _Contributions:
    """Finds which parts instructions leave in accumulators.

    Sets are flat: over the inames of an instruction and, with a prefix, those of the parts.
    """

    def __init__(self, kernel: Kernel, staged: Staged) -> None:
        self._kernel, self._of = kernel, staged
        self._facts = facts_of(staged.reduction.operation)
        self._left: dict[str, isl.Set] = {}

    def left(self, insn_id: str) -> isl.Set:
        """Return which parts each instance of an instruction leaves where it writes."""
        if insn_id not in self._left:
            insn = self._kernel.instruction(insn_id)
            assert isinstance(insn, Assigning)
            self._left[insn_id] = self._find(insn)
        return self._left[insn_id]

    def _find(self, insn: Assigning) -> isl.Set:
        kernel, reduction = self._kernel, self._of.reduction
        inames = with_surrounding(kernel, insn.within_inames)
        if insn.values == identity_of(reduction.operation, self._of.dtypes):
            return isl.Set.empty(domain_of(kernel, inames).get_space())
        inner = tuple([i for i in reduction.inames if i not in insn.within_inames])
        if insn.values == self._operand(inner):
            own = domain_of(kernel, with_surrounding(kernel, inames.union(inner)))
            return _as_parts(own, insn, reduction.inames)
        two = self._combined(insn)
        if two is None:
            raise _WrongError(f"'{insn.id}' computes something else")
        first, second = (self.read(insn, place) for place in two)
        if not first.intersect(second).is_empty():
            raise _WrongError(f"'{insn.id}' combines a part with itself")
        return first.union(second)

    def _operand(self, inner: tuple[str, ...]) -> Parts:
        """Return what one contributes that reduces over some of the inames itself."""
        whole = self._of.reduction
        operand = ex.Reduction(whole.operation, inner, whole.operand) if inner else whole.operand
        return parts_of(ex.Reduction(whole.operation, (), operand))

    def _combined(self, insn: Assigning) -> tuple[tuple[Expression, ...], ...] | None:
        """Return the two places whose elements an instruction combines; None if it does not."""
        places = tuple(dict.fromkeys(r.index for r in self.reads(insn)))
        if len(places) != 2:
            return None
        first, second = (tuple([_element(n, place) for n in self._of.names]) for place in places)
        for pair in ((first, second), (second, first)):
            if insn.values == self._facts.combined(*pair, self._of.dtypes):
                return places
        return None

    def read(self, insn: Instruction, place: tuple[Expression, ...]) -> isl.Set:
        """Return which parts each instance of an instruction finds at a place."""
        found = [self._found_in(r) for r in self.reads(insn) if r.index == place]
        if not all(found[0].is_equal(other) for other in found[1:]):
            raise _WrongError(f"'{insn.id}' finds results of different parts")
        return found[0]

    def _found_in(self, reference: Reference) -> isl.Set:
        flow = sources(self._kernel, reference)
        if flow is None:
            raise _WrongError(f"data decides what '{reference.insn.id}' finds")
        position = self._of.names.index(reference.name)
        found: list[isl.Set] = []
        for source in flow:
            if source.writer is None or source.position != position:
                raise _WrongError(f"'{reference.insn.id}' finds something else")
            inames = self._kernel.instruction(source.writer).within_inames
            left = renamed(self.left(source.writer), inames).intersect(source.pairs)
            found.append(project_out(left, [i + OTHER for i in inames]))
        return reduce(isl.Set.union, found)

    def reads(self, insn: Instruction) -> Iterator[Reference]:
        """Yield the accumulators that an instruction reads."""
        for reference in references(insn):
            if reference.name in self._of.names and not reference.is_write:
                yield reference


def _element(name: str, place: tuple[Expression, ...]) -> ex.Subscript:
    return ex.Subscript(ex.Variable(name), place[0] if len(place) == 1 else place)


def _as_parts(domain: isl.Set, insn: Instruction, reduced: tuple[str, ...]) -> isl.Set:
    """Return a set of instances with the part that each iteration of its reduction has."""
    for iname in reduced:
        if iname in insn.within_inames:
            part = ex.Comparison(ex.Variable(iname), "==", ex.Variable(_PART + iname))
            same = condition_set(part)
            assert same is not None
            domain = domain.intersect(same)
        else:
            position = domain.find_dim_by_name(_PARAM, iname)
            domain = domain.set_dim_name(_PARAM, position, _PART + iname)
    return domain
