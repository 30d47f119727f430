"""`polygen.profile`: what is launched within a block, how long it takes, what it moves and does."""

from __future__ import annotations

import threading
from collections import deque
from pathlib import Path
from types import TracebackType
from typing import Self

from polygen.inspection.devices.limits import Limits
from polygen.inspection.devices.profile_table import ProfileTable, table_of
from polygen.inspection.devices.profile_trace import trace_of
from polygen.ir.public import public, public_class
from polygen.runtime.calls.call_recording import RecordedCall, leave, listen

_MOST_WAITING = 4096  # calls of which the times are not taken yet: devices keep events for each


@public_class
class Profile:
    """A record of the launches within a ``with`` block; it prints as a table.

    It is made by `polygen.profile`, and may be entered again: then it goes on.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits
        self._calls: list[RecordedCall] = []
        self._waiting: deque[RecordedCall] = deque()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        listen(self)
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        leave(self)

    def note(self, call: RecordedCall) -> None:
        """Take notice of a call: polygen's executors say it."""
        with self._lock:
            self._calls.append(call)
            self._waiting.append(call)
            first = self._waiting.popleft() if len(self._waiting) > _MOST_WAITING else None
        if first is not None:
            first.settle()

    def table(self) -> ProfileTable:
        """Return a row for each function that was launched; wait until launches are over.

        Raises:
            KernelFault: if a device failed.
        """
        return table_of(tuple(self._calls), self._limits)

    def to_csv(self, path: str | Path) -> Path:
        """Write the table with one line for each row, and return the path.

        Times are seconds, rates are per second, shares are parts of 1.  What is not known is empty.
        """
        return self.table().to_csv(path)

    def to_trace(self, path: str | Path) -> Path:
        """Write when calls were made, and launches ran, and return the path.

        It is a trace in JSON, which https://ui.perfetto.dev and ``chrome://tracing`` open.
        """
        file = Path(path)
        file.write_text(trace_of(tuple(self._calls)))
        return file

    def __str__(self) -> str:
        return str(self.table())


@public
def profile(limits: Limits | None = None) -> Profile:
    """Return what notes all launches in a ``with`` block: times, bytes, operations.

    All calls of kernels count, of every thread, on every target, through executors, too; those of
    nested blocks in the outer ones as well.  Launches on devices are timed by the devices' events,
    in C by the clock.  While a profile is open, launches are started one by one, without graphs of
    CUDA's; in a graph that the user makes they have no time.  A call that fails is left out; the
    block's own exception goes on.

    Parameters:
        limits: what to compare with.  If not given, each device's measured ones, which are found
            when the table is made: see `polygen.measure_limits`.

    >>> import numpy as np
    >>> import polygen as pg
    >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]", name="twice")
    >>> with pg.profile(pg.Limits(1e10, 1e11)) as p:
    ...     for _ in range(3):
    ...         _ = knl.executor("c")(a=np.ones(1000, np.float32))
    >>> (row,) = p.table().rows
    >>> row.name, row.launches, row.bytes, row.operations
    ('twice', 3, 24000, {'float32': 3000})
    """
    return Profile(limits)
