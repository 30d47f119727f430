"""`polygen.optimize` on programs as users write them: results are NumPy's, and loops are shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.tags import is_parallel
from tests.few import few
from tests.schedules.programs import PROGRAMS

H200 = pg.Limits.named("H200")
TWO_THREADS = pg.Limits(2e10, 3e10, compute_units=2)
# Each iteration needs the one before it, or data decides that; or what is shared is no loop yet.
SERIAL = {"cholesky", "trisolv", "floyd_warshall", "prefix", "histogram"}
SOME = ("lu", "gramschmidt", "gesummv", "hdiff", "seidel_2d", "spmv", "mandelbrot", "tridiagonal")
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::polygen.errors.{name}")
    for name in ("NotParallel", "NotVectorized", "SeparationIgnored", "PriorityIgnored")
]


def scheduled(name: str, target: str) -> pg.Kernel:
    knl = PROGRAMS[name].kernel(name, target)
    limits = TWO_THREADS if target == "c" else H200
    return pg.optimize(knl, limits, sizes=dict.fromkeys(knl.parameters, 1000))


def check(name: str, knl: pg.Kernel, target: str) -> None:
    program = PROGRAMS[name]
    for n in (3, 8, 17):
        given = program.inputs(n)
        expected = program.expected(**program.inputs(n))
        knl.copy(target=None).executor(target)(**given)
        for array, value in expected.items():
            exact = value.dtype.kind in "iu"
            tolerance: Any = 0 if exact else 2e-5 if value.dtype == np.float32 else 1e-9
            np.testing.assert_allclose(given[array], value, rtol=tolerance, atol=tolerance)


def names(in_all_runs: tuple[str, ...]) -> list[Any]:
    marked = pytest.mark.more
    return [pytest.param(n, marks=() if n in in_all_runs else marked) for n in PROGRAMS]


@few(4, "name", names(SOME))
def test_on_a_processor(name: str) -> None:
    check(name, scheduled(name, "c"), "c")


@pytest.mark.parametrize("name", names(()))
def test_on_a_grid(name: str) -> None:
    knl = scheduled(name, "opencl")
    check(name, knl, "opencl")
    used = [insn.within_inames | insn.reduction_inames for insn in knl.instructions]
    is_shared = any(is_parallel(knl.tags.get(iname)) for inames in used for iname in inames)
    assert is_shared or name in SERIAL


@pytest.mark.parametrize("name", ["spmv", "mandelbrot", "tridiagonal", "gesummv", "seidel_2d"])
def test_loops_are_shared_on_a_gpu(name: str) -> None:
    assert any(map(is_parallel, scheduled(name, "cuda").tags.values()))
