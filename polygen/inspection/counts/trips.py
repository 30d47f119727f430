"""Kernels to count in which loops that a condition ends have as many iterations as the caller says.

    for t while c          0 <= t <= trips      c is evaluated in all of them
        x = f(x)           t < trips            where the flag of the loop is set

So a flag becomes an affine condition, which data does not decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import SupportsIndex, TypeAlias

import islpy as isl

from polygen.analysis.integers.isl_affine import condition_set, set_condition, to_pw_aff
from polygen.errors import InvalidArgument, MalformedExpression
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.any_instruction import Assigning, Instruction
from polygen.ir.domain import (
    Domain,
    flatten,
    intersection,
    project_out,
    rename_dimension,
    unflatten,
)
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.loop_flags import asks, may_end
from polygen.ir.sizes import open_ends
from polygen.language.parser import parse_expression
from polygen.source import caller_location

Trips: TypeAlias = Mapping[str, SupportsIndex | str]
"""How many iterations loops have that a condition ends: by iname, a number or text of sizes."""


@dataclass(frozen=True)
class EndedLoop:
    """A loop that a condition ends, with the number of its iterations.

    Attributes:
        name: its iname; of a loop that was split, the size that stands for its end.
        inames: the inames of its loops.
        flags: the flags that end it.
        inside: the instructions in it, by id.
        head: the instruction that asks its condition before all others in it; None if none does.
        domain: the home domain of its inames.
        trips: how many iterations it has, in terms of the sizes.
    """

    name: str
    inames: frozenset[str]
    flags: frozenset[str]
    inside: Mapping[str, Assigning]
    head: str | None
    domain: Domain
    trips: Expression

    @property
    def begun(self) -> Expression:
        """How many iterations are begun: in the last one, the head finds that it is over."""
        more = 0 if self.head is None else 1
        return self.trips + more if isinstance(self.trips, int) else ex.sum_of(self.trips, more)


def with_trips(kernel: Kernel, trips: Trips | None) -> Kernel:
    """Return a kernel of which counts do not depend on the flags of some loops.

    Parameters:
        kernel: without rules and calls.
        trips: how many iterations each of these loops has, each time that it is reached.

    Raises:
        InvalidArgument: if one of them is no loop that a condition ends, or no number is given.
    """
    for loop in ended_loops(kernel, trips):
        kernel = _Counted(kernel, loop).kernel()
    return kernel


def ended_loops(kernel: Kernel, trips: Trips | None) -> tuple[EndedLoop, ...]:
    """Return the loops of which the caller says how many iterations they have.

    Raises:
        InvalidArgument: as `with_trips`.
    """
    return tuple([_ended(kernel, name, given) for name, given in (trips or {}).items()])


def said_of_trips(kernel: Kernel, insn: Instruction) -> str:
    """Return how `trips` helps to count an instruction, as the end of a remedy; or nothing."""
    names = [n for n in names_of_ended_loops(kernel) if _inames(kernel, n) <= insn.within_inames]
    said = ", ".join(f"'{name}': 100" for name in names)
    return f"; or say how many iterations loops have: trips={{{said}}}" if names else ""


# --- loops


def _ended(kernel: Kernel, name: str, given: SupportsIndex | str) -> EndedLoop:
    known = names_of_ended_loops(kernel)
    if name not in known:
        shown = ", ".join(f"'{one}'" for one in known)
        raise InvalidArgument(
            f"trips says how often '{name}' is repeated, and no condition ends a loop of that name "
            f"in kernel '{kernel.name}'",
            where=caller_location(),
            remedy=f"the loops that conditions end are {shown}" if known else "leave trips out",
        )
    inames = _inames(kernel, name)
    inside = _inside(kernel, inames)
    flags = _flags(kernel, inside)
    return EndedLoop(
        name,
        inames,
        flags,
        {insn.id: insn for insn in inside},
        _head(inside, flags),
        kernel.home_domains[min(inames)],
        _number(kernel, name, given),
    )


def names_of_ended_loops(kernel: Kernel) -> tuple[str, ...]:
    """Return the names of the loops that conditions end; of those that were split, of the ends."""
    ends = open_ends(kernel.derived_sizes)
    found: dict[frozenset[str], list[str]] = {}  # by flags
    for name in (*sorted(kernel.home_domains), *sorted(ends)):
        flags = _flags(kernel, _inside(kernel, _inames(kernel, name)))
        if flags:
            found.setdefault(flags, []).append(name)
    known: list[str] = []
    for names in found.values():
        inames = [name for name in names if name not in ends]
        known += inames if len(inames) == 1 else [name for name in names if name in ends]
    return tuple(known)


def _inames(kernel: Kernel, name: str) -> frozenset[str]:
    """Return the inames of a loop; of an end, those that it bounds."""
    if name in kernel.home_domains:
        return frozenset((name,))
    found: set[str] = set()
    for domain in kernel.domains:
        if name in domain.parameters:
            found.update(_bounded(domain, name))
    return frozenset(found)


def _bounded(domain: Domain, end: str) -> Iterator[str]:
    """Yield the inames that stand in a constraint with the end of a loop."""
    for basic in domain.set.get_basic_sets():
        for constraint in basic.get_constraints():
            position = constraint.get_space().find_dim_by_name(isl.dim_type.param, end)
            if position < 0 or not constraint.involves_dims(isl.dim_type.param, position, 1):
                continue
            for at, iname in enumerate(domain.inames):
                if constraint.involves_dims(isl.dim_type.set, at, 1):
                    yield iname


def _inside(kernel: Kernel, inames: frozenset[str]) -> tuple[Assigning, ...]:
    if not inames:
        return ()
    return tuple([insn for insn in kernel.assignments if inames <= insn.within_inames])


def _flags(kernel: Kernel, inside: tuple[Assigning, ...]) -> frozenset[str]:
    """Return the flags of a loop that something in it clears."""
    written = {name for insn in inside for name in insn.written_names}
    return frozenset(written.intersection(may_end(kernel, inside)) if inside else ())


def _head(inside: tuple[Assigning, ...], flags: frozenset[str]) -> str | None:
    """Return the instruction that clears a flag, and that all others come after that ask it."""
    by_id = {insn.id: insn for insn in inside}
    for insn in inside:
        if flags.isdisjoint(insn.written_names):
            continue
        others = [i for i in inside if i is not insn and any(asks(i, flag) for flag in flags)]
        if all(insn.id in _before(by_id, other) for other in others):
            return insn.id
    return None


def _before(by_id: Mapping[str, Assigning], insn: Assigning) -> set[str]:
    """Return the ids of what an instruction comes after."""
    found: set[str] = set()
    new = set(insn.depends_on)
    while new:
        found |= new
        new = {n for i in new if i in by_id for n in by_id[i].depends_on} - found
    return found


def _number(kernel: Kernel, name: str, given: SupportsIndex | str) -> Expression:
    if isinstance(given, str):
        return _of_sizes(kernel, name, given)
    try:
        number = given.__index__()
    except (AttributeError, TypeError):
        number = -1
    if number < 0 or isinstance(given, bool):
        raise InvalidArgument(
            f"trips says that the loop of '{name}' has {given!r} iterations",
            where=caller_location(),
            remedy="pass a number from 0 on, or a size, as a text",
        )
    return number


def _of_sizes(kernel: Kernel, name: str, text: str) -> Expression:
    try:
        found = parse_expression(text)
    except MalformedExpression:
        found = None
    if found is None or to_pw_aff(found, frozenset(kernel.parameters)) is None:
        sizes = ", ".join(kernel.parameters) or "none"
        raise InvalidArgument(
            f"trips says that the loop of '{name}' has '{text}' iterations, which is not affine in "
            f"the sizes of kernel '{kernel.name}'",
            where=caller_location(),
            remedy=f"its sizes are {sizes}",
        )
    return found


# --- what is counted


class _Counted:
    """Makes the kernel to count of one loop."""

    def __init__(self, kernel: Kernel, loop: EndedLoop) -> None:
        self._kernel, self._loop = kernel, loop

    def kernel(self) -> Kernel:
        loop, kernel = self._loop, self._kernel
        whole = self._values(loop.trips)
        begun = self._values(loop.begun)
        domains = tuple([self._with_values(d, begun) for d in kernel.domains])
        goes_on = True if loop.head is None else set_condition(whole.gist(begun))
        instructions = tuple(
            [
                self._unflagged(insn, True if insn.id == loop.head else goes_on)
                if isinstance(insn, Assigning) and insn.id in loop.inside
                else insn
                for insn in kernel.instructions
            ]
        )
        return kernel.copy(domains=domains, instructions=instructions)

    def _with_values(self, domain: Domain, values: isl.Set) -> Domain:
        if self._loop.inames.isdisjoint(domain.inames):
            return domain
        return Domain(unflatten(values, domain.inames))

    def _values(self, number: Expression) -> isl.Set:
        """Return the domain of the loop, as a flat set, if it has so many iterations."""
        loop, flat = self._loop, self._kernel.home_domains[min(self._loop.inames)].flat
        bound = self._kernel.new_name("bound")
        if loop.name not in loop.inames:
            ended = rename_dimension(flat, loop.name, bound)
            return self._where(ended, bound, "==", number)
        flat = project_out(flat, open_ends(self._kernel.derived_sizes))
        alone = unflatten(flat, [loop.name])
        first = rename_dimension(alone.lexmin(), loop.name, bound)
        step = alone.get_stride(0).to_python()
        last = ex.sum_of(ex.Variable(bound), ex.product_of(step, number))
        return self._where(intersection(flat, flatten(first)), loop.name, "<", last, bound)

    @staticmethod
    def _where(flat: isl.Set, name: str, operator: str, value: Expression, *names: str) -> isl.Set:
        holds = condition_set(ex.Comparison(ex.Variable(name), operator, value))
        assert holds is not None
        gone = names or (name,)
        return project_out(intersection(flat, holds), gone).coalesce()

    def _unflagged(self, insn: Assigning, goes_on: Expression) -> Assigning:
        """Return an instruction with a condition in the place of flags."""
        changed: Assigning = insn.map_expressions(lambda node: self._in(node, goes_on))
        return changed.copy(predicates=tuple(self._asked(changed.predicates, goes_on)))

    def _in(self, node: Expression, goes_on: Expression) -> Expression:
        def rule(part: Expression) -> Expression:
            if not isinstance(part, ex.If):
                return part
            asked = tuple(self._asked((part.condition,), goes_on))
            if not asked:
                return part
            condition = asked[0] if len(asked) == 1 else ex.LogicalAnd(asked)
            return ex.If(condition, part.then, part.else_)

        return walk.rewrite(node, rule)

    def _asked(self, conditions: Iterable[Expression], goes_on: Expression) -> Iterator[Expression]:
        """Yield what is asked in turn, with a condition in the place of flags; nothing for True."""
        for condition in conditions:
            for part in walk.conjuncts(condition):
                if not (isinstance(part, ex.Variable) and part.name in self._loop.flags):
                    yield part
                elif goes_on is not True:
                    yield goes_on
