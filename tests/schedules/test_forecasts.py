"""Forecasts: what caches keep, what threads share, and what starting takes; closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.schedules.test_optimize import kernel

# Memory, arithmetic, threads; a cache of 8 MB, ten times as fast as memory.
LIMITS = pg.Limits(
    1e10,
    1e12,
    4,
    local_bytes=500_000,
    cache_bytes=8_000_000,
    cache_bytes_per_second=1e11,
    launch_seconds=1e-6,
)
REACHED = 0.8  # of peaks


def forecast(knl: Kernel, **sizes: int) -> float:
    found = pg.explain(knl, LIMITS, sizes=sizes)
    assert found.forecast is not None
    return found.forecast


def bound_by(knl: Kernel, **sizes: int) -> list[str]:
    found = pg.explain(knl, LIMITS, sizes=sizes)
    return [nest.forecast.by for nest in found.nests if nest.forecast]


def copy() -> Kernel:
    return pg.add_dtypes(kernel("{ [i]: 0<=i<n }", "b[i] = a[i]"), {"a": np.float64})


def test_what_is_larger_than_caches_comes_from_memory() -> None:
    one = 1e11 / 4  # for one of four threads
    for n, rate, by in ((10**6, 1e10, "memory"), (10**5, one, "cache")):
        assert forecast(copy(), n=n) == pytest.approx(16 * n / rate / REACHED)
        assert bound_by(copy(), n=n) == [by]


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("b[i] = a[i]", 3),  # what is only written is read before: three transfers, counted as two
        ("b[i] = b[i] + a[i]", 3),
        ("b[i] = a[i] + c[i]", 4),
        ("b[i] = 2*b[i]", 2),
    ],
)
def test_lines_that_are_written_are_read_before(text: str, moved: int) -> None:
    knl = kernel("{ [i]: 0<=i<n }", text, pg.GlobalArg("a, b, c", np.float64, shape="n"))
    seconds = moved * 8e6 / (1.5 * 1e10) / REACHED
    assert forecast(knl, n=10**6) == pytest.approx(seconds)


def sweeps() -> Kernel:
    knl = kernel(
        "{ [t,i,j]: 0<=t<T and 1<=i,j<n-1 }",
        "b[i] = a[i-1] + a[i+1]  {id=b, inames=t:i, dep=*}\na[j] = b[j]  {dep=b, inames=t:j}",
        pg.GlobalArg("a, b", np.float64, shape="n"),
        loop_priority=["t, i", "t, j"],
        assumptions="n >= 3",
    )
    return pg.tag_inames(knl, {"i": "g.0", "j": "g.0"})


def test_steps_of_time_find_in_the_cache_what_fits() -> None:
    n, steps = 10**6, 50
    # In each step: reads a, writes b; reads b, writes a.
    whole, inner = 8 * (n + n - 2), 16 * (n - 2)
    expected = steps * ((whole + inner) / 1e10 / REACHED + 2e-6)
    assert forecast(sweeps(), n=n, T=steps) == pytest.approx(expected)
    assert bound_by(sweeps(), n=n, T=steps) == ["memory"]
    n = 10**5
    expected = steps * ((8 * (n + n - 2) + 16 * (n - 2)) / 1e11 / REACHED + 2e-6)
    assert forecast(sweeps(), n=n, T=steps) == pytest.approx(expected)
    assert bound_by(sweeps(), n=n, T=steps) == ["cache"]


def test_threads_that_start_often() -> None:
    n, steps = 10, 1000
    assert forecast(sweeps(), n=n, T=steps) == pytest.approx(2e-6 * steps, rel=0.01)
    assert bound_by(sweeps(), n=n, T=steps) == ["starting"]


@pytest.mark.parametrize(("n", "rate", "by"), [(500, 1e11 / 4, "cache"), (2000, 1e10, "memory")])
def test_what_each_row_needs_again(n: int, rate: float, by: str) -> None:
    """All of b, for each row: 2 MB are in the cache but not near, 32 MB in neither."""
    knl = kernel(
        "{ [i,k,j]: 0<=i,k,j<n }",
        "c[i,j] = c[i,j] + a[i,k]*b[k,j]",
        pg.GlobalArg("a, b, c", np.float64, shape="n, n"),
        loop_priority="i, k, j",
    )
    row = n * n + 3 * n  # b; a row of a, and one of c for reading and for writing
    share = 4 / 4 / 1.5  # a, b and c are read, and c is written, which needs no further transfer
    assert forecast(knl, n=n) == pytest.approx(8 * n * row * share / rate / REACHED)
    assert bound_by(knl, n=n) == [by]


def test_threads_share_arithmetic() -> None:
    knl = kernel(
        "{ [i]: 0<=i<n }",
        "b[i] = a[i]*(a[i]*(a[i]*(a[i]*(a[i]*(a[i]*a[i] + 1) + 1) + 1) + 1) + 1)",
        pg.GlobalArg("a", np.float64, shape="n"),
    )
    limits = pg.Limits(1e12, 1e10, 4)
    alone = pg.explain(knl, limits, sizes={"n": 10**6}).forecast
    shared = pg.explain(pg.tag_inames(knl, {"i": "g.0"}), limits, sizes={"n": 10**6}).forecast
    assert alone == pytest.approx(4 * 11e6 / 1e10 / REACHED)
    assert shared == pytest.approx(11e6 / 1e10 / REACHED + limits.launch_seconds)


def test_threads_that_have_nothing_to_do() -> None:
    """Four threads do four rows at a time."""
    knl = kernel(
        "{ [i,j]: 0<=i<m and 0<=j<n }",
        "b[i,j] = a[i,j]*a[i,j]*a[i,j]*a[i,j]*a[i,j]*a[i,j]",
        pg.GlobalArg("a", np.float64, shape="m, n"),
    )
    limits = pg.Limits(1e15, 1e10, 4, launch_seconds=1e-12)
    knl = pg.tag_inames(knl, {"i": "g.0"})
    for rows, turns in ((1, 1), (2, 1), (4, 1), (6, 2), (8, 2), (9, 3)):
        found = pg.explain(knl, limits, sizes={"m": rows, "n": 10**6}).forecast
        assert found == pytest.approx(turns * 5e6 * 4 / 1e10 / REACHED)


def test_divisions_and_functions_take_longer() -> None:
    def seconds(text: str) -> float:
        knl = pg.add_dtypes(kernel("{ [i]: 0<=i<n }", text), {"a": np.float64})
        return pg.explain(knl, pg.Limits(1e15, 1e10, 1), sizes={"n": 10**6}).forecast or 0

    plain, divided, called = (seconds(f"b[i] = {v}") for v in ("a[i]*3", "3/a[i]", "exp(a[i])"))
    assert plain == pytest.approx(1e-4 / REACHED)
    assert plain < divided < called


def test_groups_of_a_grid_share_what_they_touch() -> None:
    knl = kernel("{ [i,j]: 0<=i,j<n }", "b[i,j] = 2*a[i,j]", target="cuda")
    fast = pg.optimize(pg.add_dtypes(knl, {"a": "float32"}), sizes={"n": 8192})
    limits = pg.Limits(4e12, 6e13, 132, launch_seconds=2e-6)
    found = pg.explain(fast, limits, sizes={"n": 8192})
    assert found.forecast == pytest.approx(8 * 8192**2 / 4e12 + 2e-6)


def test_without_the_rate_of_the_cache_all_comes_from_memory() -> None:
    found = pg.explain(copy(), pg.Limits(1e10, 1e12, 4), sizes={"n": 1000})
    assert found.forecast == pytest.approx(16e3 / 1e10 / REACHED)
    assert found.forecast is not None
    assert f"\nforecast: {found.forecast * 1e6:.3g} us\n" in str(found)


def test_what_data_decides_has_no_forecast() -> None:
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: s<=j<e }"],
        "<> s = r[i]\n<> e = r[i+1]\nout[i] = sum(j, v[j])",
        pg.GlobalArg("r", np.int32, shape="n+1"),
        pg.GlobalArg("v", np.float64, shape="m"),
    )
    found = pg.explain(knl, LIMITS)
    assert [nest.forecast for nest in found.nests] == [None]
    assert found.forecast is None
