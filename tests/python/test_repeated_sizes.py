"""Sizes that calls repeat become numbers in the code; others have the code for all sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from polygen.python.repeated_sizes import with_repeated_sizes


class Runs:
    """Runs kernels, and notes for each call whether sizes are numbers in its code."""

    def __init__(self) -> None:
        self.fixed: list[bool] = []

    def __call__(self, kernel: Kernel) -> Callable[[dict[str, Any]], object]:
        def run(arguments: dict[str, Any]) -> object:
            self.fixed.append(kernel.options.fix_sizes)
            return kernel(**arguments)

        return run


def kernel_of_rows(**options: Any) -> Kernel:
    kernel = pg.make_kernel("{ [i]: 0<=i<n }", "y[i] = 2*x[i] + i", target="c")
    return pg.set_options(pg.add_dtypes(kernel, {"x": "float64"}), **options)


def called(runs: Runs, kernel: Kernel, lengths: list[int]) -> None:
    """Call a kernel with arrays of some lengths, and compare what it leaves with NumPy's."""
    run = with_repeated_sizes(kernel, runs(kernel), runs, {"n": lengths[0]})
    for length in lengths:
        x, y = np.arange(length) + 0.5, np.empty(length)
        run({"n": length, "x": x, "y": y})
        np.testing.assert_array_equal(y, 3 * np.arange(length) + 1.0)


def test_the_third_call_with_the_same_sizes_has_code_for_these() -> None:
    runs = Runs()
    called(runs, kernel_of_rows(), [7, 7, 7, 7, 5, 7, 5, 5, 5])
    assert runs.fixed == [False, False, True, True, False, True, False, False, False]


def test_sizes_that_change_leave_the_code_for_all() -> None:
    runs = Runs()
    called(runs, kernel_of_rows(), [7, 6, 7, 6, 7, 6])
    assert not any(runs.fixed)


@pytest.mark.parametrize(("options", "length"), [({"deterministic": True}, 7), ({}, 300)])
def test_where_sums_keep_their_bits_and_where_loops_are_long_no_code_is_made(
    options: dict[str, Any], length: int
) -> None:
    runs = Runs()
    called(runs, kernel_of_rows(**options), [length] * 4)
    assert runs.fixed == [False] * 4


def test_a_function_that_is_called_again_and_again_stays_right() -> None:
    def smoothed(x: Any, y: Any, steps: int) -> None:
        for _ in range(steps):
            y[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3
            x[1:-1] = (y[:-2] + y[1:-1] + y[2:]) / 3

    compiled = pg.jit(smoothed)
    for length, steps in [(23, 4), (23, 4), (23, 4), (23, 4), (9, 4), (23, 3), (2, 4), (23, 4)]:
        x, y = np.sin(np.arange(float(length))), np.zeros(length)
        meant_x, meant_y = x.copy(), y.copy()
        smoothed(meant_x, meant_y, steps)
        compiled(x, y, steps)
        np.testing.assert_allclose(x, meant_x, rtol=1e-13)
        np.testing.assert_allclose(y, meant_y, rtol=1e-13)
