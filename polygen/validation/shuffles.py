"""Arrays in registers: each work item has one element, and reads those of others by shuffles.

Trusted is what a shuffle is: all work items of a group come to it; then each gets the value that
the register has at that moment for the work item some places further on, if there is one, in the
same sub-group.  Work items are counted along the first axis of the group first; so many in a row as
the option says are a sub-group.

So what is written before a shuffle, in the order of one work item, comes before what is read by it,
whoever wrote it; and what is written behind it comes later (`sequence.py` sees to that order).
What is left to see is that each work item has one element of an array and touches no other
directly, and that shuffles read the elements that they should.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import NoReturn

import islpy as isl

from polygen.errors import WrongShuffle
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.empty import NO_NAMES
from polygen.ir.tags import LocalTag
from polygen.lower.program import Declare, Node, Shuffle
from polygen.validation.constraints import is_affine, to_set
from polygen.validation.copy_of import Copy
from polygen.validation.faults import fault
from polygen.validation.frames import Frame, Role, Statement, head_names
from polygen.validation.points import executed
from polygen.validation.polynomial import (
    Polynomial,
    constant,
    floor_divided,
    number,
    of_atom,
    plus,
    scaled,
    total,
)
from polygen.validation.view import View
from polygen.validation.works import Work, Works


def check_shuffles(view: View, works: Works) -> None:
    """Check the arrays in registers of a program.

    Raises:
        WrongShuffle: if one would have to be in memory, or another element is read than is said.
    """
    if view.in_registers:
        for launch in view.frames:
            if launch.role is Role.LAUNCH:
                _Registers(view, works, launch).check()


@dataclass(frozen=True)
class _Axis:
    """An axis of a group.

    Attributes:
        index: the index of a work item along it.
        size: how many there are.
        stride: how far apart neighbours are, as work items are counted.
    """

    index: Polynomial
    size: int
    stride: int


class _Registers:
    def __init__(self, view: View, works: Works, launch: Frame) -> None:
        self._view, self._launch = view, launch
        self._size = view.program.options.sub_group_size or 1
        self._copies: dict[Statement, tuple[Work, Copy]] = {
            copy.statement: (work, copy) for work in works.all for copy in work.copies
        }
        self._own: dict[str, Polynomial] = {}  # which element of an array a work item has
        self._axes = tuple(self._found_axes())

    def _found_axes(self) -> Iterator[_Axis]:
        """Yield the axes of the group, the first one first."""
        statement = next(self._launch.statements(), None)
        if statement is None:
            return
        stride = 1
        for tag, frame in sorted(statement.frame.axes.items(), key=lambda pair: str(pair[0])):
            if isinstance(tag, LocalTag) and frame.name is not None:
                terms = self._view.terms(frame)
                first, end = terms.index(frame.first), terms.index(frame.end)
                size = number(plus(end, first, -1))
                if size is None:
                    self._refuse("a group has no constant size")
                yield _Axis(plus(of_atom(frame.name), first, -1), size, stride)
                stride *= size

    def check(self) -> None:
        scalars = self._view.in_registers - self._view.layouts.arrays
        if scalars:
            self._refuse(f"'{min(scalars)}' is in registers, and no array")
        for frame in self._launch.inside():
            named = head_names(frame) & self._view.in_registers
            if named:
                self._refuse(f"a condition or a bound reads '{min(named)}', which is in registers")
        for statement in self._launch.statements():
            self._check_accesses(statement)
        for frame in self._launch.inside():
            for position, node in enumerate(frame.block):
                if isinstance(node, Shuffle):
                    self._check_shuffle(frame, position, node)

    # --- one element for each work item

    def _check_accesses(self, statement: Statement) -> None:
        pasted = statement.verbatim or statement.call
        if pasted is not None:
            named = self._view.in_registers.intersection((*pasted.reads, *pasted.writes))
            if named:
                self._refuse(f"'{min(named)}' is in registers, and passed on", statement)
        for node in (part for pair in statement.pairs for part in pair):
            for part in walk.subexpressions(node):
                if isinstance(part, ex.Subscript) and ex.name_of(part) in self._view.in_registers:
                    self._check_own(statement, part)

    def _check_own(self, statement: Statement, node: ex.Subscript) -> None:
        """Check that a work item touches the element that it has."""
        name, offset = ex.name_of(node), self._view.terms(statement.frame).index(node.index)
        if name not in self._own:
            self._note_own(statement, name, offset)
        distance = plus(offset, self._own[name], -1)
        if not distance:
            return
        if not is_affine(distance, self._view.is_integer):
            self._refuse(f"a work item may touch another element of '{name}'", statement)
        points = self._points(statement)
        for sign in 1, -1:
            elsewhere = to_set([plus(scaled(distance, sign), constant(-1))])
            if not points.is_disjoint(elsewhere):
                self._refuse(f"a work item touches another element of '{name}'", statement)

    def _note_own(self, statement: Statement, name: str, offset: Polynomial) -> None:
        """Note which element each work item has, and check that no two have the same."""
        left, room = offset, 1
        for axis in sorted(self._axes, key=lambda a: abs(_factor(offset, a))):
            factor = _factor(offset, axis)
            if axis.size > 1:
                if abs(factor) < room:
                    self._refuse(f"several work items have one element of '{name}'", statement)
                room = abs(factor) * axis.size
            left = plus(left, axis.index, -factor)
        if number(left) is None:
            self._refuse(f"work items have several elements of '{name}'", statement)
        self._own[name] = offset

    # --- elements of others

    def _check_shuffle(self, frame: Frame, position: int, node: Shuffle) -> None:
        user = self._user(frame, position, node)
        name = ex.name_of(node.element)
        own = self._own.get(name)
        if own is None or not isinstance(node.element, ex.Subscript):
            self._refuse(f"'{node.name}' is read of others, and '{name}' is not in registers", user)
        if node.dtype != self._view.kernel.array(name).dtype:
            self._refuse(f"'{node.name}' has another type than '{name}'", user)
        further = number(plus(self._view.terms(frame).index(node.element.index), own, -1))
        axis = self._axis_of(own, further, node.distance)
        if axis is None:
            self._refuse(f"'{node.name}' is read of another work item than has it", user)
        steps = node.distance // axis.stride
        item = total([scaled(a.index, a.stride) for a in self._axes])
        here, there = (
            floor_divided(plus(item, constant(shift)), self._size) for shift in (0, node.distance)
        )
        apart = plus(there, here, -1)
        place = plus(axis.index, constant(steps))
        wrong = [
            plus(scaled(place, -1), constant(-1)),
            plus(place, constant(-axis.size)),
            plus(apart, constant(-1)),
            plus(scaled(apart, -1), constant(-1)),
        ]
        outside = reduce(isl.Set.union, [to_set([each]) for each in wrong])
        if not self._points(user).is_disjoint(outside):
            self._refuse(f"'{node.name}' is read of no work item of the sub-group", user)

    def _axis_of(self, own: Polynomial, further: int | None, distance: int) -> _Axis | None:
        """Return the axis along which a work item is so many further on, and has the element."""
        for axis in self._axes:
            steps, rest = divmod(distance, axis.stride)
            if not rest and abs(steps) < axis.size and _factor(own, axis) * steps == further:
                return axis
        return None

    def _user(self, frame: Frame, position: int, node: Shuffle) -> Statement:
        """Return the statement that uses what is read: the next one, under conditions at most."""
        users = [s for s in self._launch.statements() if node.name in _names_read(s)]
        behind = position + 1
        while behind < len(frame.block) and _does_nothing(frame.block[behind]):
            behind += 1
        here = [child for child in frame.children if child.position == behind]
        while here and isinstance(inner := here[0], Frame) and inner.role is Role.BRANCH:
            here = [] if node.name in head_names(inner) else inner.children[:1]
        if len(users) != 1 or here != users:
            self._refuse(f"'{node.name}' is not used in the next statement, and only there")
        return users[0]

    def _points(self, statement: Statement) -> isl.Set:
        return executed(self._view, self._copies[statement][1])[0]

    def _refuse(self, what: str, statement: Statement | None = None) -> NoReturn:
        work = self._copies.get(statement) if statement is not None else None
        origins = () if work is None else (work[0].origin,)
        raise fault(WrongShuffle, self._view.kernel, what, *origins)


def _factor(offset: Polynomial, axis: _Axis) -> int:
    """Return how far apart the elements of neighbours along an axis are."""
    (monomial,) = [m for m in axis.index if m]
    return offset.get(monomial, 0)


def _does_nothing(node: Node) -> bool:
    """Tell whether no variable has another value after a node."""
    return isinstance(node, Shuffle) or (isinstance(node, Declare) and node.initial is None)


def _names_read(statement: Statement) -> frozenset[str]:
    """Return the names in the values and subscripts of a statement."""
    nodes: list[ex.Expression] = []
    for target, value in statement.pairs:
        nodes += (value, *ex.index_of(target))
    return NO_NAMES.union(*map(walk.free_variables, nodes))
