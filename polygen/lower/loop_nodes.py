"""The statements of a loop program, and the launches and loops of its host."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace, Argument
from polygen.ir.atomicity import Atomicity
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
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
        is_short: whether its elements, numbers of 16 bits, are such in local memory, and not as
            they are computed with.
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
    is_short: bool = False


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
class MatrixLoad:
    """A warp loads what its work items pass of a matrix of numbers of 16 bits, from local memory.

    Attributes:
        rows: where rows of 8 numbers begin that a work item names, for each four matrices of 8 x 8.
        is_transposed: whether these are columns.
        loops: the loops around: iname, iterations and step.
        registers: how many registers, of 32 bits, a work item passes.
    """

    rows: tuple[ex.Subscript, ...]
    is_transposed: bool
    loops: tuple[tuple[str, int, int], ...]
    registers: int


@dataclass(frozen=True, slots=True)
class TensorProduct:
    """A warp adds a product of two small matrices to one that its work items hold in registers.

    A validated program has it, for targets with tensor cores.  Loops are around one instruction of
    the hardware; what each work item passes to that follows from its place in the warp (the PTX
    ISA says how): it is no element of the matrices that it would multiply itself.

    Attributes:
        nest: what it does, work item by work item.
        depths: the loop over terms of the sum, if there is one: iname, iterations and step.
        loops: those over rows and columns, inside of it.
        kind: the type of the factors, as the hardware has them.
        sums: the elements that a work item holds.
        left: what it passes of the left matrix, in the hardware's order.
        right: what it passes of the right one.
        lanes: the indices of a work item along ``l.0`` and ``l.1``.
        loads: how it gets what it passes, if that is loaded first: of the left and the right one.
    """

    nest: Loop
    depths: tuple[tuple[str, int, int], ...]
    loops: tuple[tuple[str, int, int], ...]
    kind: str
    sums: tuple[ex.Subscript, ...]
    left: tuple[ex.Subscript, ...]
    right: tuple[ex.Subscript, ...]
    lanes: tuple[str, str]
    loads: tuple[MatrixLoad, MatrixLoad] | None = None

    @property
    def elements(self) -> tuple[ex.Subscript, ...]:
        """The elements that a work item holds, passes, or begins to load at."""
        rows = [row for load in self.loads or () for row in load.rows]
        return (*self.sums, *self.left, *self.right, *rows)

    @property
    def insn_id(self) -> str:
        """The instruction of the kernel that it carries out."""
        return next(n.insn_id for n in _in_nest(self.nest) if isinstance(n, Assign))


def _in_nest(node: Node) -> Iterator[Node]:
    yield node
    if isinstance(node, Loop):
        for inner in node.body:
            yield from _in_nest(inner)


@dataclass(frozen=True, slots=True)
class BlocksBegun:
    """A work item waits until all blocks of its group have begun; only targets make it."""


Node: TypeAlias = (
    Declare
    | Shuffle
    | Assign
    | Verbatim
    | Call
    | Loop
    | If
    | Barrier
    | Wait
    | TensorProduct
    | BlocksBegun
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
