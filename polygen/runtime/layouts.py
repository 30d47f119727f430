"""Variants of a kernel for arrays that are not contiguous, or do not begin where their buffer does.

Row-major arrays use the kernel as it is.  For others, strides and the place of the first element
become scalar arguments that the runtime passes and the user never sees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import Argument, GlobalArg, ValueArg
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.lower.address import row_major_strides
from polygen.runtime.arrays import ArrayInfo


@dataclass(frozen=True, slots=True)
class Layout:
    """What generated code assumes of an array's place in memory.

    Attributes:
        strides: along each axis 1, or None for any stride; None altogether if the strides are
            those that the kernel says, or row-major if it says none.
        has_offset: whether the first element may be anywhere in the buffer.
    """

    strides: tuple[int | None, ...] | None = None
    has_offset: bool = False


PLAIN = Layout()


def layout_of(arg: GlobalArg, array: ArrayInfo) -> Layout:
    """Return the most special layout that an array has."""
    if array.size == 0:
        return PLAIN
    has_offset = array.offset != 0
    if arg.strides is not None or array.is_row_major:
        return Layout(None, has_offset)
    # Along an axis with one subscript, the stride is of no consequence: 1 is simplest.
    strides = tuple(
        1 if stride == 1 or extent == 1 else None
        for extent, stride in zip(array.shape, array.strides, strict=True)
    )
    return Layout(strides, has_offset)


@dataclass(frozen=True, slots=True)
class HiddenArgument:
    """A scalar argument that the user does not see.

    Attributes:
        name: what it is called in the generated code.
        array: the array that it belongs to.
        axis: it is the stride along this axis, or the offset if None.
    """

    name: str
    array: str
    axis: int | None

    def value(self, arrays: Mapping[str, ArrayInfo]) -> int:
        """Return what to pass for these arrays."""
        array = arrays[self.array]
        return array.offset if self.axis is None else array.strides[self.axis]


def with_layouts(
    kernel: Kernel, layouts: Mapping[str, Layout], index_dtype: DType
) -> tuple[Kernel, tuple[HiddenArgument, ...]]:
    """Return the kernel for arrays with these layouts, and the arguments that this adds.

    They come after all others.  A name that the kernel does not have yet is found for each.
    """
    hidden: list[HiddenArgument] = []
    for name, layout in layouts.items():
        if layout.strides is not None:
            kernel = _with_strides(kernel, name, layout.strides, index_dtype, hidden)
        if layout.has_offset:
            kernel = _with_offset(kernel, name, index_dtype, hidden)
    return kernel, tuple(hidden)


def _with_strides(
    kernel: Kernel,
    name: str,
    pattern: tuple[int | None, ...],
    index_dtype: DType,
    hidden: list[HiddenArgument],
) -> Kernel:
    strides: list[Expression] = []
    for axis, fixed in enumerate(pattern):
        if fixed is not None:
            strides.append(fixed)
            continue
        new = HiddenArgument(kernel.new_name(f"{name}_stride_{axis}"), name, axis)
        hidden.append(new)
        kernel = _add(kernel, ValueArg(new.name, index_dtype))
        strides.append(ex.Variable(new.name))
    return _replace(kernel, replace(_global(kernel, name), strides=tuple(strides)))


def _with_offset(
    kernel: Kernel, name: str, index_dtype: DType, hidden: list[HiddenArgument]
) -> Kernel:
    """Put another axis before the array's own, with the offset as its stride: ``a[1, i]``.

    To all the parts of polygen, that is an array like any other.
    """
    arg = _global(kernel, name)
    new = HiddenArgument(kernel.new_name(f"{name}_offset"), name, None)
    hidden.append(new)
    shape = arg.shape or ()
    strides = row_major_strides(shape) if arg.strides is None else arg.strides
    kernel = _add(kernel, ValueArg(new.name, index_dtype))
    moved = replace(arg, shape=(2, *shape), strides=(ex.Variable(new.name), *strides))
    kernel = _replace(kernel, moved)

    def rule(node: Expression) -> Expression:
        return _at_one(node, name)

    changed = tuple(insn.map_expressions(rule) for insn in kernel.instructions)
    return kernel.copy(instructions=changed)


def _at_one(node: Expression, name: str) -> Expression:
    """Return `node` with 1 as another first subscript of an array."""
    if isinstance(node, ex.Variable):
        return ex.Subscript(node, 1) if node.name == name else node
    if isinstance(node, ex.Subscript):
        index = tuple(_at_one(e, name) for e in ex.index_tuple(node))
        if ex.name_of(node) == name:
            index = (1, *index)
        return walk.rebuild(node, (node.aggregate, *index))
    return walk.rebuild(node, tuple([_at_one(p, name) for p in walk.parts(node)]))


def _global(kernel: Kernel, name: str) -> GlobalArg:
    arg = kernel.variable(name)
    assert isinstance(arg, GlobalArg)
    return arg


def _add(kernel: Kernel, arg: Argument) -> Kernel:
    return kernel.copy(arguments=(*kernel.arguments, arg))


def _replace(kernel: Kernel, arg: Argument) -> Kernel:
    arguments = tuple(arg if a.name == arg.name else a for a in kernel.arguments)
    return kernel.copy(arguments=arguments)
