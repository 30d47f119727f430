"""Tells where vectors of memory begin, as far as declarations and assumptions say."""

from __future__ import annotations

from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.known_facts import known_parameters
from polygen.errors import UserError
from polygen.ir import expression as ex
from polygen.ir.array import GlobalArg
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.layout import DimTags, Nested
from polygen.transforms.loops.loop_extents import box_of

VECTOR = 16  # bytes


def begins_with_vectors(kernel: Kernel, name: str, lanes: int) -> bool:
    """Tell whether each row of an array begins where a vector does."""
    array = kernel.array(name)
    if not isinstance(array, GlobalArg) or (array.alignment or 1) < VECTOR or not array.shape:
        return False
    if array.offset or not (array.dim_tags is None or _is_row_major(array.dim_tags)):
        return False
    return is_multiple(kernel, array.shape[-1], lanes)


def _is_row_major(tags: DimTags) -> bool:
    last = len(tags) - 1
    return all(tag == Nested(last - axis) for axis, tag in enumerate(tags))


def is_multiple(kernel: Kernel, value: Expression, number: int) -> bool:
    """Tell whether a size is known to be a multiple of a number."""
    if isinstance(value, int):
        return value % number == 0
    other = condition_set(ex.Comparison(ex.remainder_of(value, number), "!=", 0))
    return other is not None and other.intersect(known_parameters(kernel)).is_empty()


def is_whole(kernel: Kernel, iname: str, number: int) -> bool:
    """Tell whether a loop is known to have a multiple of a number of iterations."""
    try:
        box = box_of(kernel, [iname])
    except UserError:  # its ends depend on other loops
        return False
    return is_multiple(kernel, box.ranges[0].count, number)
