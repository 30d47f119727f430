"""Strides and offsets that are found at the call: scalar arguments that the user does not see.

They come after all others.  A name that the kernel does not have yet is found for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from polygen.ir import expression as ex
from polygen.ir.array import Argument, GlobalArg, ValueArg
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Auto, AxisTag, Strided, unit


@dataclass(frozen=True, slots=True)
class HiddenArgument:
    """A scalar argument that the user does not see.

    Attributes:
        name: what it is called in the generated code.
        array: the array that it belongs to.
        axis: it is the stride along this axis, or the offset if None.
        unit: it counts so many elements as one: those of a vector.
    """

    name: str
    array: str
    axis: int | None
    unit: int = 1


def has_auto(arg: GlobalArg) -> bool:
    """Tell whether a stride or the offset of an array is left to the call."""
    tags = arg.dim_tags or ()
    return isinstance(arg.offset, Auto) or any(
        isinstance(tag, Strided) and isinstance(tag.stride, Auto) for tag in tags
    )


def without_auto(kernel: Kernel, index_dtype: DType) -> Kernel:
    """Return the kernel with an argument for each stride and offset that is left to the call."""
    for arg in kernel.arguments:
        if isinstance(arg, GlobalArg) and has_auto(arg):
            if arg.dim_tags is not None:
                kernel, _ = with_strides(kernel, arg.name, [None] * len(arg.dim_tags), index_dtype)
            if isinstance(arg.offset, Auto):
                kernel, _ = with_offset(kernel, arg.name, index_dtype)
    return kernel


def with_strides(
    kernel: Kernel, name: str, strides: Sequence[int | Auto | None], index_dtype: DType
) -> tuple[Kernel, list[HiddenArgument]]:
    """Return the kernel with other strides for an array, and the arguments that this adds.

    Parameters:
        kernel: the kernel.
        name: the array.
        strides: for each axis a number, `auto` for an argument, or None for what is declared.
        index_dtype: the type of the arguments.
    """
    arg = _global(kernel, name)
    tags: list[AxisTag] = []
    hidden: list[HiddenArgument] = []
    for axis, stride in enumerate(strides):
        tag = Strided(stride) if stride is not None else (arg.dim_tags or ())[axis]
        if isinstance(tag, Strided) and isinstance(tag.stride, Auto):
            new = HiddenArgument(kernel.new_name(f"{name}_stride_{axis}"), name, axis, unit(arg))
            kernel = _add(kernel, ValueArg(new.name, index_dtype))
            hidden.append(new)
            tag = Strided(_in_elements(new))
        tags.append(tag)
    return _replace(kernel, replace(arg, dim_tags=tuple(tags))), hidden


def with_offset(
    kernel: Kernel, name: str, index_dtype: DType
) -> tuple[Kernel, list[HiddenArgument]]:
    """Return the kernel with an argument for an array's offset, and that argument."""
    arg = _global(kernel, name)
    new = HiddenArgument(kernel.new_name(f"{name}_offset"), name, None, unit(arg))
    kernel = _add(kernel, ValueArg(new.name, index_dtype))
    return _replace(kernel, replace(arg, offset=_in_elements(new))), [new]


def _in_elements(hidden: HiddenArgument) -> Expression:
    name = ex.Variable(hidden.name)
    return name if hidden.unit == 1 else ex.product_of(hidden.unit, name)


def _global(kernel: Kernel, name: str) -> GlobalArg:
    arg = kernel.variable(name)
    assert isinstance(arg, GlobalArg)
    return arg


def _add(kernel: Kernel, arg: Argument) -> Kernel:
    return kernel.copy(arguments=(*kernel.arguments, arg))


def _replace(kernel: Kernel, arg: Argument) -> Kernel:
    arguments = tuple(arg if a.name == arg.name else a for a in kernel.arguments)
    return kernel.copy(arguments=arguments)
