"""Profiles as traces that browsers open."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from polygen.runtime.calls.call_recording import RecordedCall

_HOST, _DEVICES = 1, 2  # processes of the trace


def trace_of(calls: Sequence[RecordedCall]) -> str:
    """Return when calls were made, and launches ran, in microseconds since the first call.

    Source: Google's Trace Event Format, with complete events.
    """
    start = min((call.begin for call in calls), default=0.0)
    threads: dict[int, int] = {}
    devices: dict[str, int] = {}
    events = [event for call in calls for event in _events(call, start, threads, devices)]
    names = [
        _name("process_name", _HOST, 0, "calls"),
        _name("process_name", _DEVICES, 0, "launches"),
        *(_name("thread_name", _HOST, k, f"thread {k}") for k in threads.values()),
        *(_name("thread_name", _DEVICES, k, name) for name, k in devices.items()),
    ]
    return json.dumps({"displayTimeUnit": "ns", "traceEvents": [*names, *events]})


def _events(
    call: RecordedCall, start: float, threads: dict[int, int], devices: dict[str, int]
) -> Iterator[dict[str, Any]]:
    called = call.called
    thread = threads.setdefault(call.thread, len(threads))
    given = dict(called.sizes)
    yield _event(called.kernel.name, _HOST, thread, (call.begin - start, call.end - start), given)
    device = devices.setdefault(_device_name(called.device), len(devices))
    for name, times in call.launches():
        if times is not None:
            yield _event(name, _DEVICES, device, (times[0] - start, times[1] - start), given)


def _device_name(device: Any) -> str:
    return device if isinstance(device, str) else str(device.device.name)


def _event(
    name: str, process: int, thread: int, times: tuple[float, float], sizes: dict[str, int]
) -> dict[str, Any]:
    begin, end = (1e6 * seconds for seconds in times)
    where = {"pid": process, "tid": thread}
    return {"name": name, "ph": "X", "ts": begin, "dur": end - begin, **where, "args": sizes}


def _name(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}
