"""Transformed kernels, compiled and called: NumPy computes the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.oracle.cases import Step, kernel, prior, steps

SIZES = (0, 1, 2, 7, 8, 9, 31, 33)  # empty, one, primes, and beside the strips' lengths

_Numbers = NDArray[Any]


def heat(a: _Numbers) -> dict[str, _Numbers]:
    """Return what each time step leaves; the boundary stays."""
    new = a.copy()
    for t in range(len(a) - 1):
        new[t + 1, 1:-1] = new[t, :-2] + new[t, 2:]
    return {"a": new}


def seidel(a: _Numbers) -> dict[str, _Numbers]:
    """Return sweeps in place."""
    new = a.copy()
    for _ in range(len(a)):
        for i in range(1, len(a) - 1):
            new[i] = (new[i - 1] + new[i + 1]) / 2
    return {"a": new}


def map_domain(text: str) -> Step:
    """Return the step that maps inames."""
    return lambda knl: pg.map_domain(knl, text)


CASES: dict[str, tuple[Kernel, Step, int, Callable[[_Numbers], dict[str, _Numbers]]]] = {
    "skewed heat": (
        kernel(
            "{ [t,i]: 0<=t<n-1 and 1<=i<n-1 }",
            "a[t+1,i] = a[t,i-1] + a[t,i+1]",
            pg.GlobalArg("a", shape=("n", "n")),
            "...",
            loop_priority="t, i",
        ),
        steps(map_domain("{ [t,i] -> [t,p] : p = i + t }"), prior("p, t")),
        2,
        heat,
    ),
    "skewed and tiled sweeps": (
        kernel(
            "{ [t,i]: 0<=t<n and 1<=i<n-1 }",
            "a[i] = (a[i-1] + a[i+1])/2  {inames=t:i}",
            pg.GlobalArg("a", shape=("n",)),
            "...",
            loop_priority="t, i",
        ),
        steps(
            map_domain("{ [t,i] -> [t,p] : p = i + t }"),
            map_domain(
                "{ [t,p] -> [tt,pp,ts,ps] : t = 4*tt + ts and 0<=ts<4 and p = 8*pp + ps "
                "and 0<=ps<8 }"
            ),
        ),
        1,
        seidel,
    ),
    "reversed and in strips": (
        kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i] + i"),
        steps(
            map_domain("{ [i] -> [i'] : i' = n - 1 - i }"),
            map_domain("{ [i] -> [s,l] : i = 8*s + l and 0<=l<8 }"),
        ),
        1,
        lambda a: {"b": 2 * a + np.arange(len(a))},
    ),
    "fused": (
        kernel("{ [i,j]: 0<=i,j<n }", "b[i] = 2*a[i]\nc[j] = b[j] + 1"),
        lambda knl: pg.rename_iname(knl, "j", "i", existing_ok=True),
        1,
        lambda a: {"b": 2 * a, "c": 2 * a + 1},
    ),
    "distributed": (
        kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]\nc[i] = b[i] + 1  {id=u}"),
        lambda knl: pg.duplicate_inames(knl, "i", "u"),
        1,
        lambda a: {"b": 2 * a, "c": 2 * a + 1},
    ),
    "columns first": (
        kernel("{ [i,j]: 0<=i,j<n }", "b[0] = sum((i,j), a[i,j])", pg.GlobalArg("b", shape=(1,)),
               "..."),
        lambda knl: pg.split_reduction_inward(knl, "i"),
        2,
        lambda a: {"b": a.sum().reshape(1)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_numpy_computes_the_same(name: str) -> None:
    knl, step, dimensions, expected = CASES[name]
    run = step(knl).executor("c")
    for n in SIZES:
        a = np.random.default_rng(n).integers(-8, 9, size=(n,) * dimensions).astype(np.float64)
        wanted = expected(a)
        given = {"a": a.copy()} | ({} if n else {"n": 0})
        _, found = run(**given)
        outputs = dict(zip(wanted, found, strict=True))
        for array, values in wanted.items():
            np.testing.assert_allclose(outputs[array], values, rtol=1e-12, err_msg=f"{array} {n}")
