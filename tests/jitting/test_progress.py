"""Loops that show how far they are: results are those of the whole loop."""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.jitting import jit as jitting
from polygen.jitting import step_bars
from polygen.python import watched_loops

Array = np.ndarray[Any, Any]


def smoothed(steps: int, x: Array, y: Array) -> tuple[float, int]:
    total, last = 0.0, -1
    for t in range(1, steps):
        y[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3
        x[1:-1] = y[1:-1]
        total += x[2] * t
        last = t
    return total, last


def downwards(n: int, x: Array) -> Array:
    for i in range(n - 1, 0, -2):
        x[i] += x[i - 1]
    x[0] = 7.0
    for i in range(n):
        x[i] = 2 * x[i]
    return x + 1


def in_python(n: int, x: Array) -> list[str]:
    found: list[str] = []
    for i in range(n):
        found.append(f"{x[i]:.0f}")
    return found


def left_early(n: int, x: Array) -> int:
    count = 0
    for i in range(n):
        if x[i] > 3:
            break
        count += 1
    for i in range(n):
        for k in range(n):
            if k > i:
                break
            count += 1
    return count


class Bars:
    """What was shown: titles, numbers of steps, and how many were told to be done."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, int, list[int]]] = []

    @contextmanager
    def watch(self, title: str, steps: int) -> Generator[Callable[[int], None]]:
        told: list[int] = []
        self.shown.append((title, steps, told))
        yield told.append


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> Bars:
    found = Bars()
    monkeypatch.setattr(jitting, "can_show", lambda: True)
    monkeypatch.setattr(jitting, "step_bar", found.watch)
    return found


def _same(function: Callable[..., Any], *arguments: Any) -> None:
    plain, own = copy.deepcopy(arguments), copy.deepcopy(arguments)
    wanted, got = function(*plain), pg.jit(function, progress=True)(*own)
    assert isinstance(wanted, list) == isinstance(got, list)
    for one, other in zip((wanted, *plain), (got, *own), strict=True):
        if isinstance(one, list):
            assert one == other
        else:
            np.testing.assert_allclose(other, one, rtol=1e-12)


def test_parts_give_what_the_loop_gives(bars: Bars, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched_loops, "_LONG", 1e9)
    x = np.random.default_rng(0).random(20)
    _same(smoothed, 30, x, 0 * x)
    ((title, steps, told),) = bars.shown
    assert (title, steps) == ("for t in range(1, steps)", 29)
    assert told[:3] == [1, 3, 7]
    assert told[-1] == 29
    _same(downwards, 20, x)
    assert [(steps, told[-1]) for _, steps, told in bars.shown[1:]] == [(10, 10), (20, 20)]


def test_long_parts_become_no_longer(bars: Bars, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched_loops, "_LONG", 0.0)
    _same(smoothed, 6, np.arange(5.0), np.zeros(5))
    assert bars.shown[0][2] == [1, 2, 3, 4, 5]


def test_loops_of_nothing_and_loops_in_python(bars: Bars) -> None:
    for steps in (0, 1, 2):
        _same(smoothed, steps, np.arange(5.0), np.zeros(5))
    assert [steps for _, steps, _ in bars.shown] == [0, 0, 1]
    _same(in_python, 4, np.arange(4.0))
    assert bars.shown[-1][2][-1] == 4


def test_loops_that_are_left_run_whole(bars: Bars) -> None:
    _same(left_early, 6, np.arange(6.0))
    assert [title for title, _, _ in bars.shown] == ["for i in range(n)"]  # the second one


def test_loops_over_another_range_run_whole(bars: Bars) -> None:
    text = "def f(x, range):\n    for i in range(3):\n        x[i] += i\n"
    scope: dict[str, Any] = {}
    exec(text, scope)  # noqa: S102
    x = np.zeros(5)
    longer: Callable[[int], range] = lambda n: range(n + 1)  # noqa: E731
    pg.jit(scope["f"], source=text, progress=True)(x, longer)
    np.testing.assert_array_equal(x, [0, 1, 2, 3, 0])
    assert bars.shown == []


def test_where_nothing_is_shown_nothing_is_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    assert not step_bars.can_show()
    compiled = pg.jit(smoothed, progress=True)
    x = np.arange(5.0)
    compiled(4, x, 0 * x)
    assert compiled.explain().count("kernel 'smoothed'") == 1
    assert "for t" not in compiled.explain()


class Event:
    def __init__(self) -> None:
        self.waited = 0

    def wait(self) -> None:
        self.waited += 1


def test_steps_are_told_when_kernels_are_over(bars: Bars) -> None:
    waiting, event = step_bars.WaitingBars(bars.watch), Event()
    run = waiting.noted(lambda _: (event, ()))
    with waiting.watch("steps", 3) as tell:
        tell(1)
        assert event.waited == 0
        run({})
        run({})
        tell(2)
        tell(3)
    assert event.waited == 1  # the last one is behind all others
    assert bars.shown == [("steps", 3, [1, 2, 3])]


def test_loops_on_a_device(bars: Bars) -> None:
    x, y = np.arange(50.0), np.zeros(50)
    own = x.copy()
    found = pg.jit(smoothed, target="opencl", progress=True)(5, own, y)
    np.testing.assert_allclose(found, smoothed(5, x, 0 * x), rtol=1e-12)
    np.testing.assert_allclose(own, x, rtol=1e-12)
    assert bars.shown[0][2][-1] == 4


def test_a_bar_of_rich(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with step_bars.step_bar("for t in range(9)", 9) as tell:
        tell(4)
    assert "4/9" in re.sub("\x1b\\[[0-9;]*m", "", capsys.readouterr().err)
