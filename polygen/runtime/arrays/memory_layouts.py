"""Variants of a kernel for where the elements of the arrays of a call lie.

Row-major arrays use the kernel as it is.  For others, and where a layout says `auto`, strides and
the place of the first element become scalar arguments that the runtime passes and the user never
sees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polygen.errors import MisalignedArray, WrongStrides
from polygen.ir.array import GlobalArg
from polygen.ir.dtype import DType
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Auto, Strided, auto, unit
from polygen.lower.hidden import HiddenArgument, with_offset, with_strides
from polygen.runtime.arrays.array_facts import ArrayInfo
from polygen.source import caller_location


@dataclass(frozen=True, slots=True)
class Layout:
    """The assumptions of generated code about an array's place in memory.

    Attributes:
        strides: along each axis a number, `auto` for any stride, or None for what is declared; None
            altogether if the strides are those that the kernel says, or row-major if it says none.
        has_offset: whether the first element may be anywhere in the buffer.
    """

    strides: tuple[int | Auto | None, ...] | None = None
    has_offset: bool = False


PLAIN = Layout()


def layout_of(arg: GlobalArg, array: ArrayInfo) -> Layout:
    """Return the most special layout that an array has.

    Raises:
        WrongStrides: if a stride that is left to the call cuts through vectors.
        MisalignedArray: if the first element is in the middle of a vector.
    """
    adapts = arg.offset == 0 or isinstance(arg.offset, Auto)
    has_offset = isinstance(arg.offset, Auto) or (adapts and array.offset != 0)
    if array.offset % unit(arg) and array.size:
        raise MisalignedArray(
            f"argument '{arg.name}' begins {array.offset} elements into its buffer, which is no "
            f"multiple of what a vector takes: {unit(arg)}",
            where=caller_location(),
            remedy="pass a copy: array.copy()",
        )
    if arg.dim_tags is not None:
        return Layout(_declared(arg, array), has_offset)
    if array.size == 0 or array.is_row_major:
        return Layout(None, has_offset and array.size != 0)
    # Along an axis with one subscript, the stride is of no consequence: 1 is simplest.
    strides = tuple(
        1 if stride == 1 or extent == 1 else auto
        for extent, stride in zip(array.shape, array.strides, strict=True)
    )
    return Layout(strides, has_offset)


def _declared(arg: GlobalArg, array: ArrayInfo) -> tuple[int | Auto | None, ...] | None:
    """Return what strides that are left to the call become; None if there are none."""
    found: list[int | Auto | None] = []
    for tag, stride, extent in zip(arg.dim_tags or (), array.strides, array.shape, strict=True):
        if not isinstance(tag, Strided) or not isinstance(tag.stride, Auto):
            found.append(None)
        elif extent <= 1 or 0 in array.shape or stride == unit(arg):
            found.append(unit(arg))
        elif stride % unit(arg):
            raise WrongStrides(
                f"argument '{arg.name}' has the strides {array.strides}, in elements; along an "
                f"axis with whole vectors they are multiples of {unit(arg)}",
                where=caller_location(),
                remedy=f"pass an array with such strides, or leave out vec for '{arg.name}'",
            )
        else:
            found.append(auto)
    return tuple(found) if any(part is not None for part in found) else None


def value_of_hidden(hidden: HiddenArgument, arrays: Mapping[str, ArrayInfo]) -> int:
    """Return what to pass for these arrays."""
    array = arrays[hidden.array]
    value = array.offset if hidden.axis is None else array.strides[hidden.axis]
    return value // hidden.unit


def with_layouts(
    kernel: Kernel, layouts: Mapping[str, Layout], index_dtype: DType
) -> tuple[Kernel, tuple[HiddenArgument, ...]]:
    """Return the kernel for arrays with these layouts, and the arguments that this adds."""
    hidden: list[HiddenArgument] = []
    for name, layout in layouts.items():
        if layout.strides is not None:
            kernel, new = with_strides(kernel, name, layout.strides, index_dtype)
            hidden += new
        if layout.has_offset:
            kernel, new = with_offset(kernel, name, index_dtype)
            hidden += new
    return kernel, tuple(hidden)
