"""What a call of a kernel leaves, beside what plain Python on NumPy leaves."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


class DiffersError(AssertionError):
    """Two calls left different things."""


@dataclass(frozen=True)
class Outcome:
    """What a call left.

    Attributes:
        result: what it returned.
        arguments: as they are afterwards.
    """

    result: Any
    arguments: Sequence[Any]


def outcome(function: Callable[..., Any], arguments: Sequence[Any]) -> Outcome:
    """Call a function with copies of arguments, and say nothing of what NumPy warns of."""
    copies = copy.deepcopy(list(arguments))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        return Outcome(function(*copies), copies)


def check(found: Outcome, expected: Outcome, roundings: float = 0.0) -> None:
    """Compare two outcomes: types, shapes, values, and which arrays are parts of arguments.

    Parameters:
        found: of a kernel.
        expected: of plain Python.
        roundings: by how many units in the last place of its largest element, or of one, an array
            of floating point may differ.

    Raises:
        DiffersError: they differ; it says where.
    """
    pairs = zip(found.arguments, expected.arguments, strict=True)
    for place, (mine, theirs) in enumerate(pairs):
        compare(f"argument {place}", mine, theirs, roundings)
    compare("the result", found.result, expected.result, roundings)
    shared, meant = _shared(found), _shared(expected)
    if shared != meant:
        raise DiffersError(f"results share memory with arguments {shared}, not with {meant}")


def compare(what: str, found: Any, expected: Any, roundings: float) -> None:
    """Compare two values."""
    if isinstance(expected, tuple | list):
        if type(found) is not type(expected) or len(found) != len(expected):
            raise DiffersError(f"{what} is {found!r}, not {expected!r}")
        for place, (mine, theirs) in enumerate(zip(found, expected, strict=True)):
            compare(f"{what}, part {place},", mine, theirs, roundings)
        return
    if expected is None or isinstance(expected, str):
        if found is not expected and found != expected:
            raise DiffersError(f"{what} is {found!r}, not {expected!r}")
        return
    same_sort = isinstance(found, np.ndarray) == isinstance(expected, np.ndarray)
    if isinstance(found, tuple | list) or not same_sort:
        raise DiffersError(f"{what} is of {type(found)}, not of {type(expected)}")
    _compare_arrays(what, np.asarray(found), np.asarray(expected), roundings)


def _compare_arrays(
    what: str, found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], roundings: float
) -> None:
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        raise DiffersError(
            f"{what} has type {found.dtype} and shape {found.shape}, "
            f"not {expected.dtype} and {expected.shape}"
        )
    wrong = ~_close(found, expected, roundings)
    if wrong.any():
        first = tuple(int(k) for k in np.argwhere(wrong)[0])
        raise DiffersError(
            f"{what} at {first} is {found[first]!r}, not {expected[first]!r} "
            f"({wrong.sum()} of {wrong.size} differ)"
        )


def _close(
    found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], roundings: float
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return where values agree: NaN with NaN, infinities and integers exactly."""
    if expected.dtype.kind == "c":
        real = _close(found.real, expected.real, roundings)
        return real & _close(found.imag, expected.imag, roundings)
    same = np.asarray(found == expected)
    if expected.dtype.kind != "f":
        return same
    finite = np.isfinite(expected)
    scale = max(1.0, float(np.abs(expected[finite]).max(initial=0.0)))
    allowed = roundings * float(np.finfo(expected.dtype).eps) * scale
    with np.errstate(all="ignore"):
        near = np.abs(found.astype(np.float64) - expected.astype(np.float64)) <= allowed
    return np.asarray(same | (np.isnan(found) & np.isnan(expected)) | (finite & near))


def _shared(after: Outcome) -> list[tuple[int, int]]:
    """Return which parts of a result share memory with which arguments."""
    parts = after.result if isinstance(after.result, tuple | list) else (after.result,)
    return [
        (part, argument)
        for part, one in enumerate(parts)
        for argument, other in enumerate(after.arguments)
        if isinstance(one, np.ndarray)
        and isinstance(other, np.ndarray)
        and np.shares_memory(one, other)
    ]
