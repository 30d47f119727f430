"""A loop program as its statements, each with what surrounds it.

A frame is a loop, an index of the hardware, or a condition.  A grid of work items and the loops
over groups and work items that targets without a grid have become the same frames.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from polygen.errors import WrongStorage
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import Argument, GlobalArg
from polygen.ir.atomicity import Atomicity
from polygen.ir.empty import new_dict
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag, HardwareTag, LocalTag, is_lane
from polygen.lower.program import (
    Assign,
    Barrier,
    Block,
    Call,
    Declare,
    HardwareAxis,
    HostLoop,
    HostNode,
    If,
    Launch,
    Loop,
    LoopProgram,
    Shuffle,
    Verbatim,
    Wait,
)
from polygen.validation.faults import fault


class Role(enum.Enum):
    """The kind of a frame."""

    PROGRAM = "program"
    HOST = "loop on the host"
    LAUNCH = "launch"
    GROUP = "index of a group"
    ITEM = "index of a work item"
    LOOP = "loop"
    LANE = "loop over lanes"
    BRANCH = "condition"


SEQUENTIAL = (Role.HOST, Role.LOOP)
HARDWARE = (Role.GROUP, Role.ITEM)


@dataclass(eq=False, slots=True)
class Storage:
    """A variable that a launch declares.

    Attributes:
        node: its declaration.
        frame: where that is.
    """

    node: Declare
    frame: Frame


@dataclass(eq=False, slots=True)
class Read:
    """An element of an array in registers that another work item has.

    Attributes:
        node: what reads it.
    """

    node: Shuffle


# What a name stands for: a loop's variable (None), another name for values of these, an argument,
# a variable, or an element of one.
Meaning: TypeAlias = Expression | Argument | Storage | Read | None


@dataclass(eq=False, slots=True)
class Frame:
    """A frame: a loop, guard or launch around statements.

    Attributes:
        role: what it is.
        parent: the next one outside.
        position: where in the block of its parent it is.
        node: what it stands for.
        name: its variable, if it has one; that of an axis is the first of the inames on it.
        first: the first value of its variable.
        end: the value of its variable past the last one.
        block: what it holds.
        children: the frames and the statements in it.
        bound: the names that it brings into scope.
        axes: the frames of the hardware's axes from it on outwards.
        launch: the launch that it is in.
    """

    role: Role
    parent: Frame | None
    position: int
    node: HostNode | HardwareAxis | Loop | If | None
    name: str | None = None
    first: Expression = 0
    end: Expression = 0
    block: Block = ()
    children: list[Frame | Statement] = field(default_factory=list["Frame | Statement"])
    bound: dict[str, Meaning] = field(default_factory=new_dict)
    axes: Mapping[HardwareTag, Frame] = field(default_factory=new_dict)
    launch: Frame | None = None

    def find(self, name: str) -> Meaning:
        """Return what a name stands for here.

        A launch sees its arguments only.

        Raises:
            KeyError: if it stands for nothing.
        """
        frame: Frame | None = self
        while frame is not None:
            if name in frame.bound:
                return frame.bound[name]
            frame = None if frame.role is Role.LAUNCH else frame.parent
        raise KeyError(name)

    def outwards(self) -> Iterator[Frame]:
        """Yield the frame, and all around it."""
        frame: Frame | None = self
        while frame is not None:
            yield frame
            frame = frame.parent

    def inside(self) -> Iterator[Frame]:
        """Yield the frame, and all frames in it."""
        yield self
        for child in self.children:
            if isinstance(child, Frame):
                yield from child.inside()

    def statements(self) -> Iterator[Statement]:
        """Yield the statements in it, in order."""
        for child in self.children:
            if isinstance(child, Statement):
                yield child
            else:
                yield from child.statements()


@dataclass(eq=False, slots=True)
class Statement:
    """An assignment of the program, or a declaration with an initial value.

    Attributes:
        insn_id: the instruction that it says it carries out.
        pairs: what is written, and the value that is written there.
        values: what inames of the instruction stand for that are no loop here, outermost first.
        frame: the innermost frame around it.
        position: where in the frame's block it is.
        atomicity: how it is atomic, if it is.
        asynchronous: whether it may be carried out as late as the next wait.
        verbatim: the verbatim C that it is, if it is no assignment.
        call: the call of a function that it is, if it is one.
    """

    insn_id: str
    pairs: tuple[tuple[ex.Variable | ex.Subscript, Expression], ...]
    values: Mapping[str, Expression]
    frame: Frame
    position: int
    atomicity: Atomicity | None = None
    asynchronous: bool = False
    verbatim: Verbatim | None = None
    call: Call | None = None

    @property
    def written_names(self) -> tuple[str, ...]:
        """The names of the variables that are written."""
        pasted = self.verbatim or self.call
        if pasted is not None:
            return pasted.writes
        return tuple([ex.name_of(target) for target, _ in self.pairs])

    def value_of(self, name: str) -> Expression | None:
        """Return what is written to a variable; None if that is not written."""
        return next((v for t, v in self.pairs if ex.name_of(t) == name), None)


def head_names(frame: Frame) -> frozenset[str]:
    """Return the names that the bounds or the condition of a frame mention."""
    if isinstance(frame.node, If):
        return walk.free_variables(frame.node.condition)
    if frame.name is None:
        return frozenset()
    return walk.free_variables(frame.first) | walk.free_variables(frame.end)


def frames_of(kernel: Kernel, program: LoopProgram) -> Frame:
    """Return the outermost frame of a program, with everything in it.

    Raises:
        WrongStorage: if a name is declared where it stands for something else already.
    """
    root = Frame(Role.PROGRAM, None, 0, None)
    root.bound.update({a.name: a for a in program.arguments})
    reader = _Reader(kernel, program)
    for position, node in enumerate(program.host):
        reader.host(node, root, position)
    return root


class _Reader:
    def __init__(self, kernel: Kernel, program: LoopProgram) -> None:
        self._kernel = kernel
        self._inames = frozenset(kernel.inames)
        self._tables = {t.name: GlobalArg(t.name, t.dtype, t.shape) for t in program.tables}

    def host(self, node: HostNode, parent: Frame, position: int) -> None:
        if isinstance(node, Launch):
            self._launch(node, parent, position)
            return
        frame = self._loop(Role.HOST, node, parent, position)
        for at, child in enumerate(node.body):
            self.host(child, frame, at)

    def _launch(self, node: Launch, parent: Frame, position: int) -> None:
        frame = self._enter(Frame(Role.LAUNCH, parent, position, node))
        frame.launch = frame
        frame.bound.update({a.name: None if a.name in self._inames else a for a in node.arguments})
        frame.bound.update(self._tables)
        for axis in node.axes:
            frame = self._axis(axis, frame)
        frame.block = node.body
        self._block(frame)

    def _axis(self, axis: HardwareAxis, parent: Frame) -> Frame:
        role = Role.GROUP if isinstance(axis.tag, GroupTag) else Role.ITEM
        (name, first), *others = axis.inames
        frame = self._enter(Frame(role, parent, 0, axis, name, first))
        frame.end = ex.sum_of(axis.size, first)
        frame.axes = {**frame.axes, axis.tag: frame}
        self._bind(frame, name, None)
        for other, start in others:
            shift = ex.sum_of(ex.Variable(name), start, ex.negated(first))
            self._bind(frame, other, shift)
        return frame

    def _loop(self, role: Role, node: HostLoop | Loop, parent: Frame, position: int) -> Frame:
        if node.step < 1:
            raise self._refused(node.iname, f"has steps of {node.step}")
        frame = self._enter(Frame(role, parent, position, node, node.iname))
        frame.first, frame.end = node.lower, node.upper
        self._bind(frame, node.iname, None)
        return frame

    def _enter(self, frame: Frame) -> Frame:
        assert frame.parent is not None
        frame.parent.children.append(frame)
        frame.axes, frame.launch = frame.parent.axes, frame.parent.launch
        return frame

    def _bind(self, frame: Frame, name: str, meaning: Meaning) -> None:
        around: Frame | None = frame
        while around is not None:
            if name in around.bound:
                raise self._refused(name, "is declared where it stands for something else already")
            around = around.parent
        frame.bound[name] = meaning

    def _refused(self, name: str, why: str) -> WrongStorage:
        return fault(WrongStorage, self._kernel, f"'{name}' {why}")

    def _block(self, frame: Frame) -> None:
        for position, node in enumerate(frame.block):
            if isinstance(node, Assign):
                self._statement(node, node.pairs, frame, position)
            elif isinstance(node, Verbatim | Call):
                self._statement(node, (), frame, position)
            elif isinstance(node, Declare):
                self._declare(node, frame, position)
            elif isinstance(node, Shuffle):
                self._bind(frame, node.name, Read(node))
            elif isinstance(node, If):
                self._body(self._enter(Frame(Role.BRANCH, frame, position, node)), node)
            elif isinstance(node, Loop):
                self._body(self._device_loop(node, frame, position), node)
            else:
                assert isinstance(node, Barrier | Wait)  # found by position, when it is looked for

    def _body(self, frame: Frame, node: If | Loop) -> None:
        frame.block = node.body
        self._block(frame)

    def _device_loop(self, node: Loop, parent: Frame, position: int) -> Frame:
        tag = self._kernel.tags.get(node.iname)
        if is_lane(tag):
            return self._loop(Role.LANE, node, parent, position)
        if not isinstance(tag, GroupTag | LocalTag):
            return self._loop(Role.LOOP, node, parent, position)
        role = Role.GROUP if isinstance(tag, GroupTag) else Role.ITEM
        frame = self._loop(role, node, parent, position)
        frame.axes = {**frame.axes, tag: frame}
        return frame

    def _declare(self, node: Declare, frame: Frame, position: int) -> None:
        if node.name in self._inames:
            if node.initial is None:
                raise self._refused(node.name, "is an iname without a value")
            self._bind(frame, node.name, node.initial)
            return
        self._bind(frame, node.name, Storage(node, frame))
        if node.initial is not None:
            pair = ex.Variable(node.name), node.initial
            self._statement(node, (pair,), frame, position)

    def _statement(
        self,
        node: Assign | Call | Declare | Verbatim,
        pairs: tuple[tuple[ex.Variable | ex.Subscript, Expression], ...],
        frame: Frame,
        position: int,
    ) -> None:
        atomicity = node.atomicity if isinstance(node, Assign) else None
        values = dict(node.values)
        statement = Statement(node.insn_id, pairs, values, frame, position, atomicity)
        statement.asynchronous = isinstance(node, Assign) and node.asynchronous
        statement.verbatim = node if isinstance(node, Verbatim) else None
        statement.call = node if isinstance(node, Call) else None
        frame.children.append(statement)
