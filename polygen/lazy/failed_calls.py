"""Calls of which one failed: which it was, what ran before it, and what is left of the others.

What a kernel has in it runs to its end: calls behind the one that failed ran on what it left.
Where Python ran the statements, they did not run, and wait.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence
from typing import Any

from polygen.errors import NotCompiled, PolygenError
from polygen.lazy.memory import meet
from polygen.lazy.plan import CALLS, Layout, Plan
from polygen.lazy.trace import Call
from polygen.python.fault_sites import forget, raised
from polygen.source import SourceLocation, together


def failed(error: Exception, calls: Sequence[Call], plan: Plan, layout: Layout) -> Exception:
    """Return the error of calls that ran together; those that did not run wait again.

    Parameters:
        error: what was raised.
        calls: the calls.
        plan: their program.
        layout: their arguments.
    """
    counted = raised(error)
    frame = _frame_of_plan(error)
    numbers: dict[str, Any] = {}
    at = 0 if len(calls) == 1 else None
    end = len(calls)
    if counted is not None:
        at = plan.call_at(counted.site.line, len(calls))
        values = counted.results() or ()
        numbers = {f"r{k}_{n}": v for (k, n), v in zip(plan.returned, values, strict=True)}
    elif frame is not None:
        at = plan.call_at(frame.f_lineno, len(calls))
        numbers, end = frame.f_locals, (at or 0) + 1
    settle_numbers(calls[: at or 0], numbers)
    for call in calls[end:]:
        call.is_over = False
    told = _told(error, calls, at, end, layout)
    for call in calls[at or 0 : end]:
        call.failure = told
    forget(error)
    return told


def settle_numbers(calls: Sequence[Call], numbers: dict[str, Any]) -> None:
    """Set the numbers that calls have computed.

    Parameters:
        calls: the calls.
        numbers: them, by their names in the text of a plan.
    """
    for at, call in enumerate(calls):
        for k, one in enumerate(call.results):
            future = one()
            if future is not None and f"r{at}_{k}" in numbers:
                future.settle(numbers[f"r{at}_{k}"])


def _frame_of_plan(error: Exception) -> Any:
    """Return the frame in which Python runs the text of a plan; None if a kernel ran."""
    found = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return next((frame for frame in found if frame.f_code.co_filename == CALLS), None)


def _told(
    error: Exception, calls: Sequence[Call], at: int | None, end: int, layout: Layout
) -> Exception:
    """Return an error in the words of whoever made the call that failed."""
    if at is None:
        return with_calls(error, calls)
    call = calls[at]
    if isinstance(error, PolygenError) and call.function is not None:
        _, *places = layout.key[at]
        passed = zip(places, call.function.parameters, strict=True)
        names = {layout.names[place]: name for place, name in passed if isinstance(place, int)}
        _rename(error, names)
    if call.explain is not None:
        written = [place for later in calls[at:end] for place in later.writes]
        own = {*call.writes}
        others = [place for place in written if place not in own]
        are_unchanged = not any(meet(one, other) for one in call.reads for other in others)
        error = call.explain(error, call.arguments, are_unchanged=are_unchanged)
    return with_calls(error, [call])


def _rename(error: PolygenError, names: dict[str, str]) -> None:
    """Let an error speak of the parameters of a call, and not of the names in a plan."""

    def renamed(text: str) -> str:
        return re.sub(r"\b[xnv]\d+\b", lambda found: names.get(found[0], found[0]), text)

    error.what = renamed(error.what)
    if isinstance(error, NotCompiled):
        error.why = renamed(error.why)


_MOST_SHOWN = 4


def with_calls(error: Exception, calls: Sequence[Call]) -> Exception:
    """Return an error that shows the lines of calls, too.

    Parameters:
        error: the error.
        calls: those that it is about.
    """
    made = [call.where for call in calls[:_MOST_SHOWN]]
    if isinstance(error, PolygenError):
        own = list(getattr(error.where, "places", ())) or [error.where]
        error.where = together([*made, *[o for o in own if isinstance(o, SourceLocation)]])
        return error
    for where in dict.fromkeys(made):
        error.add_note("\n".join([f"  of the call at {where}", *_shown(where)]))
    return error


def _shown(where: SourceLocation) -> list[str]:
    return [f"  | {line}" for line in where.excerpt()]
