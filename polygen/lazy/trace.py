"""Calls that were made and did not run: what is needed runs when somebody looks.

A call is executed before whoever needs what it writes, and before whoever overwrites what it reads
or writes: each value is the one of the order in which the calls were made.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from polygen.ir.traced_calls import WAITING
from polygen.lazy.futures import Future
from polygen.lazy.memory import Interval, interval, meet
from polygen.python.source_functions import SourceFunction
from polygen.source import SourceLocation

Run = Callable[[Sequence["Call"]], None]
NO_CALLS: frozenset[Call] = frozenset()


class Explain(Protocol):
    """Returns an error in the words of whoever made a call."""

    def __call__(
        self, error: Exception, arguments: Sequence[Any], *, are_unchanged: bool
    ) -> Exception:
        """Return the error.

        Parameters:
            error: what was raised.
            arguments: those of the call.
            are_unchanged: whether no call behind it may have written them.
        """
        ...


@dataclass(eq=False, slots=True)
class Call:
    """A call that was made.

    Attributes:
        trace: what it waits in.
        function: its statements.
        target: where it runs.
        arguments: the values of the function's parameters: arrays, numbers, futures.
        reads, writes: the memory that it touches.
        where: the line that made it.
        results: the numbers that it computes, which may be gone already.
        needs: the calls whose numbers it is passed.
        is_strict: whether all of it has to be in kernels.
        returned: the memory of arrays that it may return.
        explain: returns an error in the words of whoever made the call.
        alone: what runs it by itself, of a call that has no statements; None of any other.
        is_over: whether it ran, or failed.
        failure: the error, if it failed or ran together with one that did.
        mark: its function and the identities of its arguments.
    """

    trace: Trace
    function: SourceFunction | None
    target: str
    arguments: Sequence[Any]
    reads: Sequence[Interval]
    writes: Sequence[Interval]
    where: SourceLocation
    results: tuple[weakref.ref[Future], ...] = ()
    needs: frozenset[Call] = NO_CALLS
    is_strict: bool = True
    returned: Sequence[Interval] = ()
    explain: Explain | None = None
    alone: Callable[[], object] | None = None
    is_over: bool = False
    failure: Exception | None = None
    mark: tuple[Any, ...] = ()

    def compute(self) -> None:
        """Run it, with what it needs.

        Raises:
            Exception: what it raised before, if it failed.
        """
        self.trace.flush_call(self)
        if self.failure is not None:
            raise self.failure

    @property
    def lacks(self) -> Exception | None:
        """The error of a call whose number it needs; None if there was none."""
        return next((one.failure for one in self.needs if one.failure is not None), None)

    def waits_for(self, earlier: Call) -> bool:
        """Tell whether an earlier call has to be executed first."""
        if earlier in self.needs:
            return True
        touched = [*self.reads, *self.writes]
        return _meet(earlier.writes, touched) or _meet(earlier.reads, self.writes)


def _meet(some: Iterable[Interval], others: Sequence[Interval]) -> bool:
    return any(meet(one, other) for one in some for other in others)


_MOST = 100  # calls that wait: what a longer program would save, making it takes


@dataclass
class Trace:
    """The calls that wait, in the order in which they were made.

    Attributes:
        run: runs calls, together if it can.
        waiting: the calls.
        lock: whoever runs calls has it.
        runner: the thread that runs calls, 0 for none.
    """

    run: Run
    waiting: list[Call] = field(default_factory=lambda: WAITING)
    lock: Any = field(default_factory=threading.RLock)
    runner: int = 0

    def record(self, call: Call, count: int) -> tuple[Future, ...]:
        """Let a call wait, and return the numbers that it will compute.

        Parameters:
            call: the call.
            count: how many numbers it computes.
        """
        found: tuple[Future, ...] = ()
        if count:
            found = tuple([Future(call) for _ in range(count)])
            call.results = tuple([weakref.ref(one) for one in found])
        call.mark = (call.function, *map(id, call.arguments))
        self.waiting.append(call)
        if len(self.waiting) >= _MOST and not self.runner:
            self.flush()
        return found

    # --- who looks

    def flush(self) -> None:
        """Run all calls that wait."""
        with self.lock:
            self._run(list(self.waiting))

    def flush_call(self, call: Call) -> None:
        """Run a call, with what it needs."""
        with self.lock:
            self._run(self._needed([call]))

    def before_read(self, array: Any) -> None:
        """Run the calls that write elements of an array, with what these need."""
        if self._may_touch():
            place = interval(array)
            with self.lock:
                self._run(
                    self._needed([c for c in self.waiting if any(meet(w, place) for w in c.writes)])
                )

    def before_write(self, array: Any) -> None:
        """Run the calls that read or write elements of an array, with what these need."""
        if self._may_touch():
            place = interval(array)
            with self.lock:
                touching = [
                    c
                    for c in self.waiting
                    if any(meet(one, place) for one in (*c.reads, *c.writes))
                ]
                self._run(self._needed(touching))

    def _may_touch(self) -> bool:
        """Tell whether calls wait or run that whoever looks now comes after.

        A call that runs now looks at its own arguments: what it needs ran before it.
        """
        runner = self.runner
        return bool(self.waiting or runner) and runner != threading.get_ident()

    def _needed(self, wanted: Sequence[Call]) -> list[Call]:
        """Return calls with all that they wait for, in the order in which they were made."""
        found = {id(call) for call in wanted if not call.is_over}
        chosen: list[Call] = []
        for call in reversed(self.waiting):
            if id(call) in found or any(later.waits_for(call) for later in chosen):
                chosen.append(call)
        return chosen[::-1]

    def _run(self, calls: Sequence[Call]) -> None:
        if not calls:
            return
        before, self.runner = self.runner, threading.get_ident()
        self._take(calls)
        try:
            self.run(calls)
        except Exception as error:
            if not any(call.is_over for call in calls):  # they would fail for ever
                calls[0].is_over, calls[0].failure = True, error
            raise
        finally:
            self.runner = before
            for call in calls:
                if call.is_over:
                    call.arguments, call.needs = (), NO_CALLS  # whose arrays it would keep
            self.waiting[:0] = [call for call in calls if not call.is_over]

    def _take(self, calls: Sequence[Call]) -> None:
        """Take calls off those that wait; other threads may add some meanwhile."""
        if len(calls) == len(self.waiting) and calls[-1] is self.waiting[-1]:
            del self.waiting[: len(calls)]
            return
        for call in calls:
            self.waiting.remove(call)
