"""Traces that are hard give what the same calls give one after the other, in Python."""

from __future__ import annotations

import threading
import time
import weakref
from typing import Any

import numpy as np
import pytest

import polygen as pg
import polygen.workunits as pk
from polygen.ir.traced_calls import WAITING
from polygen.lazy.fused_calls import TRACE
from tests.lazy.hard_traces import CASES, added, dot, raised


def _same(found: Any, expected: Any) -> None:
    if isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            _same(one, other)
        return
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_a_trace(case: Any) -> None:
    """The second time, plans are kept."""
    with pg.debug():
        expected = case(pk.Debug)
    for _ in range(2):
        with pk.lazy():
            found = case(pk.Serial)
        _same(found, expected)


def test_numbers_do_not_keep_the_arrays_of_their_calls() -> None:
    """A number of a call that ran, and what is computed of it, has no arrays."""
    x = pk.View([4])
    with pk.lazy():
        found = pk.parallel_reduce(4, dot, x=x, y=x) + 1
        array = weakref.ref(x.traced_array)
        assert found == 1
        del x
        assert array() is None


def test_a_look_waits_for_another_thread_that_runs_the_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started, run = threading.Event(), TRACE.run

    def slow(calls: Any) -> None:
        started.set()
        time.sleep(0.1)
        run(calls)

    monkeypatch.setattr(TRACE, "run", slow)
    x, y = pk.View(array=np.arange(4.0)), pk.View([4])
    with pk.lazy():
        pk.parallel_for(4, added, x=x, y=y, s=2.0)
        thread = threading.Thread(target=TRACE.flush)
        thread.start()
        started.wait()
        assert y[3] == 6
        thread.join()


def test_a_first_call_leaves_its_numbers_alone() -> None:
    """A work unit that was never dispatched is passed a number that waits, and is kept."""
    x = pk.View([4])
    with pk.lazy():
        for count in range(1, 4):
            found = pk.parallel_reduce(4, dot, x=x, y=x)
            pk.parallel_for(4, raised, x=x, s=found + 1)
            assert len(WAITING) == 2 * count
        assert raised.repeated
        np.testing.assert_array_equal(x, np.full(4, 1 + 5 + 145.0))
