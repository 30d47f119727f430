"""Records a call instead of running it."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from polygen.ir.traced_calls import TRACING
from polygen.lazy.effects import effects_of
from polygen.lazy.fused_calls import TRACE
from polygen.lazy.futures import Future
from polygen.lazy.memory import Interval, interval
from polygen.lazy.trace import Call, Explain
from polygen.python.array_libraries import library_of
from polygen.python.source_functions import SourceFunction
from polygen.source import SourceLocation

_EFFECTS: dict[Any, tuple[frozenset[str], frozenset[str]]] = {}
_OURS = ("polygen", "contextlib")


def record(
    function: SourceFunction,
    target: str,
    arguments: Sequence[Any],
    *,
    results: int,
    held: Sequence[Any] = (),
    is_strict: bool = True,
    returns_arrays: bool = False,
    explain: Explain | None = None,
) -> tuple[Future, ...]:
    """Let a call wait, and return the numbers that it will compute.

    Parameters:
        function: its statements.
        target: where it runs.
        arguments: the values of the function's parameters.
        results: how many numbers it computes.
        held: arrays that it may touch in other ways: those of an object that it is passed.
        is_strict: whether all of it has to be in kernels.
        explain: returns an error in the words of whoever made the call.
        returns_arrays: whether its results may be arrays, those that it is passed among them.
    """
    arrays = {
        name: value
        for name, value in zip(function.parameters, arguments, strict=True)
        if library_of(value) is not None
    }
    places = {name: [interval(one)] for name, one in arrays.items()}
    ranks = {name: one.ndim for name, one in arrays.items()}
    needs: set[Call] = set()
    for name, value in zip(function.parameters, arguments, strict=True):
        if isinstance(value, Future):
            calls = value.calls()
            needs |= calls
            if returned := [place for one in calls for place in one.returned]:
                places[name], ranks[name] = returned, _ANY_RANK
    read, written = effects_by_name(function, ranks)
    both = [interval(one) for one in held]
    call = Call(
        TRACE,
        function,
        target,
        tuple(arguments),
        (*_of(places, read), *both),
        (*_of(places, written), *both),
        line_of_call(),
        needs=frozenset(needs),
        is_strict=is_strict,
        explain=explain,
    )
    if returns_arrays:
        call.returned = [_new_place(), *[place for one in places.values() for place in one], *both]
    return TRACE.record(call, results)


_NUMBER = itertools.count(1)
_ANY_RANK = 99  # of an array that is not known yet: each part of it may be one


def _new_place() -> Interval:
    """Return addresses that no array has, for one that does not exist yet."""
    number = next(_NUMBER)
    return (-number, 1 - number)


def _of(places: Mapping[str, Sequence[Interval]], names: frozenset[str]) -> list[Interval]:
    return [place for name, several in places.items() if name in names for place in several]


def effects_by_name(
    function: SourceFunction, ranks: Mapping[str, int]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the arrays whose elements a function may read, and those that it may write.

    Parameters:
        function: the function.
        ranks: the numbers of subscripts of its arrays, by parameter.
    """
    key = (function, *ranks.items())
    if key not in _EFFECTS:
        _EFFECTS[key] = effects_of(function.source.tree.body, ranks)
    return _EFFECTS[key]


def line_of_call() -> SourceLocation:
    """Return the line of the user's that made a call."""
    frame = inspect.currentframe()
    assert frame is not None
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_OURS):
        frame = frame.f_back
    return SourceLocation(frame.f_code.co_filename, frame.f_lineno)


@contextmanager
def lazy() -> Generator[None]:
    """Let calls in this block wait until somebody needs what they compute.

    Calls of work units return at once.  What they compute is run when it is read, together with
    what that needs; what is left runs at the end of the block.

    >>> import polygen.workunits as pk
    >>> with pk.lazy():
    ...     pass
    """
    before = TRACING.set(True)
    try:
        yield
    finally:
        TRACING.reset(before)
        TRACE.flush()
