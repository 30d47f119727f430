"""Times of launches on CUDA's devices: events, on the clock of the host."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from polygen.runtime.backends.cuda.cuda_driver import driver
from polygen.runtime.calls.call_recording import Clock, Times

_RENEWED = 60.0  # seconds: CUDA counts the time between events in 24 bits


class Stamp:
    """A place in what is started on a stream, with the time at which the device got there."""

    def __init__(self, stream: int) -> None:
        """Put it behind what was started on a stream."""
        self._driver = driver()
        self._event = self._driver.new_timer()
        self._driver.put_event(self._event, stream)

    def since(self, earlier: Stamp) -> float:
        """Return how many seconds after another it was; wait for it."""
        return self._driver.seconds_between(earlier._event, self._event)

    def __del__(self) -> None:
        if hasattr(self, "_event"):
            self._driver.drop_event(self._event)


_ORIGINS: dict[int, tuple[Stamp, float]] = {}


def _origin(stream: int) -> tuple[Stamp, float]:
    """Return a stamp of the current device of which the time on the host's clock is known."""
    device = driver().device()
    found = _ORIGINS.get(device)
    if found is None or time.perf_counter() - found[1] > _RENEWED:
        stamp = Stamp(stream)
        driver().wait(stream)
        found = _ORIGINS[device] = stamp, time.perf_counter()
    return found


class Stopwatch:
    """Finds when launches on a stream run.

    The stream waits until an event, the launch and another event are all there: else, the time
    that the host takes to start it would count.  Some two microseconds of the device's own do.
    """

    def __init__(self, stream: int) -> None:
        """Prepare for launches on a stream."""
        self._stream, self._driver = stream, driver()
        self._origin, self._at = _origin(stream)

    def timed(self, launch: Callable[[], None]) -> Clock:
        """Start a launch, and return its clock."""
        go_on = self._driver.hold(self._stream)
        try:
            begin = Stamp(self._stream)
            launch()
            return partial(self._times, begin, Stamp(self._stream))
        finally:
            go_on()

    def passed(self, start: Callable[[], None]) -> Clock:
        """Start something while the stream does not wait, and return its clock."""
        begin = Stamp(self._stream)
        start()
        return partial(self._times, begin, Stamp(self._stream))

    def _times(self, begin: Stamp, end: Stamp) -> Times:
        taken = end.since(begin)
        began = self._at + begin.since(self._origin)
        return began, began + taken
