"""Runs calls together, or one after the other where they do not fit into one program."""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from typing import Any

from polygen.errors import OverlappingArguments, PolygenError
from polygen.lazy.failed_calls import failed, with_calls
from polygen.lazy.plan import Layout, Plan, layout_of, plan_of
from polygen.lazy.report import ACCOUNT, Together, described
from polygen.lazy.shared_arrays import SharedArrays, shared_arrays
from polygen.lazy.trace import Call, Trace
from polygen.python.annotations import UNREAD, unread_array
from polygen.python.program import KernelRegion, Step

_PLANS: dict[Any, Plan] = {}
_MOST_PLANS = 512
_OVERLAP = "arguments share memory, and are no parts of one array by slices with positive steps"


def run_calls(calls: Sequence[Call]) -> None:
    """Run calls, as if one after the other.

    Parameters:
        calls: the calls, in order.
    """
    for group in _by_target(calls):
        if group[0].lacks is not None:
            group[0].is_over, group[0].failure = True, group[0].lacks
            raise group[0].failure
        if group[0].alone is not None:
            _run_alone(group[0])
        else:
            _run_group(group)


TRACE = Trace(run_calls)
atexit.register(TRACE.flush)  # with POLYGEN_LAZY, no block ends before the program does


def _by_target(calls: Sequence[Call]) -> list[list[Call]]:
    found: list[list[Call]] = []
    target: str | None = None
    for call in calls:
        own = None if call.alone is not None or call.lacks is not None else call.target
        if own is None or own != target:
            found.append([])
        found[-1].append(call)
        target = own
    return found


def _run_group(calls: Sequence[Call], why_not_more: str = "") -> None:
    """Run calls as one program, as far as one kernel has them."""
    layout = layout_of(calls)
    alive = [one() is not None for call in calls for one in call.results]
    try:
        shared = shared_arrays(layout.values)
    except OverlappingArguments as error:
        if len(calls) == 1:
            calls[0].is_over, calls[0].failure = True, with_calls(error, calls)
            raise calls[0].failure from None
        half = len(calls) // 2
        _run_group(calls[:half], _OVERLAP)
        _run_group(calls[half:], why_not_more)
        return
    values = layout.values if shared is None else shared.values(layout.values)
    values = [*values, unread_array, *[call.function for call in calls]]
    shapes = None if shared is None else shared.shapes
    key = (calls[0].target, *layout.key, *layout.unread, *alive, shapes)
    plan = _PLANS.get(key)
    if plan is None:
        plan, count = _planned(calls, layout, shared, values)
        if count < len(calls):
            why = _why_not(plan, calls[count])
            _run_group(calls[:count], why)
            _run_group(calls[count:])
            return
        _keep(key, plan)
        plan.account.names, plan.account.why_not_more = described(calls), why_not_more
        plan.account.programs.append(plan.program)
        ACCOUNT.groups.append(plan.account)
    for call in calls:
        call.is_over = True  # whatever comes of it
    plan.account.count += 1
    try:
        numbers = plan.run(values)
    except Exception as error:
        raise failed(error, calls, plan, layout) from None
    for (at, number), value in zip(plan.returned, numbers, strict=True):
        future = calls[at].results[number]()
        if future is not None:
            future.settle(value)


def _run_alone(call: Call) -> None:
    """Run a call that has no statements."""
    assert call.alone is not None
    call.is_over = True
    ACCOUNT.groups.append(Together(described([call]), count=1))
    try:
        value = call.alone()
    except Exception as error:
        call.failure = with_calls(error, [call])
        raise call.failure from None
    for one in call.results:
        future = one()
        if future is not None:
            future.settle(value)


def _why_not(plan: Plan, behind: Call) -> str:
    """Return why a call and those behind it are not in the program of those before."""
    name = described([behind])[0]
    for several in plan.program.steps.values():
        for step in several:
            if not isinstance(step, KernelRegion) and step.why:
                return f"{name}: {step.why}"
    return f"{name}: it is refused"


def _planned(
    calls: Sequence[Call], layout: Layout, shared: SharedArrays | None, values: Sequence[Any]
) -> tuple[Plan, int]:
    """Return a plan, and how many of the first calls it fits: all of them, if nothing hinders."""
    if len(calls) == 1:
        layout.unread.clear()
        return plan_of(calls, layout, shared), 1
    while True:
        plan = plan_of(calls, layout, shared)
        try:
            (step, *_) = plan.program.prepared(dict(zip(plan.parameters, values, strict=True)))
        except PolygenError:  # one of them: by itself, it says which
            return plan, 1
        read = _that_may_be_read(step, layout)
        if not read:
            return plan, _fitting(plan, step, len(calls))
        layout.unread[:] = [one for one in layout.unread if one not in read]


def _fitting(plan: Plan, step: Step, count: int) -> int:
    """Return how many of the first calls are in the first kernel of a plan, at least one."""
    if isinstance(step, KernelRegion) and step.end == len(plan.program.body):
        return count
    before = len(plan.program.body) - count - bool(plan.returned)
    return max(1, min(step.end - before, count - 1))


def _that_may_be_read(step: Step, layout: Layout) -> list[Any]:
    """Return the arrays that may be read before they are written: they stay the caller's."""
    if not isinstance(step, KernelRegion):
        return []
    storages = [s for n, s in step.traced.nodes.storages.items() if n.startswith(UNREAD)]
    pairs = zip(storages, layout.unread, strict=False)
    return [one for storage, one in pairs if storage.role == "made"]


def _keep(key: Any, plan: Plan) -> None:
    if key not in _PLANS:
        if len(_PLANS) >= _MOST_PLANS:
            _PLANS.pop(next(iter(_PLANS)))
        _PLANS[key] = plan
