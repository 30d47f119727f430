"""The order in which kernels print: Python's; in loops that are claimed parallel, any."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import polygen as pg


def serial(x: Any, y: Any, n: int) -> None:
    for i in range(n):
        y[i] = x[i] * 2
        if i % 100000 == 0:
            pg.printf("%d %g\n", i, y[i])


def parallel(x: Any, y: Any, n: int) -> None:
    for i in pg.prange(n):
        y[i] = x[i] * 2
        if i % 100000 == 0:
            pg.printf("%d %g\n", i, y[i])


def several(x: Any, y: Any, n: int) -> None:
    pg.printf("first\n")
    for i in pg.prange(n):
        if i % 300 == 7:
            pg.printf("%d a\n", i)
        y[i] = x[i] * 2
        for j in range(3):
            if i % 300 == 7:
                pg.printf("%d b %d\n", i, j)
    pg.printf("last\n")


def one_by_one(x: Any, y: Any, n: int) -> None:
    for i in pg.prange(n):
        y[i] = x[i] * 2
        pg.printf("a %d\n", i)
    for i in pg.prange(n):
        y[i] += 1
        pg.printf("b %d\n", i)


def steps(x: Any, y: Any, n: int) -> None:
    for t in range(3):
        for i in pg.prange(n):
            y[i] = x[i] * t
            pg.printf("%d %d\n", t, i)


def lanes(x: Any, y: Any, n: int) -> None:
    # pragma simd
    for i in range(n):
        y[i] = x[i]
        pg.printf("%d ", i)


def arguments(n: int) -> tuple[Any, ...]:
    return np.arange(float(n)), np.zeros(n), n


def lines_of(
    function: Callable[..., Any], given: Sequence[Any], capfd: pytest.CaptureFixture[str]
) -> list[str]:
    capfd.readouterr()
    function(*copy.deepcopy(given))
    return str(capfd.readouterr().out).splitlines()


def source(function: Callable[..., Any], n: int, target: str) -> str:
    (kernel,) = pg.jit(function, target=target).kernels(*arguments(n))
    return str(pg.generate_code(kernel))


def test_loops_that_print_are_serial_unless_it_is_claimed(
    capfd: pytest.CaptureFixture[str],
) -> None:
    given = arguments(1_000_000)
    wanted = lines_of(serial, given, capfd)
    assert lines_of(pg.jit(serial, target="c"), given, capfd) == wanted
    assert sorted(lines_of(pg.jit(parallel, target="c"), given, capfd)) == sorted(wanted)
    assert "#pragma omp" not in source(serial, 1_000_000, "c")
    assert "omp parallel for" in source(parallel, 1_000_000, "c")


def of_iterations(lines: Sequence[str]) -> dict[str, list[str]]:
    """Return what each iteration printed, in order."""
    found: dict[str, list[str]] = {}
    for line in lines:
        number, _, rest = line.partition(" ")
        found.setdefault(number, []).append(rest)
    return found


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_an_iteration_prints_in_order(target: str, capfd: pytest.CaptureFixture[str]) -> None:
    n = 1000
    lines = lines_of(pg.jit(several, target=target), arguments(n), capfd)
    assert (lines[0], lines[-1]) == ("first", "last")
    each = ["a", "b 0", "b 1", "b 2"]
    assert of_iterations(lines[1:-1]) == {str(i): each for i in range(7, n, 300)}


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_one_loop_after_the_other(target: str, capfd: pytest.CaptureFixture[str]) -> None:
    n = 40
    for function in (one_by_one, steps):
        wanted = lines_of(function, arguments(n), capfd)
        found = lines_of(pg.jit(function, target=target), arguments(n), capfd)
        blocks = [(found[at : at + n], wanted[at : at + n]) for at in range(0, len(wanted), n)]
        assert len(found) == len(wanted)
        assert all(sorted(one) == sorted(other) for one, other in blocks)


def test_work_items_print() -> None:
    """On a grid, each iteration of such a loop is a work item, and prints once."""
    for target, index in (("cuda", "threadIdx.x"), ("opencl", "get_local_id(0)")):
        text = source(one_by_one, 1000, target)
        assert text.count("printf(") == 2
        assert text.count(index) == 2
    assert "for (int i = 0; i < n_1; ++i)" in source(serial, 1000, "cuda")


def test_lanes_do_not_print(capfd: pytest.CaptureFixture[str]) -> None:
    compiled = pg.jit(lanes, target="c")
    found = lines_of(compiled, arguments(9), capfd)
    assert found == ["0 1 2 3 4 5 6 7 8 "]
    assert re.search(r"line \d+: simd: .*one after the other: they print", compiled.explain())


def test_what_prints_is_not_run_to_be_measured(capfd: pytest.CaptureFixture[str]) -> None:
    (kernel,) = pg.jit(lanes, target="c").kernels(*arguments(9))
    scheduled = pg.optimize(kernel, sizes={"n_0": 9, "n_1": 9}, tune=True)
    assert capfd.readouterr().out == ""
    assert "it would print what" in str(pg.explain(scheduled))
