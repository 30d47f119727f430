"""Finds paddings of an array that fill aligned blocks with little waste."""

from __future__ import annotations

from itertools import count

from polygen.errors import AxisNotPossible, InvalidArgument
from polygen.ir.kernel import Kernel
from polygen.ir.layout import element_strides
from polygen.ir.public import public_but
from polygen.source import caller_location
from polygen.transforms.arrays.array_rewriting import check_axis, is_array
from polygen.transforms.arrays.axis_rewriting import with_all_tags


@public_but("allowed_waste")
def find_padding_multiple(
    kernel: Kernel, variable: str, axis: int, align_bytes: int, allowed_waste: float = 0.1
) -> int:
    """Return how many neighbours along an axis, together, can be padded with little waste.

    That is the least number of them that takes, filled up to a multiple of `align_bytes`, at most
    that much more memory: for `split_array_dim`, the blocks of which `add_padding` then aligns.

    Parameters:
        kernel: the kernel.
        variable: an argument or a temporary, of a known type.
        axis: the number of the axis, from 0; its stride is a number.
        align_bytes: the bytes of which a block is to take a multiple.
        allowed_waste: the part that may be added, of what the elements take.

    Raises:
        UnknownArgument, InvalidArgument: if there is no such array, or a number is not positive.
        AxisNotPossible: if there is no such axis, or if its stride in bytes is not a number.

    Source: Loo.py's function of this name (which counts elements, not bytes).

    >>> import polygen as pg
    >>> knl = pg.make_kernel("{ [e,j]: 0<=e<n and 0<=j<10 }", "u[e,j] = 0", loop_priority="e, j")
    >>> knl = pg.add_dtypes(knl, {"u": "float32"})
    >>> pg.find_padding_multiple(knl, "u", 0, 64)
    3
    """
    if not is_array(kernel, variable) or align_bytes < 1 or allowed_waste < 0:
        raise InvalidArgument(
            f"find_padding_multiple was given {variable!r}, {align_bytes!r} and {allowed_waste!r}",
            where=caller_location(),
            remedy="pass the name of an array, a number of bytes and a part such as 0.1",
        )
    check_axis(kernel, variable, axis)
    array = with_all_tags(kernel.array(variable))
    stride = (element_strides(array) or ())[axis]
    if not isinstance(stride, int) or stride < 1 or array.dtype is None:
        raise AxisNotPossible(
            f"how many bytes neighbours along axis {axis} of '{variable}' are apart is not known",
            where=caller_location(),
            remedy="declare its type, and extents as numbers: add_dtypes, fix_parameters",
        )
    taken = stride * array.dtype.itemsize
    return next(m for m in count(1) if -(m * taken) % align_bytes <= allowed_waste * m * taken)
