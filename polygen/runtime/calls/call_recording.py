"""Tells open profiles of calls.  Without a profile, nothing is timed or kept."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from polygen.ir.kernel import Kernel
from polygen.runtime.calls.device_errors import translated
from polygen.targets.programs.program import Program

Times: TypeAlias = tuple[float, float]  # begin and end, in seconds of `time.perf_counter`
# Waits until a launch is over, and returns its times.
Clock: TypeAlias = Callable[[], Times]

_MOST_WAITING = 4096  # launches of a call whose times are not taken yet: devices keep each


@dataclass(frozen=True, eq=False)
class Called:
    """A call as profiles see it: what calls with the same types, shapes and sizes run.

    Attributes:
        kernel: the kernel that was called.
        typed: the same with all types, without rules.
        program: its code.
        sizes: the value of each size.
        target: the name of the language.
        device: what `polygen.measure_limits` takes: ``"c"``, ``"cuda"``, or a queue of OpenCL's.
    """

    kernel: Kernel
    typed: Kernel
    program: Program
    sizes: Mapping[str, int]
    target: str
    device: Any


class Recorder(Protocol):
    """The interface of profiles: what they are told of calls."""

    def note(self, call: RecordedCall) -> None:
        """Take notice of a call that was started, with all of its launches."""
        ...


class RecordedCall:
    """A call, and when its launches ran.

    Attributes:
        called: what was called.
        thread: the thread that called, by its number.
        begin: when the call began, in seconds of `time.perf_counter`, and
        end: when everything was started.
    """

    __slots__ = ("_lock", "_names", "_times", "_waiting", "begin", "called", "end", "thread")

    def __init__(self, called: Called) -> None:
        """Begin now."""
        self.called, self.thread = called, threading.get_ident()
        self._names: list[str] = []
        self._times: list[Times | None] = []
        self._waiting: list[Clock | None] = []
        self._lock = threading.Lock()
        self.begin = self.end = time.perf_counter()

    def add(self, name: str, clock: Clock | None) -> None:
        """Add a launch; its clock is None if nothing can say when it runs."""
        self._names.append(name)
        self._waiting.append(clock)
        if len(self._waiting) >= _MOST_WAITING:
            self.settle()

    def finish(self) -> None:
        """Tell all who want to know."""
        self.end = time.perf_counter()
        for recorder in tuple(RECORDERS):
            recorder.note(self)

    def settle(self) -> None:
        """Take the times of launches, and wait until they are over.

        Raises:
            KernelFault: if the device failed.
        """
        with self._lock:
            try:
                self._times += [None if clock is None else clock() for clock in self._waiting]
            except Exception as error:
                said = translated(self.called.kernel.name, error)
                if said is None:
                    raise
                raise said from None
            self._waiting.clear()

    def launches(self) -> Iterator[tuple[str, Times | None]]:
        """Yield the name of each launch, and when it ran."""
        self.settle()
        yield from zip(self._names, self._times, strict=True)


# Those who are told; looked at by each call.
RECORDERS: list[Recorder] = []
_OPEN: list[Recorder] = []  # those who want to know
_CHANGING = threading.RLock()
_UNHEARD: list[object] = []  # blocks of which nobody is told


def listen(recorder: Recorder) -> None:
    """Tell somebody of all calls from now on."""
    with _CHANGING:
        _OPEN.append(recorder)
        _update()


def leave(recorder: Recorder) -> None:
    """Tell somebody of no more calls."""
    with _CHANGING:
        _OPEN.remove(recorder)
        _update()


@contextmanager
def unheard() -> Generator[None]:
    """Tell nobody of calls, which then run as they do if nobody wants to know."""
    block = object()
    with _CHANGING:
        _UNHEARD.append(block)
        _update()
    try:
        yield
    finally:
        with _CHANGING:
            _UNHEARD.remove(block)
            _update()


def _update() -> None:
    RECORDERS[:] = [] if _UNHEARD else dict.fromkeys(_OPEN)  # once, who is in several blocks


def recorded_on_host(called: Called, run: Callable[..., None]) -> Callable[..., None]:
    """Return a function that runs here and returns when it is over, so that it is told of."""
    (function,) = called.program.launches

    def timed(*values: Any) -> None:
        call = RecordedCall(called)
        run(*values)
        times = call.begin, time.perf_counter()
        call.add(function.name, lambda: times)
        call.finish()

    return timed
