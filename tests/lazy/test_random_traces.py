"""Random traces give what the same calls give one after the other, in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from polygen.lazy import fused_calls
from polygen.lazy.plan import Plan, plan_of
from polygen.python.source_functions import SourceFunction
from tests.lazy.random_traces import eager, traced


def _check(seed: int, count: int) -> None:
    expected, found = eager(seed, count), traced(seed, count)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, err_msg=f"seed {seed}")


def test_compiled() -> None:
    """What is fused is one kernel, compiled."""
    for seed in range(12):
        _check(seed, 2 + seed)


def test_as_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which calls run, in which order, and what they are passed: plans run as Python."""

    def run(plan: Plan, values: Sequence[Any]) -> Any:
        return SourceFunction(plan.program.source)(*values) or ()

    def planned(calls: Any, layout: Any, shared: Any, _values: Any) -> tuple[Plan, int]:
        layout.unread.clear()
        return plan_of(calls, layout, shared), len(calls)

    monkeypatch.setattr(Plan, "run", run)
    monkeypatch.setattr(fused_calls, "_planned", planned)
    monkeypatch.setattr(fused_calls, "_PLANS", {})
    for seed in range(2000):
        _check(seed, 2 + seed % 39)


@pytest.mark.more
@pytest.mark.parametrize("first", range(1000, 1100, 20))
def test_more_compiled(first: int) -> None:
    for seed in range(first, first + 20):
        _check(seed, 2 + seed % 39)
