"""Timers: wall-clock time, after all calls that wait."""

from __future__ import annotations

import time

from polygen.lazy.fused_calls import TRACE


class Timer:
    """A clock that begins when it is made.

    >>> import polygen.workunits as pk
    >>> timer = pk.Timer()
    >>> timer.seconds() >= 0
    True
    """

    def __init__(self) -> None:
        self._start = 0.0
        self.reset()

    def seconds(self) -> float:
        """Return the seconds since the start; calls that wait are run before."""
        TRACE.flush()
        return time.perf_counter() - self._start

    def reset(self) -> None:
        """Begin again."""
        TRACE.flush()
        self._start = time.perf_counter()
