"""Finds the places of an expression in a kernel, and the instances that execute it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

import islpy as isl

from polygen.analysis.access.accesses import loop_domain
from polygen.analysis.integers.integer_parameters import integer_parameters
from polygen.analysis.integers.isl_affine import condition_set, set_condition
from polygen.errors import NotCountable
from polygen.inspection.counts.trips import said_of_trips
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.any_instruction import Assigning
from polygen.ir.domain import intersection
from polygen.ir.expression import Expression
from polygen.ir.instruction import CInstruction
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.ir.verify import excerpt
from polygen.lower.carried_scans import carried_scan
from polygen.lower.group_scans import scan_of
from polygen.lower.scans import Scan

_T = TypeVar("_T")
_Conditions: TypeAlias = tuple[Expression, ...]


@dataclass(frozen=True)
class Occurrence(Generic[_T]):
    """Something that an instruction does.

    Attributes:
        what: what it is.
        inames: those that it is executed for: of the instruction, and of reductions around.
        conditions: what must hold: of inames and sizes, without data.
    """

    what: _T
    inames: frozenset[str]
    conditions: _Conditions


@dataclass(frozen=True)
class Seen(Generic[_T]):
    """A view of a kernel: what to collect at nodes and at written targets.

    Attributes:
        name: what it is called in messages.
        at_node: returns what a node does itself, without its parts.
        at_target: returns what writing to a target does.
        in_subscripts: whether subscripts are looked at, too.
    """

    name: str
    at_node: Callable[[Expression, frozenset[str]], Iterable[_T]]
    at_target: Callable[[Expression, frozenset[str]], Iterable[_T]]
    in_subscripts: bool = True


def occurrences(
    kernel: Kernel, insn: Assigning, seen: Seen[_T], waiting: Callable[[], frozenset[str]]
) -> Counter[Occurrence[_T]]:
    """Return what an instruction does for each of its instances, and how often.

    Parameters:
        kernel: an expanded kernel.
        insn: an instruction of it.
        seen: what is looked for.
        waiting: returns the inames of the loops in which the whole grid waits.

    Raises:
        NotCountable: if data decides.
    """
    return _Instruction(kernel, insn, seen, waiting).all()


class _Instruction(Generic[_T]):
    def __init__(
        self, kernel: Kernel, insn: Assigning, seen: Seen[_T], waiting: Callable[[], frozenset[str]]
    ) -> None:
        self._kernel, self._insn, self._seen, self._waiting = kernel, insn, seen, waiting
        self._known: Expression | None = None  # what was read before, and is not read again

    def all(self) -> Counter[Occurrence[_T]]:
        insn, found = self._insn, Counter[Occurrence[_T]]()
        if isinstance(insn, CInstruction):
            raise self._uncountable("verbatim C does what it does")
        asked: _Conditions = ()  # by predicates so far
        early: _Conditions = ()
        data: Expression | None = None
        for predicate in insn.predicates:
            inside = self._in(predicate, insn.within_inames, asked, early)
            self._check(inside, data)
            found += inside
            if not self._follows(predicate, insn.within_inames):
                data = predicate
                continue
            asked = (*asked, predicate)
            early = early if walk.reductions(predicate) else (*early, predicate)
        # Results of one call, or of one reduction, are computed together.
        for value in dict.fromkeys(_computed(value) for value in insn.values):
            inside = self._in(value, insn.within_inames, asked, early)
            self._check(inside, data)
            found += inside
            # What returns an old value reads it once, and computes the new one of it.
            self._known = insn.updated if len(insn.values) > 1 else None
        self._known = None
        for target in insn.assignees:
            inside = self._in_target(target, asked)
            self._check(inside, data)
            found += inside
        return found

    def _in_target(self, target: Expression, asked: _Conditions) -> Counter[Occurrence[_T]]:
        inames = self._insn.within_inames
        found = self._counter(self._seen.at_target(target, inames), inames, asked)
        if self._seen.in_subscripts:
            for part in ex.index_of(target):
                found += self._in(part, inames, asked, asked)
        return found

    def _in(
        self, node: Expression, inames: frozenset[str], asked: _Conditions, early: _Conditions
    ) -> Counter[Occurrence[_T]]:
        """Return what evaluating an expression does.

        Parameters:
            node: the expression.
            inames: those of the instruction, and of reductions around the node.
            asked: the conditions under which it is evaluated.
            early: those under which reductions in it are.
        """
        if self._known is not None and node == self._known:
            return Counter()
        found = self._counter(self._seen.at_node(node, inames), inames, asked)
        if isinstance(node, ex.If):
            return found + self._in_choice(node, inames, asked, early)
        if isinstance(node, ex.LogicalAnd | ex.LogicalOr):
            return found + self._in_logic(node, inames, asked, early)
        if isinstance(node, ex.Subscript):
            inside = ex.index_tuple(node) if self._seen.in_subscripts else ()
            for part in inside:
                found += self._in(part, inames, asked, early)
            return found
        if isinstance(node, ex.Reduction):
            return self._in_reduction(node, inames, early)
        for part in walk.parts(node):
            found += self._in(part, inames, asked, early)
        return found

    def _in_reduction(
        self, node: ex.Reduction, inames: frozenset[str], early: _Conditions
    ) -> Counter[Occurrence[_T]]:
        """Return what a reduction does: for each contribution; a scan, for each that is new."""
        scan = self._scan(node, inames, early)
        if scan is None:
            inside, operand = inames | {*node.inames}, node.operand
            carried = carried_scan(self._kernel, self._insn, node, early)
            if carried is not None and inames == self._insn.within_inames:
                early = (*early, set_condition(carried.new))
        else:
            inside, early = inames, (*early, *scan.conditions)
            operand = walk.substitute(node.operand, {node.inames[0]: scan.value})
        found = self._counter(self._seen.at_node(node, inames), inside, early)
        return found + self._in(operand, inside, early, early)

    def _scan(self, node: ex.Reduction, inames: frozenset[str], early: _Conditions) -> Scan | None:
        """Return how a reduction is carried through loops, unless the whole grid waits in these."""
        found = scan_of(self._kernel, self._insn, inames, node, early)
        if found is None or not self._waiting().isdisjoint(found.sweep):
            return None
        return found

    def _in_choice(
        self, node: ex.If, inames: frozenset[str], asked: _Conditions, early: _Conditions
    ) -> Counter[Occurrence[_T]]:
        found = self._in(node.condition, inames, asked, early)
        if not self._follows(node.condition, inames):
            then, else_ = (self._in(p, inames, asked, early) for p in (node.then, node.else_))
            if then != else_:  # else it is all the same what data says
                raise self._data(node.condition)
            return found + then
        late = bool(walk.reductions(node.condition))
        refused = ex.LogicalNot(node.condition)
        for part, condition in ((node.then, node.condition), (node.else_, refused)):
            known = (*asked, condition)
            found += self._in(part, inames, known, early if late else (*early, condition))
        return found

    def _in_logic(
        self,
        node: ex.LogicalAnd | ex.LogicalOr,
        inames: frozenset[str],
        asked: _Conditions,
        early: _Conditions,
    ) -> Counter[Occurrence[_T]]:
        """Return what ``a and b`` does: what comes later is only asked where it matters."""
        found, known = Counter[Occurrence[_T]](), asked
        data: Expression | None = None
        for part in node.children:
            inside = self._in(part, inames, asked if walk.reductions(part) else known, early)
            self._check(inside, data)
            found += inside
            goes_on = part if isinstance(node, ex.LogicalAnd) else ex.LogicalNot(part)
            if self._follows(part, inames):
                known = (*known, goes_on)
            else:
                data = part
        return found

    def _counter(
        self, what: Iterable[_T], inames: frozenset[str], asked: _Conditions
    ) -> Counter[Occurrence[_T]]:
        return Counter([Occurrence(one, inames, asked) for one in what])

    def _follows(self, condition: Expression, inames: frozenset[str]) -> bool:
        """Tell whether inames and sizes decide a condition."""
        names = inames | integer_parameters(self._kernel)
        return condition_set(condition, names) is not None or _is_computed(condition, names)

    def _check(self, found: Counter[Occurrence[_T]], data: Expression | None) -> None:
        if found and data is not None:
            raise self._data(data)

    def _data(self, condition: Expression) -> NotCountable:
        return self._uncountable(f"data decides whether '{show_expression(condition)}' holds")

    def _uncountable(self, why: str) -> NotCountable:
        return not_countable(self._kernel, self._insn, self._seen.name, why)


# What the integers of inames and sizes are computed by, affine or not.
_COMPUTED = frozenset(
    (
        *(ex.Variable, ex.Sum, ex.Product, ex.Quotient, ex.FloorDiv, ex.Remainder, ex.Power),
        *(ex.Min, ex.Max, ex.If, ex.Comparison, ex.LogicalAnd, ex.LogicalOr, ex.LogicalNot),
    )
)


def _is_computed(condition: Expression, names: frozenset[str]) -> bool:
    return walk.free_variables(condition) <= names and walk.classes(condition) <= _COMPUTED


def _computed(value: Expression) -> Expression:
    return value.aggregate if isinstance(value, ex.Component) else value


def not_countable(kernel: Kernel, insn: Assigning, what: str, why: str) -> NotCountable:
    """Return the error for an instruction of which something cannot be counted."""
    return NotCountable(
        f"{what} of instruction '{insn.id}' cannot be counted: {why}",
        where=insn.location,
        excerpt=excerpt(kernel, insn.id),
        remedy='leave it out: within="not id:'
        + insn.id
        + '"; or count a kernel without that'
        + said_of_trips(kernel, insn),
    )


def domain_of_occurrence(
    kernel: Kernel, insn: Assigning, occurrence: Occurrence[_T], what: str
) -> tuple[isl.Set, _Conditions]:
    """Return the values of the inames for which something is done, as a flat set.

    Beside it, the conditions that are not affine, which have to hold as well.

    Raises:
        NotCountable: if data bounds a loop.
    """
    domain, exact = loop_domain(kernel, occurrence.inames)
    if not exact:
        raise not_countable(kernel, insn, what, "the bounds of its loops are data")
    names = occurrence.inames | integer_parameters(kernel)
    others: list[Expression] = []
    for condition in occurrence.conditions:
        holds = condition_set(condition, names)
        if holds is None:
            others.append(condition)
        else:
            domain = intersection(domain, holds)
    return domain, tuple(others)
