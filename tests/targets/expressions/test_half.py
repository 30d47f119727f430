"""Half precision: stored in two bytes, computed as float, each operation rounded as NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg

TARGETS = pytest.mark.parametrize("target", ["c", "opencl"])
RNG = np.random.default_rng(11)
HALF = np.dtype(np.float16)


def halves(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(HALF)


@TARGETS
@pytest.mark.parametrize("n", [0, 1, 17, 63])
def test_temporaries_and_scalar_arguments(target: str, n: int) -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        """
        <> t = a[i]*s + 1
        out[i] = t*b[i] - s/3
        """,
        [pg.GlobalArg("a", HALF), pg.GlobalArg("b", HALF), pg.ValueArg("s", HALF), "..."],
    )
    a, b, s = halves(n), halves(n), np.float16(0.1)
    expected = (a * s + HALF.type(1)) * b - s / HALF.type(3)
    for given in (s, 0.1):  # a Python number is rounded
        _, (out,) = knl.executor(target)(a=a, b=b, s=given, n=n)
        assert out.dtype == HALF
        assert np.array_equal(out, expected)


@TARGETS
@pytest.mark.parametrize("n", [1, 15, 33])
def test_tiles_of_halves(target: str, n: int) -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n-1 }",
        "out[i] = a[i] + a[i+1]*float16(w[i])",
        [pg.GlobalArg("a", HALF, shape=("n",)), pg.GlobalArg("w", np.float64), "..."],
    )
    knl = pg.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
    knl = pg.add_prefetch(knl, "a", "i_inner", default_tag="l.auto")
    a, w = halves(n), 3 * RNG.standard_normal(max(n - 1, 0))
    _, (out,) = knl.executor(target)(a=a, w=w, n=n)
    assert np.array_equal(out, a[:-1] + a[1:] * w.astype(HALF))


@TARGETS
def test_numbers_at_the_limits(target: str) -> None:
    values = np.array([65504, 65519.99, 65520, -1e9, 6e-8, 2.9e-8, 0.0, -0.0, np.inf, np.nan])
    knl = pg.make_kernel(
        "{ [i]: 0<=i<10 }",
        "out[i] = float16(x[i]) {id=s}\nback[i] = out[i]*1.0",
        [
            pg.GlobalArg("x", np.float64),
            pg.GlobalArg("out", HALF),
            pg.GlobalArg("back", np.float32),
            "...",
        ],
    )
    _, found = knl.executor(target)(x=values, out=np.zeros(10, HALF), back=np.zeros(10, np.float32))
    with np.errstate(over="ignore"):
        expected = values.astype(HALF)
    out, back = found
    assert np.array_equal(out, expected, equal_nan=True)
    assert np.array_equal(back, expected.astype(np.float32), equal_nan=True)
    assert np.array_equal(np.signbit(out), np.signbit(expected))


def test_what_the_source_says() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = 2*a[i]", [pg.GlobalArg("a", HALF), "..."])
    opencl, c = (pg.generate_code(knl, target).source for target in ("opencl", "c"))
    assert "vstore_half_rte(2.0f * vload_half(i, a), i, a);" in opencl
    assert "cl_khr_fp16" not in opencl
    assert "a[i] = 2.0f * a[i];" in c
    assert "typedef _Float16 half;" in c


@TARGETS
def test_halves_of_integers(target: str) -> None:
    types = ("bool", "int8", "uint8", "int32", "uint64", "int64")
    text = "\n".join(f"{t}_half[i] = {t}_number[i]" for t in types)
    halves = [pg.GlobalArg(f"{t}_half", HALF) for t in types]
    knl = pg.make_kernel("{ [i]: 0<=i<n }", text, [*halves, "..."])
    values = np.array([0, 1, 100, 65503, 65519, 65520, 2**24 + 1, 2**31 - 1])
    given = {f"{t}_number": values.astype(t) for t in types}
    out = {f"{t}_half": np.zeros(len(values), HALF) for t in types}
    knl.executor(target)(**given, **out)
    with np.errstate(over="ignore"):
        for t in types:
            np.testing.assert_array_equal(out[f"{t}_half"], given[f"{t}_number"].astype(HALF))
