"""Puts products of small matrices on the tensor cores of a GPU: finds them, and what they need.

Loops tagged ``mma`` are around one instruction, ``sums[h,v] = sums[h,v] + a[g,h,k]*b[k,t,v]``.
``t``, of 4 values, is on ``l.0``, and ``g``, of 8, on ``l.1``: 32 work items in a row, a *warp*.
One has a row ``g, h``, for each ``h``, of the left matrix, and columns ``t, v`` of the right one.
`passed_elements` says what it passes to the hardware, so that this does what the loops do.

What others read can be read: in the kernel, each element of the left matrix is read by four work
items, and each of the right one by eight.  Only one of these can have written it.  So a barrier
stands between that and the product, for all work items of the group.

This is done behind the validation of loops; `polygen.validation.tensor_products` looks at its
result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from polygen.analysis.integers.affine_forms import linear_form
from polygen.errors import NotOnTensorCores
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.added_product import added_product
from polygen.ir.array import AddressSpace, TemporaryVariable, ValueArg
from polygen.ir.dtype import DType, is_bfloat16, is_short_float
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.tags import LocalTag, MatrixTag
from polygen.ir.verify import excerpt
from polygen.lower.passed_elements import ACROSS, DOWN, SmallProduct, WarpNames, passed
from polygen.lower.program import (
    Assign,
    Block,
    Declare,
    HostLoop,
    HostNode,
    If,
    Launch,
    Loop,
    LoopProgram,
    Node,
    TensorProduct,
)


def with_tensor_products(program: LoopProgram, kernel: Kernel) -> LoopProgram:
    """Return a validated program with tensor cores for loops tagged ``mma``.

    Parameters:
        program: the program, for a target that has tensor cores.
        kernel: what it was made of.

    Raises:
        NotOnTensorCores: if they cannot execute such loops.
    """
    tagged = frozenset(i for i, tag in kernel.tags.items() if isinstance(tag, MatrixTag))
    if not tagged:
        return program
    return replace(program, host=tuple([_host(node, kernel, tagged) for node in program.host]))


def _host(node: HostNode, kernel: Kernel, tagged: frozenset[str]) -> HostNode:
    if isinstance(node, HostLoop):
        return replace(node, body=tuple([_host(inner, kernel, tagged) for inner in node.body]))
    warps = _Warps(kernel, node, tagged)
    body = warps.block(node.body, together=True)
    warps.check()
    return replace(node, body=_with_short_floats(body, warps.short))


def _with_short_floats(block: Block, names: set[str]) -> Block:
    """Return statements with arrays of numbers of 16 bits declared as what they are in memory."""
    made: list[Node] = []
    for node in block:
        if isinstance(node, Declare) and node.name in names:
            made.append(replace(node, is_short=True))
        elif isinstance(node, Loop | If):
            made.append(replace(node, body=_with_short_floats(node.body, names)))
        else:
            made.append(node)
    return tuple(made)


class _Warps:
    """Finds the products of a launch.

    Where a loop is divided (`separate_full_tiles`), the nest of the last tile may have other
    bounds: this one remains loops.

    Attributes:
        short: the local arrays of numbers of 16 bits that products read.
    """

    def __init__(self, kernel: Kernel, launch: Launch, tagged: frozenset[str]) -> None:
        self._kernel, self._tagged = kernel, tagged
        axes = {axis.tag: axis for axis in launch.axes}
        self._axes = [axes.get(LocalTag(number)) for number in range(2)]
        # What is the same for all work items of a warp.
        sizes = [a.name for a in launch.arguments if isinstance(a, ValueArg)]
        others = [i for axis in launch.axes if axis not in self._axes for i, _ in axis.inames]
        self._uniform = {*sizes, *others}
        self._insn = ""
        self._errors: dict[str, NotOnTensorCores] = {}
        self._done: set[str] = set()
        self.short: set[str] = set()

    def check(self) -> None:
        """Check that each instruction has a product.

        Raises:
            NotOnTensorCores: if one has none.
        """
        for insn_id, error in self._errors.items():
            if insn_id not in self._done:
                raise error

    def block(self, block: Block, *, together: bool) -> Block:
        """Return statements with products on tensor cores.

        Parameters:
            block: the statements.
            together: whether all work items of a warp execute them, each as often as the others.
        """
        return tuple([self._node(node, together=together) for node in block])

    def _node(self, node: Node, *, together: bool) -> Node:
        if isinstance(node, Declare) and node.constant and node.initial is not None:
            if self._is_uniform(node.initial):
                self._uniform.add(node.name)
        elif isinstance(node, If):
            inside = together and self._is_uniform(node.condition)
            return replace(node, body=self.block(node.body, together=inside))
        elif isinstance(node, Loop) and node.iname in self._tagged:
            return self._product_or_loop(node, together=together)
        elif isinstance(node, Loop):
            ends = [node.lower, node.upper, *(() if node.runs is None else (node.runs,))]
            inside = together and all(map(self._is_uniform, ends))
            if inside:
                self._uniform.add(node.iname)
            return replace(node, body=self.block(node.body, together=inside))
        return node

    def _is_uniform(self, node: Expression) -> bool:
        return walk.free_variables(node) <= self._uniform

    def _product_or_loop(self, nest: Loop, *, together: bool) -> Node:
        try:
            found = self._product(nest, together=together)
        except NotOnTensorCores as error:
            self._errors.setdefault(self._insn, error)
            return nest
        self._done.add(self._insn)
        return found

    def _product(self, nest: Loop, *, together: bool) -> TensorProduct:
        loops, inside = _nest_of(nest)
        first = next(_assignments((inside,)), None)
        self._insn = "" if first is None else first.insn_id
        if not together:
            raise self._refused("not all work items of a warp come to it together")
        for loop in loops:
            if loop.iname not in self._tagged:
                raise self._refused(f"the loop over '{loop.iname}' in it is not tagged mma")
            if loop.lower != 0 or not isinstance(loop.upper, int) or loop.step != 1:
                raise self._refused(
                    f"the loop over '{loop.iname}' does not count from 0 to a constant"
                )
        if not isinstance(inside, Assign):
            raise self._refused("it is no nest of loops around one assignment without conditions")
        options = self._kernel.options
        if not options.allow_reassociation or options.contract == "off":
            raise self._refused("it adds up in an order, and rounds, as its options do not allow")
        names = self._names()
        found = self._factors(inside, names)
        counts = {loop.iname: loop.upper for loop in loops if isinstance(loop.upper, int)}
        try:
            made = passed(nest, self._kind(*found), SmallProduct(counts, *found), names)
        except ValueError as error:
            raise self._refused(str(error)) from None
        if made.loads:
            self.short |= {ex.name_of(node) for node in found[1:]}
        return made

    def _names(self) -> WarpNames:
        """Return what the index of a work item is called along the first two axes."""
        names: list[str] = []
        within = self._kernel.instructions_by_id[self._insn].within_inames
        sizes = (ACROSS, DOWN)
        for number, axis in enumerate(self._axes):
            size = 0 if axis is None else axis.size
            if axis is None or not isinstance(size, int) or not _is_lanes(number, size):
                raise self._refused(
                    f"there are {size} work items along l.{number}, not "
                    f"{'a multiple of ' if number else ''}{sizes[number]}"
                )
            found = [(i, first) for i, first in axis.inames if i in within]
            if len(found) != 1 or found[0][1] != 0:
                raise self._refused(f"it has no iname on l.{number} that counts from 0")
            names.append(found[0][0])
        assert self._axes[1] is not None
        return WarpNames(names[0], names[1], is_alone=self._axes[1].size == DOWN)

    def _factors(
        self, assign: Assign, names: WarpNames
    ) -> tuple[ex.Subscript, ex.Subscript, ex.Subscript]:
        """Return what is added to, the left factor and the right one."""
        target, factors = assign.target, added_product(assign.target, assign.value)
        if assign.others or assign.atomicity or factors is None:
            raise self._refused("it does not add a product of two factors to an element")
        if not isinstance(target, ex.Subscript) or not self._is_own(ex.name_of(target)):
            raise self._refused("what it adds to is no element of a private array")
        across, down = names.across, names.down
        if walk.free_variables(target) & {across, down}:
            raise self._refused("which element it adds to depends on the work item")
        read = [self._read(factor) for factor in factors]
        used = [walk.free_variables(node) & {across, down} for node in read]
        if used == [{across}, {down}]:
            read.reverse()
        elif used != [{down}, {across}]:
            raise self._refused(
                f"one factor has to depend on '{down}' (l.1) and not on '{across}' (l.0), and the "
                "other one the other way around"
            )
        for node in (target, *read):
            first, *others = ex.index_tuple(node)
            if others or linear_form(first) is None:
                raise self._refused(
                    f"'{ex.name_of(node)}' consists of vectors, or its subscripts are not affine"
                )
        return target, read[0], read[1]

    def _read(self, factor: Expression) -> ex.Subscript:
        """Return the element that a factor is, perhaps converted."""
        if isinstance(factor, ex.Call) and ex.name_of(factor.function) == "float32":
            inner = factor.parameters[0]
            if isinstance(inner, ex.Subscript) and is_short_float(self._dtype(inner)):
                factor = inner
        elif isinstance(factor, ex.Subscript) and self._dtype(factor) == np.float16:
            raise self._refused(
                f"products of '{ex.name_of(factor)}' would be rounded to float16: "
                f"float32({ex.name_of(factor)}[...]) says that they are not"
            )
        if not isinstance(factor, ex.Subscript):
            raise self._refused("a factor is computed, and no element of an array")
        if self._is_own(ex.name_of(factor)):
            raise self._refused(
                f"'{ex.name_of(factor)}' is private, and work items read what others have"
            )
        return factor

    def _is_own(self, name: str) -> bool:
        return self._space(name) is AddressSpace.PRIVATE

    def _space(self, name: str) -> AddressSpace:
        if isinstance(self._kernel.variables.get(name), TemporaryVariable):
            return self._kernel.address_space(name)
        return AddressSpace.GLOBAL

    def _dtype(self, node: ex.Subscript) -> DType:
        dtype = self._kernel.array(ex.name_of(node)).dtype
        assert dtype is not None
        return dtype

    def _kind(self, *nodes: ex.Subscript) -> str:
        """Return what the hardware calls the type of the factors."""
        sums, left, right = map(self._dtype, nodes)
        if left != right:
            raise self._refused(f"its factors are of type {left.name} and {right.name}")
        if left == sums == np.float64:
            return "float64"
        if left == sums == np.float32:
            if self._kernel.options.allow_tf32:
                return "tf32"
            raise self._refused(
                "numbers of type float32 would be rounded to TF32, which has 10 bits behind the "
                "binary point; set_options(kernel, allow_tf32=True) permits that"
            )
        if sums == np.float32 and (left == np.float16 or is_bfloat16(left)):
            for node in nodes[1:]:
                if self._space(ex.name_of(node)) is not AddressSpace.LOCAL:
                    raise self._refused(f"'{ex.name_of(node)}' is not in local memory")
            return left.name
        raise self._refused(
            f"there are none for factors of type {left.name} and sums of type {sums.name}"
        )

    def _refused(self, why: str) -> NotOnTensorCores:
        insn = self._kernel.instructions_by_id.get(self._insn)
        what = "these loops" if insn is None else f"instruction '{self._insn}'"
        return NotOnTensorCores(
            f"tensor cores cannot execute {what}: {why}",
            where=self._kernel.location if insn is None else insn.location,
            excerpt=None if insn is None else excerpt(self._kernel, insn.id),
            remedy="see use_tensor_cores for what they need, or tag the loops unr instead of mma",
        )


def _is_lanes(number: int, size: int) -> bool:
    return size > 0 and size % DOWN == 0 if number else size == ACROSS


def _nest_of(nest: Loop) -> tuple[Sequence[Loop], Node]:
    """Return loops that nest perfectly, outermost first, and the only statement in them."""
    loops: list[Loop] = []
    node: Node = nest
    while isinstance(node, Loop) and node.runs is None:
        loops.append(node)
        if len(node.body) != 1:
            break
        (node,) = node.body
    return loops, node


def _assignments(block: Block) -> Iterator[Assign]:
    for node in block:
        if isinstance(node, Assign):
            yield node
        elif isinstance(node, Loop | If):
            yield from _assignments(node.body)
