"""The memory that arrays touch, as intervals of addresses."""

from __future__ import annotations

from typing import Any, TypeAlias

Interval: TypeAlias = tuple[int, int]


def interval(array: Any) -> Interval:
    """Return the first address of an array and the one behind its last; empty if it is.

    Parameters:
        array: an array of NumPy's or CuPy's.
    """
    if not array.size:
        return (0, 0)
    low = high = address_of(array)
    for extent, stride in zip(array.shape, array.strides, strict=True):
        reach = (extent - 1) * stride
        if reach < 0:
            low += reach
        else:
            high += reach
    return low, high + array.itemsize


def address_of(array: Any) -> int:
    """Return the address of an array's first element."""
    if hasattr(array, "__cuda_array_interface__"):
        return int(array.data.ptr)
    return int(array.__array_interface__["data"][0])


def meet(one: Interval, other: Interval) -> bool:
    """Tell whether two intervals have an address in common."""
    return one[0] < other[1] and other[0] < one[1]
