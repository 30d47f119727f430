"""Detects arguments that overlap in memory.

The wrapper of a call compares the first and last addresses of arrays, or their memory objects,
and comes here only if these leave the question open.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from polygen.errors import MisalignedArray, OverlappingArguments, ReadOnlyOutput
from polygen.runtime.arrays.array_library import ArrayLibrary
from polygen.source import caller_location

_MOST_WORK = 100_000  # for deciding whether two interleaved arrays share an element


_REMEDY = "pass a copy of one of them, or declare the argument with may_alias=True"


def check_passed(
    libraries: Mapping[str, ArrayLibrary], written: str, output: Any, name: str, other: Any
) -> None:
    """Raise OverlappingArguments if two arrays of these libraries share an element, or may do."""
    places = libraries[written].in_memory(output), libraries[name].in_memory(other)
    check_apart(written, places[0], name, places[1])


def check_apart(written: str, output: Any, name: str, other: Any, remedy: str = _REMEDY) -> None:
    """Raise OverlappingArguments if two of NumPy's arrays share an element, or may do."""
    if output.size == 0 or other.size == 0:
        return
    shares_memory: Any = np.shares_memory  # its annotation does not know of limits to the work
    try:
        if not shares_memory(np.asarray(output), np.asarray(other), max_work=_MOST_WORK):
            return
    except np.exceptions.TooHardError:
        # Arrays that interleave in so complicated a way are treated as if they overlapped.
        pass
    raise OverlappingArguments(
        f"arguments '{written}' and '{name}' overlap in memory, and '{written}' is written",
        where=caller_location(),
        remedy=remedy,
    )


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
