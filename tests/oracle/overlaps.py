"""Arguments that overlap: those of kernels that declare `may_alias`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def overlapping(
    arguments: Mapping[str, Any], first: str, second: str, shift: int
) -> dict[str, Any]:
    """Return the arguments of a call with two arrays in one piece of memory.

    Parameters:
        arguments: of a call.
        first: an array.
        second: another one; where they overlap, its numbers count.
        shift: how many of its elements it begins after the first one.
    """
    a, b = (np.asarray(arguments[name]) for name in (first, second))
    starts = max(0, -shift * b.itemsize), max(0, shift * b.itemsize)
    size = max(start + array.nbytes for start, array in zip(starts, (a, b), strict=True))
    memory = np.zeros(size, np.uint8)
    found = dict(arguments)
    for name, array, start in zip((first, second), (a, b), starts, strict=True):
        found[name] = np.ndarray(array.shape, array.dtype, memory, start)
        found[name][...] = array
    return found


def shared(arguments: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the arrays that are parts of memory that others are parts of, too."""
    arrays = {n: a for n, a in arguments.items() if isinstance(a, np.ndarray)}
    times = Counter(id(a.base) for a in arrays.values() if a.base is not None)
    return {n: a for n, a in arrays.items() if times[id(a.base)] > 1}


def copied(arguments: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return copies of arrays, which overlap as these do."""
    found = {name: np.array(array) for name, array in arguments.items()}
    memory: dict[int, NDArray[Any]] = {}
    for name, array in shared(arguments).items():
        base: Any = array.base
        mine = memory.setdefault(id(base), np.array(base))
        start = _address(array) - _address(base)
        found[name] = np.ndarray(array.shape, array.dtype, mine, start, array.strides)
    return found


def bytes_of(array: NDArray[Any], index: tuple[int, ...]) -> range:
    """Return where an element is."""
    steps = zip(index, array.strides, strict=True)
    start = _address(array) + sum(i * stride for i, stride in steps)
    return range(start, start + array.itemsize)


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])
