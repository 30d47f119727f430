"""Cases shared by processes: prepared side by side, measured one at a time."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import get_context
from typing import Any

Prepare = Callable[[Any, Callable[[str], None]], Mapping[str, Any]]
"""Makes what runs a case, by library; tells what cannot be done."""


def _work(
    part: Sequence[Any],
    prepare: Prepare,
    measure: Callable[..., Any],
    ready: Any,
    turn: Any,
    told: Any,
) -> None:
    able = [_able(case, prepare, told) for case in part]
    ready.wait()
    for case, calls in zip(part, able, strict=True):
        with turn:
            told.put((case.key, measure(case, calls)))


def _able(case: Any, prepare: Prepare, told: Any) -> Mapping[str, Any]:
    """Return what runs a case; nothing, where an error is told."""
    try:
        return prepare(case, lambda text: told.put((case.key, text)))
    except Exception:  # of any library's: the others are measured nevertheless
        told.put((case.key, traceback.format_exc()))
        return {}


def in_turns(
    chosen: Sequence[Any], prepare: Prepare, measure: Callable[..., Any], processes: int
) -> dict[str, Any]:
    """Return what was measured of each case, and print what could not be done.

    Parameters:
        chosen: the cases; each has a `key`.
        prepare: called in all processes at once.
        measure: called with a case and what `prepare` returned, in one process at a time; it
            returns no text.
        processes: how many there are.
    """
    context = get_context("spawn")
    turn, told = context.Lock(), context.Queue()
    count = min(processes, len(chosen))
    ready = context.Barrier(count)
    for part in (chosen[k::count] for k in range(count)):
        given = (part, prepare, measure, ready, turn, told)
        context.Process(target=_work, args=given, daemon=True).start()
    found: dict[str, Any] = {}
    while len(found) < len(chosen):
        name, what = told.get()
        if isinstance(what, str):
            print(f"{name}: {what}", flush=True)
        else:
            found[name] = what
    return found
