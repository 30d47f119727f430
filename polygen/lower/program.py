"""The loop program: the last form before text.

Statements are nested as in the generated code.  All subscripts are linear, all names are declared,
and nothing in it depends on a target's syntax.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from polygen.analysis.typing.kinds import Kind
from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace, Argument, TemporaryVariable
from polygen.ir.atomicity import Atomicity
from polygen.ir.dtype import DType
from polygen.ir.empty import new_dict
from polygen.ir.expression import Expression
from polygen.ir.options import Options
from polygen.ir.show import RULE, show_argument, show_temporary
from polygen.ir.show_expression import show_expression
from polygen.ir.tags import HardwareTag


@dataclass(frozen=True, slots=True)
class Declare:
    """A variable that lives until the end of the enclosing block.

    Attributes:
        name: its name.
        dtype: the type of its elements.
        extent: the number of its elements, or vectors, if it is an array, else None.
        vector: how many components its elements have, if they are vectors.
        alignment: what its address is a multiple of, in bytes; None for what its type needs.
        interleaved: whether, of an array that has a part for each work item, the first elements of
            all items come first, then the second ones, and so on.
        address_space: who shares it.
        initial: the value that a scalar starts with, or None.
        constant: whether nothing assigns to it later; a vector gets its value right after it.
        insn_id: the instruction that gives it the initial value, if one does.
        values: as those of an assignment.
        in_registers: whether it is a local array of which each work item has its element itself.
        parts: of how many equal parts it consists, of which each is for the work items with one
            index along ``l.2`` alone; None if all use all of it.
        copies: how many there are, of which each of these reads one; targets say so.
    """

    name: str
    dtype: DType
    extent: int | None = None
    address_space: AddressSpace = AddressSpace.PRIVATE
    initial: Expression | None = None
    constant: bool = False
    insn_id: str = ""
    values: tuple[tuple[str, Expression], ...] = ()
    vector: int | None = None
    alignment: int | None = None
    in_registers: bool = False
    interleaved: bool = False
    parts: int | None = None
    copies: int | None = None


@dataclass(frozen=True, slots=True)
class Shuffle:
    """Work items read elements of an array in registers that others have.

    All work items of a group are there together.  What is read stands for the element in the next
    statement, and has no value where there is no such work item in the sub-group.

    Attributes:
        name: what it is called.
        dtype: its type.
        element: the element, with a linear subscript; or the scalar that stands for the array.
        distance: how many work items further on it is.
    """

    name: str
    dtype: DType
    element: ex.Variable | ex.Subscript
    distance: int


@dataclass(frozen=True, slots=True)
class Assign:
    """``target = value``; a subscript is linear, in elements.

    Where axes are tagged ``vec`` or ``sep``, the constant subscripts along these follow, and the
    first is in vectors.

    Attributes:
        insn_id: the instruction of the kernel that it carries out.
        values: the inames of the instruction that are no loop here, outermost first, and what
            each stands for: those of unrolled loops, and of loops with one iteration.
        others: further targets and values: all is read before anything is written.
        atomicity: how it is atomic, if it is: of two targets, the first gets the old value of the
            second.
        asynchronous: whether it is begun here, and carried out by the next `Wait` at the latest;
            targets may carry it out here.
    """

    target: ex.Variable | ex.Subscript
    value: Expression
    insn_id: str
    values: tuple[tuple[str, Expression], ...] = ()
    others: tuple[tuple[ex.Variable | ex.Subscript, Expression], ...] = ()
    atomicity: Atomicity | None = None
    asynchronous: bool = False

    @property
    def pairs(self) -> tuple[tuple[ex.Variable | ex.Subscript, Expression], ...]:
        """All targets, each with its value."""
        return ((self.target, self.value), *self.others)

    @property
    def updated(self) -> ex.Variable | ex.Subscript:
        """The element that is written atomically, or None."""
        return self.pairs[-1][0]


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the program is called.

    Attributes:
        function: its name.
        arguments: what it is given: numbers, and, for arrays, the element at which its part begins.
        parameters: what it takes.
        reads: the arrays that it reads.
        writes: the arrays that it writes.
        insn_id: the instruction of the kernel that it carries out.
        values: as those of an assignment.
    """

    function: str
    arguments: tuple[Expression, ...]
    parameters: tuple[Argument, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    insn_id: str
    values: tuple[tuple[str, Expression], ...] = ()


@dataclass(frozen=True, slots=True)
class Verbatim:
    """C as the user wrote it.

    Attributes:
        names: what the text may use beside variables, and what that stands for.
        code: the text.
        reads: the variables that it reads.
        writes: the variables that it writes.
        insn_id: the instruction that it carries out.
        values: as those of an assignment.
    """

    names: tuple[tuple[str, Expression], ...]
    code: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    insn_id: str
    values: tuple[tuple[str, Expression], ...] = ()


ENDLESS = 2**63 - 1  # the upper bound of a loop that has none


@dataclass(frozen=True, slots=True)
class Loop:
    """``for iname = lower, lower + step, ... < upper``.

    Attributes:
        parallel: how many perfectly nested loops, this one first, are independent of each other
            in every iteration and may run on several threads; 0 if this one runs upward.
        unordered: whether it runs over groups or work items: no iteration needs another one's.
        unroll: whether the compiler is asked to unroll it.
        at_once: whether its body, an assignment, is executed for all iterations at once: all is
            read before anything is written.
        estimate: how many iterations it has on average, where bounds are no measure of that.
        runs: what is asked before each iteration: where it does not hold, the loop ends.
    """

    iname: str
    lower: Expression
    upper: Expression
    body: Block
    step: int = 1
    parallel: int = 0
    unordered: bool = False
    unroll: bool = False
    at_once: bool = False
    estimate: Expression | None = None
    runs: Expression | None = None


@dataclass(frozen=True, slots=True)
class If:
    """The body is executed if the condition holds."""

    condition: Expression
    body: Block


@dataclass(frozen=True, slots=True)
class Barrier:
    """All work items of a group wait for each other, and see each other's writes.

    Attributes:
        address_spaces: what was written before it is visible after it in these.
        in_blocks: whether only those with the same index along ``l.2`` wait for each other.
        read_again: own arrays that are read again after it, and what was made of them made again;
            targets say so.
    """

    address_spaces: frozenset[AddressSpace]
    in_blocks: bool = False
    read_again: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wait:
    """A work item waits until all asynchronous assignments that it has begun are carried out."""


@dataclass(frozen=True, slots=True)
class BlocksBegun:
    """A work item waits until all blocks of its group have begun; only targets make it."""


Node: TypeAlias = (
    Declare | Shuffle | Assign | Verbatim | Call | Loop | If | Barrier | Wait | BlocksBegun
)
Block: TypeAlias = tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class HardwareAxis:
    """One axis of a launch: its extent, and the inames along it.

    Attributes:
        tag: the axis.
        size: how many, in terms of the parameters: a constant for an axis of work items.
        inames: each iname on the axis, with its first value: iname = index + first value.
    """

    tag: HardwareTag
    size: Expression
    inames: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class Launch:
    """One function that runs on the device.

    Attributes:
        name: its name.
        arguments: what is passed, in order: arguments of the kernel, global temporaries, and
            the variables of loops on the host.
        axes: the grid; empty if there is a single work item.
        body: what each work item executes.
    """

    name: str
    arguments: tuple[Argument, ...]
    axes: tuple[HardwareAxis, ...]
    body: Block


@dataclass(frozen=True, slots=True)
class HostLoop:
    """A sequential loop around launches: ``for iname = lower, lower + step, ... < upper``.

    Attributes:
        runs: what is asked before each iteration, or before some of them: where it does not hold,
            the loop ends.
    """

    iname: str
    lower: Expression
    upper: Expression
    body: tuple[HostNode, ...]
    step: int = 1
    runs: Expression | None = None


HostNode: TypeAlias = Launch | HostLoop


@dataclass(frozen=True, slots=True)
class LibraryFunction:
    """A function that calls a routine of a numerical library.

    Attributes:
        name: its name.
        arguments: what it takes: sizes, numbers, and arrays with their strides.
        routine: the routine.
        options: what is said to it by words.
        dtype: the type of the elements.
    """

    name: str
    arguments: tuple[Argument, ...]
    routine: str
    options: tuple[tuple[str, str], ...]
    dtype: DType


@dataclass(frozen=True)
class LoopProgram:
    """A lowered kernel.

    Attributes:
        name: the kernel's name.
        arguments: the kernel's arguments, all with types and strides.
        global_temporaries: arrays that the host allocates for the launches.
        host: the launches in order, with the loops around them.
        index_dtype: the type of loop counters and subscripts.
        nonnegative: names that are never negative where they are mentioned; division of what
            is built from them needs no correction.
        dtypes: the kind of every name that an expression may mention: inames and sizes are
            counters.
        options: the kernel's.
        tables: arrays of constants, which all launches see.
        shared_vectors: the arrays of vectors, components of which are written as numbers.
        multiples: names whose values are multiples of a number, where lanes ask for that.
        preambles: what its source begins with: a target, a key and a text each.
        bounding: the temporaries that bound loops.
        functions: what it calls, those first that others call; each is a launch without axes.
        libraries: the functions that call libraries for it.
    """

    name: str
    arguments: tuple[Argument, ...]
    global_temporaries: tuple[TemporaryVariable, ...]
    host: tuple[HostNode, ...]
    index_dtype: DType
    nonnegative: frozenset[str]
    dtypes: Mapping[str, Kind]
    options: Options = field(default_factory=Options)
    tables: tuple[TemporaryVariable, ...] = ()
    shared_vectors: frozenset[str] = frozenset()
    functions: tuple[LoopProgram, ...] = ()
    libraries: tuple[LibraryFunction, ...] = ()
    preambles: tuple[tuple[str, str, str], ...] = ()
    multiples: Mapping[str, int] = field(default_factory=new_dict)
    bounding: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return "\n".join([*(f.text for f in self.functions), self.text])

    @property
    def text(self) -> str:
        """The program without what it calls."""
        sections = [
            ("ARGUMENTS", [show_argument(a) for a in self.arguments]),
            ("GLOBAL TEMPORARIES", [show_temporary(t) for t in self.global_temporaries]),
            ("TABLES", [show_temporary(t) for t in self.tables]),
            ("LAUNCHES", _table([row for node in self.host for row in _host_rows(node, 0)])),
        ]
        lines = [RULE, f"LOOP PROGRAM: {self.name}", f"INDEX TYPE: {self.index_dtype.name}"]
        for title, body in sections:
            if body:
                lines += [RULE, f"{title}:", *body]
        return "\n".join([*lines, RULE])


# --- as text: rows of what is executed, and a note beside it

_Row: TypeAlias = tuple[str, str]
_INDENT = "  "


def _table(rows: Sequence[_Row]) -> list[str]:
    width = max((len(text) for text, note in rows if note and len(text) <= 60), default=0)
    return [f"{text:{width}}  # {note}" if note else text for text, note in rows]


def _range(loop: Loop | HostLoop) -> str:
    lower, upper = show_expression(loop.lower), show_expression(loop.upper)
    upper = "infinity" if loop.upper == ENDLESS else upper
    step = "" if loop.step == 1 else f", step {loop.step}"
    runs = "" if loop.runs is None else f", while {show_expression(loop.runs)}"
    return f"{loop.iname} in [{lower}, {upper}){step}{runs}:"


def _host_rows(node: HostNode, depth: int) -> Iterator[_Row]:
    indent = _INDENT * depth
    if isinstance(node, HostLoop):
        yield f"{indent}for {_range(node)}", "on the host"
        for child in node.body:
            yield from _host_rows(child, depth + 1)
        return
    names = ", ".join(a.name for a in node.arguments)
    yield f"{indent}launch {node.name}({names}):", ""
    for axis in node.axes:
        inames = (
            f"{iname} = {axis.tag}" + ("" if first == 0 else f" + {show_expression(first)}")
            for iname, first in axis.inames
        )
        yield (
            f"{indent}{_INDENT}{axis.tag} in [0, {show_expression(axis.size)}):",
            ", ".join(inames),
        )
    yield from _rows(node.body, depth + 1)


def _rows(block: Block, depth: int) -> Iterator[_Row]:
    indent = _INDENT * depth
    for node in block:
        if isinstance(node, Declare):
            yield indent + _declaration(node), ""
        elif isinstance(node, Shuffle):
            whose = f"of the work item {node.distance:+} of the sub-group"
            yield f"{indent}{node.dtype.name} {node.name} = {show_expression(node.element)}", whose
        elif isinstance(node, Assign):
            sides = [
                ", ".join(map(show_expression, side)) for side in zip(*node.pairs, strict=True)
            ]
            atomic = "" if node.atomicity is None else f" ({node.atomicity})"
            later = " (asynchronous)" if node.asynchronous else ""
            yield f"{indent}{' = '.join(sides)}", node.insn_id + atomic + later
        elif isinstance(node, Verbatim):
            names = ", ".join(f"{name} = {show_expression(value)}" for name, value in node.names)
            yield f"{indent}code ({names}): {node.code!r}", node.insn_id
        elif isinstance(node, Call):
            given = ", ".join(map(show_expression, node.arguments))
            yield f"{indent}{node.function}({given})", node.insn_id
        elif isinstance(node, Barrier):
            spaces = ", ".join(sorted(space.value for space in node.address_spaces))
            yield f"{indent}barrier ({spaces})", ""
        elif isinstance(node, Wait | BlocksBegun):
            what = "asynchronous copies" if isinstance(node, Wait) else "blocks to begin"
            yield f"{indent}wait", f"for {what}"
        elif isinstance(node, If):
            yield f"{indent}if {show_expression(node.condition)}:", ""
            yield from _rows(node.body, depth + 1)
        else:
            yield f"{indent}for {_range(node)}", _threads(node)
            yield from _rows(node.body, depth + 1)


def _declaration(node: Declare) -> str:
    space = "" if node.address_space is AddressSpace.PRIVATE else f"{node.address_space.value} "
    if node.in_registers:
        space = "registers "
    of = "" if node.vector is None else f"x{node.vector}"
    text = f"{space}{'const ' if node.constant else ''}{node.dtype.name}{of} {node.name}"
    if node.extent is not None:
        text += f"[{node.extent}]"
    if node.parts is not None:
        text += f" in {node.parts} parts"
    return text if node.initial is None else f"{text} = {show_expression(node.initial)}"


def _threads(loop: Loop) -> str:
    if loop.unroll:
        return "to be unrolled"
    if loop.at_once:
        return "at once"
    if loop.parallel < 2:
        return "parallel" if loop.parallel else ""
    return f"parallel, with the {loop.parallel - 1} inside"
