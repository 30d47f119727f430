"""Times of launches on OpenCL's devices: profiling queues, on the clock of the host."""

from __future__ import annotations

import time
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from polygen.runtime.backends.opencl.opencl_driver import Queue, pyopencl
from polygen.runtime.calls.call_recording import Clock, Times


class TimedQueue:
    """A queue whose events have times, for what goes to another queue.

    It is that queue itself, if that has the property; else one beside it, so that what goes there
    comes after what the user's queue has, and before what it gets next.

    Attributes:
        queue: where to enqueue.
    """

    def __init__(self, queue: Queue) -> None:
        """Find the queue for one of a user's."""
        wanted = pyopencl().command_queue_properties.PROFILING_ENABLE
        self._users = queue
        self.queue = queue
        if not queue.properties & wanted:
            self.queue = pyopencl().CommandQueue(queue.context, queue.device, wanted)

    def enter(self, wait: list[Any]) -> list[Any]:
        """Return what the first launch has to wait for, given what the call waits for."""
        if self.queue is self._users:
            return wait
        before = pyopencl().enqueue_marker(self._users)
        self._users.flush()  # a queue waits for ever for another's that is not sent off
        return [*wait, before]

    def leave(self, event: Any) -> Any:
        """Return the event of the call, given that of the last launch."""
        if self.queue is self._users:
            return event
        self.queue.flush()
        return pyopencl().enqueue_barrier(self._users, wait_for=[event])


# By the address of the user's queue, which is there as long as such an object is.
_KNOWN: WeakValueDictionary[int, TimedQueue] = WeakValueDictionary()


def timed_queue(queue: Queue) -> TimedQueue:
    """Return the queue with times for one of a user's."""
    found = _KNOWN.get(queue.int_ptr)
    if found is None:
        found = _KNOWN[queue.int_ptr] = TimedQueue(queue)
    return found


class Clocks:
    """The clocks of a call's launches: where these stand to each other is what the device says."""

    def __init__(self) -> None:
        """Prepare for launches."""
        self._first: tuple[Any, float] | None = None  # when it was enqueued, on the host's clock

    def of(self, event: Any) -> Clock:
        """Return the clock of a launch that was just enqueued."""
        if self._first is None:
            self._first = event, time.perf_counter()
        return partial(_times, event, *self._first)


def _times(event: Any, first: Any, enqueued: float) -> Times:
    event.wait()
    times = event.profile
    begin = enqueued + (times.start - first.profile.queued) / 1e9
    return begin, begin + (times.end - times.start) / 1e9
