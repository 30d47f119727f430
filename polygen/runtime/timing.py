"""Measures run times of calls, with arrays that are where the kernel runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from polygen.runtime.arrays.outputs import must_be_passed, written_arrays
from polygen.runtime.backends.backend_table import BACKENDS, libraries_of
from polygen.runtime.backends.opencl.image_arguments import image_names
from polygen.runtime.calls.arguments import form_of
from polygen.runtime.executor import Executor

_BATCH = 0.01  # seconds: calls are timed together until they take as long
_ENOUGH = 0.5  # seconds after which no further batch is begun
_MOST_BATCHES = 7
_MOST_CALLS = 1000  # in a batch


@dataclass(frozen=True)
class Resident:
    """A call whose arrays are where the kernel runs.

    Attributes:
        run: runs the kernel, and returns its event.
        copy_back: copies what is there into the arrays that were given.
    """

    run: Callable[[], Any]
    copy_back: Callable[[], None]


def resident(executor: Executor, args: Mapping[str, Any]) -> Resident:
    """Copy the arrays of a call, NumPy's, to where the kernel runs.

    In C that is where they are, and images are copied by each call.
    """
    kernel, target, queue = executor.kernel, executor.target, executor.default_queue()

    def started(placed: Mapping[str, Any]) -> Callable[[], Any]:
        return lambda: executor.run(queue, None, placed)[0]

    backend = BACKENDS[target]
    if not backend.has_memory or image_names(kernel):
        return Resident(started(args), lambda: None)
    classes: dict[str, type] = {name: type(value) for name, value in args.items()}
    staged = backend.stage(queue, form_of(kernel, target, classes, libraries_of(args)), args)

    def copy_back() -> None:
        for name in staged.keys() & set(written_arrays(kernel)):
            staged[name].copy_back()

    arrays: dict[str, Any] = {name: copy.array for name, copy in staged.items()}
    return Resident(started({**args, **arrays}), copy_back)


def seconds_of(
    executor: Executor, new_args: Callable[[], Mapping[str, Any]], enough: float = _ENOUGH
) -> float:
    """Return how long a call takes at least, in seconds.

    Calls follow each other, and the last is waited for.  Where a kernel reads what it writes, each
    call is timed alone, and gets new arguments.

    Parameters:
        executor: what is called.
        new_args: makes arguments, the same numbers each time.
        enough: seconds after which no further batch is begun.
    """
    kernel = executor.kernel
    drifts = any(must_be_passed(kernel, name) for name in written_arrays(kernel))
    call = resident(executor, new_args())
    _time(call, 1)  # compiles
    least, count, begin = float("inf"), 1, time.perf_counter()
    for _ in range(_MOST_BATCHES):
        call = resident(executor, new_args()) if drifts else call
        least = min(least, _time(call, count))
        if not drifts:
            count = min(max(int(_BATCH / least), 1), _MOST_CALLS)
        if time.perf_counter() - begin > enough:
            break
    return least


def _time(call: Resident, count: int) -> float:
    """Return how long one of so many calls takes."""
    start = time.perf_counter()
    event = None
    for _ in range(count):
        event = call.run()
    assert event is not None
    event.wait()
    return (time.perf_counter() - start) / count
