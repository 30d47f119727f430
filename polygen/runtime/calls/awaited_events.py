"""The events that a call waits for: PyOpenCL's, CuPy's, PyTorch's and polygen's."""

from __future__ import annotations

import sys
from typing import Any

from polygen.errors import WrongArgumentType
from polygen.forks import FORKED
from polygen.runtime.calls.device_errors import raise_forked
from polygen.source import caller_location


class Finished:
    """The event of a call that was over when it returned."""

    def wait(self) -> None:
        """Return at once."""


FINISHED = Finished()


def checked_events(wait_for: Any) -> list[Any]:
    """Return the events that a call was given.

    Raises:
        WrongArgumentType: if these are none.
    """
    try:
        events: list[Any] = list(wait_for)
    except TypeError:
        raise _no_events(f"takes a sequence of events; it was given {wait_for!r}") from None
    for event in events:
        if not hasattr(event, "wait") and not hasattr(event, "synchronize"):
            raise _no_events(f"takes events; among them is {event!r}")
    return events


def _no_events(what: str) -> WrongArgumentType:
    return WrongArgumentType(
        f"wait_for=... {what}",
        where=caller_location(),
        remedy="pass wait_for=[event], with events that calls returned, or a library's",
    )


def wait_here(event: Any) -> None:
    """Wait until an event is over.

    Raises:
        NoDevice: if it is OpenCL's, and its driver that of a process that was forked.
    """
    if FORKED and isinstance(event, _opencl_events()):
        raise_forked()
    # What PyTorch calls waiting is what a stream does.
    event.synchronize() if hasattr(event, "synchronize") else event.wait()


def enqueued_events(events: Any) -> list[Any]:
    """Return those of some events that a queue of OpenCL can wait for; wait for the others."""
    known = _opencl_events()
    for event in events:
        if not isinstance(event, known):
            wait_here(event)
    return [event for event in events if isinstance(event, known)]


def _opencl_events() -> Any:
    """Return the class of pyopencl's events, or a tuple without classes if it is not loaded."""
    return getattr(sys.modules.get("pyopencl"), "Event", ())
