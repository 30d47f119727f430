"""Scalars in global memory: arrays of one element in generated code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from tests.oracle.cases import grid, kernel, split, tag

TARGETS = pytest.mark.parametrize("target", ["c", "opencl"])


def scalar(dtype: Any) -> pg.TemporaryVariable:
    return pg.TemporaryVariable("t", dtype, (), pg.AddressSpace.GLOBAL)


@TARGETS
@pytest.mark.parametrize(
    "dtype",
    [
        "bool",
        "float16",
        "complex64",
        *(pytest.param(t, marks=pytest.mark.more) for t in ("int8", "float64")),
    ],
)
def test_one_for_all(target: str, dtype: str) -> None:
    arrays = [pg.GlobalArg(name, dtype, "n") for name in ("a", "out")]
    text = "t = a[0]\nout[i] = t + a[i]"
    knl = kernel("{ [i]: 0<=i<n }", text, scalar(dtype), *arrays, assumptions="n >= 1")
    for step in tag(i="for"), split("i", 4), tag(i="g.0"), grid("i", 2):
        for n in (1, 2, 7, 9):
            a = np.arange(n)[::-1].astype(dtype)
            (out,) = step(knl).executor(target)(a=a)[1]
            np.testing.assert_array_equal(out, a[0] + a, strict=True)


@TARGETS
def test_it_bounds_a_loop(target: str) -> None:
    arrays = [pg.GlobalArg("count", np.int32), pg.GlobalArg("a", np.float64, "9")]
    domains = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<t }"]
    knl = kernel(domains, "t = count[i]\nout[i] = sum(j, a[j])", scalar(np.int32), *arrays)
    count, a = np.array([0, 3, 9, 1], np.int32), np.arange(9.0)
    (out,) = knl.executor(target)(count=count, a=a)[1]
    np.testing.assert_array_equal(out, [a[:c].sum() for c in count])


@TARGETS
def test_atomic_updates_of_it(target: str) -> None:
    text = "t = 0  {id=z}\nt += a[i]  {id=u, dep=z, atomic}\nout[0] = t  {dep=u}"
    knl = kernel("{ [i]: 0<=i<n }", text, scalar(np.int32), pg.GlobalArg("a", np.int32))
    for n in (0, 1, 13, 64):
        a = np.arange(n, dtype=np.int32)
        for step in tag(i="for"), grid("i", 8):
            (out,) = step(knl).executor(target)(a=a)[1]
            assert out == a.sum()


def test_its_text() -> None:
    arrays = [pg.GlobalArg(name, np.float32, "4") for name in ("a", "out")]
    knl = kernel("{ [i]: 0<=i<4 }", "t = a[0]\nout[i] = t*a[i]", scalar(np.float32), *arrays)
    lines = str(pg.generate_code(knl, "c")).splitlines()
    assert [line.strip() for line in lines[2:5:2]] == ["t[0] = a[0];", "out[i] = t[0] * a[i];"]
