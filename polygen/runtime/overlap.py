"""Whether arguments lie in the same memory.

The wrapper of a call compares the first and last addresses of arrays, or their memory objects,
and comes here only if these leave the question open.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from polygen.errors import MisalignedArray, OverlappingArguments, ReadOnlyOutput
from polygen.runtime.cuda_arrays import is_cuda_array, seen
from polygen.runtime.opencl import is_opencl_array
from polygen.source import caller_location

# What OpenCL calls these.
_ASSOCIATED_MEMOBJECT = 0x1107
_OFFSET = 0x1108
_MOST_WORK = 100_000  # for deciding whether two interleaved arrays share an element


_REMEDY = "pass a copy of one of them, or declare the argument with may_alias=True"


def check_apart(written: str, output: Any, name: str, other: Any, remedy: str = _REMEDY) -> None:
    """Raise OverlappingArguments if two arrays share an element, or may do."""
    if is_cuda_array(output):
        output, other = seen(output), seen(other)
    if output.size == 0 or other.size == 0:
        return
    shares_memory: Any = np.shares_memory  # its annotation does not know of limits to the work
    try:
        if not shares_memory(_in_memory(output), _in_memory(other), max_work=_MOST_WORK):
            return
    except np.exceptions.TooHardError:
        # Arrays that interleave in so complicated a way are treated as if they overlapped.
        pass
    raise OverlappingArguments(
        f"arguments '{written}' and '{name}' overlap in memory, and '{written}' is written",
        where=caller_location(),
        remedy=remedy,
    )


def _in_memory(array: Any) -> Any:
    if is_opencl_array(array):
        return np.asarray(_Place(array))
    return np.asarray(array)  # at a device's address, nothing is read


class _Place:
    """A device's array as NumPy sees arrays, at an address that nothing may be read from."""

    def __init__(self, array: Any) -> None:
        address = 2**40 + offset_in_memory(array.base_data) + int(array.offset)
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": array.shape,
            "strides": array.strides,
            "typestr": array.dtype.str,
        }


def memory_of(data: Any) -> Any:
    """Return the memory object that a buffer is a part of, or the buffer itself."""
    try:
        return data.get_info(_ASSOCIATED_MEMOBJECT) or data
    except AttributeError:
        # Shared virtual memory, or none at all.
        return data


def offset_in_memory(data: Any) -> int:
    """Return where a buffer begins in the memory object that it is a part of."""
    return int(data.get_info(_OFFSET)) if hasattr(data, "get_info") else 0


def raise_read_only(name: str) -> NoReturn:
    """Raise the error for an output that is read-only."""
    raise ReadOnlyOutput(
        f"argument '{name}' is written, and the array that was passed for it is read-only",
        where=caller_location(),
        remedy="pass a copy: array.copy()",
    )


def raise_misaligned() -> NoReturn:
    """Raise the error for arrays whose elements do not lie where their type wants them."""
    raise MisalignedArray(
        "an array was passed whose elements do not lie on multiples of what their type needs, or "
        "that does not begin where its alignment says",
        where=caller_location(),
        remedy="pass a copy: array.copy(), or one in memory that is aligned",
    )
