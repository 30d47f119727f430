"""Each work item executes its instances in the order of the kernel.

The loops of the program are the kernel's: one an iname, each running upward, nested as in the
kernel.  Then instances come in the order of the loops if, in each block, what depends on something
comes after it.  So it is enough to look at each dependency once.  Lanes are in no order; but since
an instruction is executed for all of them before what depends on it, a loop over them holds one
statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations, product
from typing import NoReturn, TypeAlias

import islpy as isl

from polygen.analysis.order.instance_order import order_of
from polygen.analysis.pairs.instance_pairs import conflicts, equal, less, renamed, witness
from polygen.errors import WrongOrder
from polygen.ir.bounding import bounding
from polygen.ir.domain import flat_names, project_out
from polygen.ir.tags import is_lane
from polygen.lower.program import Assign, Loop
from polygen.validation.constraints import is_affine, to_set
from polygen.validation.copy_of import Copy
from polygen.validation.faults import fault
from polygen.validation.frames import HARDWARE, SEQUENTIAL, Frame, Role, Statement
from polygen.validation.points import set_of
from polygen.validation.polynomial import Polynomial, number, of_atom, plus, scaled
from polygen.validation.touching import described, touching
from polygen.validation.view import View
from polygen.validation.works import Work, Works

# What stands beside each other in a block: the loop of an iname, or a work.
Sibling: TypeAlias = str | Work
Block: TypeAlias = tuple[str, ...]  # the loops around it


@dataclass
class _Interval:
    """The interval that a sibling takes in a block of the program: first and last position."""

    first: int
    last: int
    children: list[Frame | Statement] = field(default_factory=list["Frame | Statement"])


def check_sequence(view: View, works: Works) -> None:
    """Check the order in which a work item executes its instances.

    Raises:
        WrongOrder: if it is not the kernel's.
    """
    _Sequence(view, works).run()
    for frame in view.frames:
        if frame.role is Role.LANE or getattr(frame.node, "at_once", False):
            _check_lanes(view, frame)


def _check_lanes(view: View, frame: Frame) -> None:
    """Check that a loop over lanes, or one that is executed at once, holds one statement alone.

    Or that statement for each of further lanes.
    """
    single = all(f.role in (Role.LANE, Role.BRANCH) for f in frame.inside())
    if isinstance(frame.node, Loop) and frame.node.at_once:
        single = frame.role is Role.LANE and [*map(type, frame.node.body)] == [Assign]
    found = list(frame.statements())
    if not single or len({_without_lanes(view, s) for s in found}) != 1:
        by_id = view.kernel.instructions_by_id
        raise fault(
            WrongOrder,
            view.kernel,
            f"lanes of '{frame.name}' are executed one after the other, and not all of them before "
            "the next statement is",
            *(by_id[s.insn_id] for s in found[:1] if s.insn_id in by_id),
        )


def _without_lanes(view: View, statement: Statement) -> tuple[object, ...]:
    """Return what a statement carries out, whatever the lane: an instruction, and of which copy."""
    tags = view.kernel.tags
    copy = [(i, v) for i, v in statement.values.items() if not is_lane(tags.get(i))]
    return statement.insn_id, statement.written_names, *copy


class _Sequence:
    def __init__(self, view: View, works: Works) -> None:
        self._view = view
        self._works = works
        self._copies: dict[Statement, tuple[Work, Copy]] = {
            copy.statement: (work, copy) for work in works.all for copy in work.copies
        }
        self._loops = {work: self._loops_of(work) for work in works.all}
        for work, loops in self._loops.items():
            if work.sweep != tuple([name for name in loops if name in work.sweep]):
                self._refuse_nesting(work)
        self._edges: dict[Block, list[tuple[Sibling, Sibling]]] = {}
        by_id = {work.insn.id: work for work in works.all}
        for work in works.all:
            for dep in sorted(self._through_marks(work.insn.depends_on, by_id)):
                self._note(by_id[dep], work)

    def _through_marks(self, ids: Iterable[str], by_id: Mapping[str, Work]) -> set[str]:
        """Return the works that come before, also by way of barriers and no-ops."""
        found: set[str] = set()
        pending = list(ids)
        while pending:
            insn_id = pending.pop()
            if insn_id in by_id:
                found.add(insn_id)
            else:
                pending += self._view.kernel.instruction(insn_id).depends_on
        return found

    def _loops_of(self, work: Work) -> Block:
        """Return the loops around a work, outermost first.

        Those of a reduction may be nested in any way inside those of its instruction.
        """
        nested = self._works.is_mixed or not work.copies or any(c.stated for c in work.copies)
        if work.reduction is None or nested:
            return self._works.order(work).loops(work.insn.id)
        within = work.insn.within_inames
        outside = [i for i in order_of(self._view.kernel).loops(work.origin.id) if i in within]
        around = work.copies[0].statement.frame.outwards()
        names = [f.name for f in around if f.role in SEQUENTIAL and f.name is not None]
        inner = within - work.origin.within_inames
        return (*outside, *(name for name in reversed(names) if name in inner))

    def _note(self, first: Work, second: Work) -> None:
        """Note which siblings a dependency orders, and in which block."""
        a, b = self._loops[first], self._loops[second]
        depth = _common(a, b)
        block = a[:depth]
        before: Sibling = a[depth] if depth < len(a) else first
        after: Sibling = b[depth] if depth < len(b) else second
        if before is not after:
            self._edges.setdefault(block, []).append((before, after))

    def run(self) -> None:
        self._check(list(_flat(self._view.root)), ())

    def _check(self, children: Sequence[Frame | Statement], block: Block) -> None:
        siblings: dict[Sibling, _Interval] = {}
        for position, child in enumerate(children):
            sibling = self._sibling(child, block)
            interval = siblings.setdefault(sibling, _Interval(position, position))
            interval.last = position
            interval.children.append(child)
        edges = self._edges.get(block, ())
        if not all(_in_order(siblings, before, after) for before, after in edges):
            self._check_closely(siblings, edges, children, block)
        for sibling, interval in siblings.items():
            if isinstance(sibling, str):
                self._check_loop(sibling, interval, block)

    def _check_closely(
        self,
        siblings: Mapping[Sibling, _Interval],
        edges: Sequence[tuple[Sibling, Sibling]],
        children: Sequence[Frame | Statement],
        block: Block,
    ) -> None:
        """Check what siblings must come after which through others: some may not be there.

        Of what is in the wrong order, not both may be executed: versions for different sizes.
        """
        places = {child: at for at, child in enumerate(children)}
        directly: dict[Sibling, list[Sibling]] = {}
        for before, after in edges:
            directly.setdefault(before, []).append(after)
        for before, interval in siblings.items():
            for after in _reached(directly, before):
                if after in siblings and not _in_order(siblings, before, after):
                    for a, b in product(interval.children, siblings[after].children):
                        if places[a] > places[b] and not self._exclude(a, b, block):
                            self._refuse(a, b)

    def _exclude(self, a: Frame | Statement, b: Frame | Statement, block: Block) -> bool:
        """Tell whether not both of two children of a block are executed in one iteration."""
        return self._points(a, block).is_disjoint(self._points(b, block))

    def _points(self, child: Frame | Statement, block: Block) -> isl.Set:
        """Return the iterations of loops around, and the work items, that execute a child."""
        frame = child.frame if isinstance(child, Statement) else child
        found, _ = set_of(self._view, self._view.facts(frame))
        kernel = self._view.kernel
        kept = {*block, *(f.name for f in frame.outwards() if f.role in HARDWARE)}
        kept |= bounding(kernel, block)  # each has one value until the loops are over
        gone = [n for n in flat_names(found) if n not in kept and n not in kernel.parameters]
        return project_out(found, gone).intersect(self._view.known)

    def _sibling(self, child: Frame | Statement, block: Block) -> Sibling:
        """Return what a child of a block is: a part of a loop, or a work."""
        statement = child if isinstance(child, Statement) else next(child.statements(), None)
        if statement is None:
            assert isinstance(child, Frame)
            return child.name or ""  # an empty loop
        work = self._copies[statement][0]
        loops = self._loops[work]
        if loops[: len(block)] != block:
            self._refuse_nesting(work)
        if len(loops) > len(block):
            return loops[len(block)]
        if isinstance(child, Frame):
            self._refuse_nesting(work)
        return work

    def _check_loop(self, iname: str, interval: _Interval, block: Block) -> None:
        """Check a loop, or the copies of its body if it is several, or none, in the program."""
        children = interval.children
        inside = (*block, iname)
        if len(children) == 1 and isinstance(children[0], Frame) and children[0].name == iname:
            self._check(list(_flat(children[0])), inside)
            return
        runs: list[tuple[Polynomial | None, list[Frame | Statement]]] = []
        for child in children:
            is_loop = isinstance(child, Frame) and child.name == iname
            value = None if is_loop else self._value(child, iname)
            if not runs or value is None or runs[-1][0] != value:
                runs.append((value, []))
            runs[-1][1].append(child)
        values = [None if value is None else number(value) for value, _ in runs]
        known = [value for value in values if value is not None]
        ascending = len(known) == len(runs) and known == sorted(set(known))
        if len(runs) > 1 and not (ascending or self._are_versions(values, runs, block)):
            self._check_runs(iname, runs, block)
        for value, run in runs:
            (loop, *_) = run
            body = list(_flat(loop)) if value is None and isinstance(loop, Frame) else run
            self._check(body, inside)

    def _are_versions(
        self,
        values: Sequence[int | None],
        runs: Sequence[tuple[Polynomial | None, Sequence[Frame | Statement]]],
        block: Block,
    ) -> bool:
        """Tell whether runs are rows of copies in order, of which only one is executed."""
        rows: list[isl.Set] = []
        last: int | None = None
        for value, (_, run) in zip(values, runs, strict=True):
            if value is None:
                return False
            if last is None or value <= last:
                rows.append(isl.Set.empty(self._view.known.get_space()))
            rows[-1] = reduce(isl.Set.union, [self._points(c, block) for c in run], rows[-1])
            last = value
        return all(a.is_disjoint(b) for a, b in combinations(rows, 2))

    def _check_runs(
        self,
        iname: str,
        runs: Sequence[tuple[Polynomial | None, Sequence[Frame | Statement]]],
        block: Block,
    ) -> None:
        """Check that the iterations of several loops of an iname come in the order of one."""
        values: list[isl.Set] = []
        for value, run in runs:
            # Of statements: conditions inside a loop may leave out iterations of it.
            inside = [s for child in run for s in _statements(child)]
            points = reduce(isl.Set.union, [self._points(s, (*block, iname)) for s in inside])
            if value is not None:
                if not is_affine(value, self._view.is_integer):
                    self._refuse_nesting(self._first_work(run))
                points = points.intersect(to_set(_both(value, iname)))
            values.append(points)
        for first, second in combinations(values, 2):
            later = first.intersect(renamed(second, (iname,)))
            if not later.is_disjoint(less(iname).complement()):
                self._refuse_nesting(self._first_work([c for _, run in runs for c in run]))

    def _first_work(self, children: Sequence[Frame | Statement]) -> Work:
        statement = next(s for child in children for s in _statements(child))
        return self._copies[statement][0]

    def _value(self, child: Frame | Statement, iname: str) -> Polynomial:
        """Return what an iname that is no loop stands for in a child of a block."""
        found: Polynomial | None = None
        for statement in _statements(child):
            work, copy = self._copies[statement]
            if iname not in copy.stated or (found is not None and copy.values[iname] != found):
                self._refuse_nesting(work)
            found = copy.values[iname]
        assert found is not None  # there is a statement, or the child would be no part of the loop
        return found

    # --- refusals

    def _refuse(self, before: Frame | Statement, after: Frame | Statement) -> None:
        """Raise an error if anything in two children of a block touches an element together."""
        for a, b in product(_statements(before), _statements(after)):
            self._refuse_conflict(self._copies[a][0], self._copies[b][0])

    def _refuse_conflict(self, first: Work, second: Work) -> None:
        kernel = self._works.kernel
        a, b = self._loops[first], self._loops[second]
        same = a[: _common(a, b)]
        for name, other in touching(kernel, first.insn.id, second.insn.id):
            for found in conflicts(kernel, first.insn.id, second.insn.id, name, other):
                pairs = reduce(isl.Set.intersect, map(equal, same), found.pairs)
                pairs = pairs.intersect(self._view.known)
                if not pairs.is_empty():
                    raise self._reversed(first, second, name, witness(pairs))

    def _reversed(
        self, first: Work, second: Work, name: str, point: Mapping[str, int]
    ) -> WrongOrder:
        return fault(
            WrongOrder,
            self._view.kernel,
            f"{described(self._view.kernel, first, point)} has to come before "
            f"{described(self._view.kernel, second, point, other=True)}, and does not: both touch "
            f"an element of '{name}'",
            first.origin,
            second.origin,
            point=point,
        )

    def _refuse_nesting(self, work: Work) -> NoReturn:
        loops = ", ".join(self._loops[work])
        raise fault(
            WrongOrder,
            self._view.kernel,
            f"the loops around {work.what} are not those of the kernel, from the outermost "
            f"inwards, each running upward: {loops or 'none'}",
            work.origin,
        )


def _in_order(siblings: Mapping[Sibling, _Interval], before: Sibling, after: Sibling) -> bool:
    """Tell whether two siblings are in a block, one wholly before the other."""
    if before not in siblings or after not in siblings:
        return False
    return siblings[before].last < siblings[after].first


def _reached(directly: Mapping[Sibling, Sequence[Sibling]], start: Sibling) -> set[Sibling]:
    found: set[Sibling] = set()
    pending = [start]
    while pending:
        new = set(directly.get(pending.pop(), ())) - found
        found |= new
        pending += new
    return found


def _common(a: Block, b: Block) -> int:
    """Return how many loops, from the outermost on, are around both."""
    return next(
        (at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )


def _flat(frame: Frame) -> Iterator[Frame | Statement]:
    """Yield what is in a frame, conditions and indices of the hardware left out."""
    for child in frame.children:
        if isinstance(child, Statement) or child.role in SEQUENTIAL:
            yield child
        else:
            yield from _flat(child)


def _both(value: Polynomial, iname: str) -> tuple[Polynomial, Polynomial]:
    """Return what says that an iname is a value."""
    difference = plus(of_atom(iname), value, -1)
    return difference, scaled(difference, -1)


def _statements(child: Frame | Statement) -> Iterator[Statement]:
    if isinstance(child, Statement):
        yield child
    else:
        yield from child.statements()
