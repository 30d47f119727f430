"""Subscripts that views do not have: the error, and the iteration in which it is.

A kernel counts that there was one.  Which one it was is found by running iterations as plain Python
on copies of the arguments: the first ones, the last ones, and some between.
"""

from __future__ import annotations

import copy
import traceback
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from polygen.errors import SubscriptOutOfBounds, UserError
from polygen.python.array_libraries import library_of
from polygen.python.fault_sites import raised
from polygen.source import SourceLocation, together
from polygen.workunits.policies import MDRangePolicy, Policy, RangePolicy
from polygen.workunits.views import View

_MOST_TRIED = 20_000
_AT_ENDS = 300
_REMEDY = "let the policy end where the view does, or put a condition around the access"
_RunOne = Callable[[Callable[..., Any], Policy, Sequence[Any]], Any]


def out_of_bounds(
    error: IndexError, function: Callable[..., Any], names: Sequence[str], index: Sequence[Any]
) -> SubscriptOutOfBounds:
    """Return the error for an iteration that ran as plain Python.

    Parameters:
        error: what NumPy raised.
        function: the function of the work unit.
        names: those of the indices.
        index: their values.
    """
    file = function.__code__.co_filename
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    shown = ", ".join([f"{n}={v}" for n, v in zip(names, index, strict=False)])
    places = [SourceLocation(file, lines[-1] or 1)] if lines else []
    return SubscriptOutOfBounds(
        f"{error}, in the iteration {shown} of '{function.__name__}'",
        where=together(places),
        remedy=_REMEDY,
    )


def first_out_of_bounds(
    function: Callable[..., Any],
    policy: Policy,
    given: Sequence[Any],
    captured: Mapping[str, Any],
    run: _RunOne,
    *,
    is_beyond: bool,
) -> SubscriptOutOfBounds | None:
    """Return the error for an iteration that goes beyond a view, if one is found.

    Parameters:
        function: the function of the work unit.
        policy: the policy.
        given: the object, if the work unit is a method, and the arguments.
        captured: values from outside of the work unit.
        run: runs a function as plain Python.
        is_beyond: whether there is such an iteration for certain.
    """
    try:
        copies = [_copied(one) for one in given]
        tried = with_captured(function, {n: _copied(v) for n, v in captured.items()})
        for part in _parts(policy, _MOST_TRIED if is_beyond else 0):
            run(tried, part, copies)
    except SubscriptOutOfBounds as found:
        return found
    except (ArithmeticError, TypeError, ValueError, UserError):
        return None  # what else is wrong with copies is not what was asked
    return None


def somewhere_out_of_bounds(
    error: IndexError, function: Callable[..., Any]
) -> SubscriptOutOfBounds:
    """Return the error for a kernel in which nobody knows where it was.

    Parameters:
        error: what the kernel raised.
        function: the function of the work unit.
    """
    counted = raised(error)
    start = SourceLocation(function.__code__.co_filename, function.__code__.co_firstlineno)
    return SubscriptOutOfBounds(
        f"{error}, in '{function.__name__}'",
        where=(counted and counted.site.where) or start,
        remedy=_REMEDY,
    )


def _parts(policy: Policy, most: int) -> Iterator[Policy]:
    """Yield policies of single iterations: the first and last ones, and then some between."""
    if not isinstance(policy, RangePolicy | MDRangePolicy):
        if policy.league_size * policy.team_size <= most:
            yield policy
        return
    extents = [max(high - low, 0) for low, high in policy.ranges]
    count = int(np.prod(extents))
    ends = [*range(min(_AT_ENDS, count)), *range(max(count - _AT_ENDS, 0), count)]
    for at in [*ends, *range(_AT_ENDS, min(count, most))]:
        point = np.unravel_index(at, extents)
        begin = [low + int(p) for (low, _), p in zip(policy.ranges, point, strict=True)]
        yield MDRangePolicy(begin, [one + 1 for one in begin])


def _copied(value: Any) -> Any:
    if library_of(value) is not None:
        return View(array=value.copy())
    return copy.deepcopy(value)


def with_captured(function: Callable[..., Any], values: Mapping[str, Any]) -> Callable[..., Any]:
    """Return a function with other values from outside."""
    if not values:
        return function
    made = types.FunctionType(
        function.__code__,
        {**function.__globals__, **values},
        function.__name__,
        function.__defaults__,
        tuple(
            [
                types.CellType(values[name]) if name in values else cell
                for name, cell in zip(
                    function.__code__.co_freevars, function.__closure__ or (), strict=True
                )
            ]
        ),
    )
    made.__annotations__ = dict(function.__annotations__)
    return made
