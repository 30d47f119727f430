"""The twelve benchmarks of ALPyNA, as loops without an annotation, beside plain Python.

Their loops are in `benchmarks.alpyna_kernels`.  What is parallel in each is known, and `explain`
has no Python left.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from benchmarks.alpyna_kernels import (
    FUNCTIONS,
    arguments,
    black_scholes,
    conv_2d,
    conway,
    fbcorr,
    gemm,
    gemver,
    hilbert,
    jacobi,
    mandelbrot,
    saxpy,
    syr2k,
    vadd,
)

RNG = np.random.default_rng(0)


def square(n: int) -> Any:
    return RNG.random((n, n))


CASES: dict[Callable[..., Any], tuple[Any, ...]] = {
    saxpy: (2.5, RNG.random(50), RNG.random(50), 50),
    vadd: (RNG.random(50), RNG.random(50), np.zeros(50), 50),
    hilbert: (np.zeros((9, 9)), 9),
    gemm: (1.5, 1.2, square(9), square(9), square(9), 9),
    gemver: (1.5, square(9), *(RNG.random(9) for _ in range(5)), 9),
    syr2k: (1.5, 1.2, square(9), square(9), square(9), 9),
    conv_2d: (square(9), square(3), np.zeros((7, 7)), 9, 3),
    conway: (RNG.integers(0, 2, (9, 9)), np.zeros((9, 9), int), 9),
    jacobi: (square(9), np.zeros((9, 9)), 3, 9),
    mandelbrot: (np.zeros((9, 9), int), 9, 30),
    black_scholes: (*(RNG.random(50) + 0.5 for _ in range(3)), np.zeros(50), np.zeros(50), 50),
    fbcorr: (RNG.random((8, 7, 7)), RNG.random((3, 3, 3)), np.zeros((8, 3, 5, 5)), 8, 3, 7, 3),
}


@pytest.mark.more
@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_against_python(function: Callable[..., Any]) -> None:
    plain, own = copy.deepcopy(CASES[function]), copy.deepcopy(CASES[function])
    compiled = pg.jit(function, strict=True)
    function(*plain)
    compiled(*own)
    for one, other in zip(own, plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


# The loops that carry something, or nothing but sums, by the variable of each; others are parallel.
SEQUENTIAL = {
    gemm: "k",
    syr2k: "k",
    jacobi: "_",
    mandelbrot: "_",
    conv_2d: "pq",
    fbcorr: "pq",
    conway: "pq",
    gemver: "j",
}


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_what_is_parallel(function: Callable[..., Any]) -> None:
    names = dict(zip(function.__code__.co_varnames, CASES[function], strict=False))
    (block,) = pg.analyse(function, **names)[function.__name__].blocks
    found = {i for i, row in block.loops.items() if not row.parallel.is_always}
    assert {_written(i) for i in found} == set(SEQUENTIAL.get(function, ""))


def _written(iname: str) -> str:
    """Return what a loop variable is called in Python: names of kernels are others, or longer."""
    return "_" if iname.startswith("my") else iname.partition("_")[0]


@pytest.mark.more
@pytest.mark.parametrize("target", ["cuda", "opencl"])
@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_code_for_gpus(function: Callable[..., Any], target: str) -> None:
    (kernel,) = pg.jit(function, target=target, strict=True).kernels(*CASES[function])
    text = str(pg.generate_code(kernel))
    assert ("blockIdx" if target == "cuda" else "get_group_id") in text or "threadIdx" in text


def test_arguments_of_the_benchmark() -> None:
    assert set(FUNCTIONS) == set(CASES)
    for function in FUNCTIONS:
        given = arguments(function, 0.01)
        function(*given)
        assert all(np.isfinite(one).all() for one in given)
