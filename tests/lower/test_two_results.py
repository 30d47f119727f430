"""Reductions with two results: argmin, argmax and segmented sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import polygen as pg
from polygen.errors import MalformedInstruction, NotTheSame, Reassociated
from tests.few import few
from tests.lower.test_scans import agrees, loops_over
from tests.oracle.cases import grid, kernel, prior, split, steps

SQUARE = "{ [i,j]: 0<=i<n and 0<=j<n }"
A = pg.GlobalArg("a", shape=("n", "n"))


@pytest.mark.parametrize("name", ["argmin", "argmax"])
@pytest.mark.parametrize("dtype", ["int8", "float32", "bool"])
@few(
    2,
    "text",
    [
        "v[i], k[i] = {0}(j, a[i,j], j)",
        "v[i], k[i] = {0}(j, a[i,j], 2*n - j)",
        "k[i] = {0}(j, a[j,i], j)[1] + {0}(j, a[i,j], j)[1]",
        "k[i] = a[i,{0}(j, a[i,j], j)[1]] + {0}(j, a[i,j], j)[0]  {{if=a[i,i] != 0}}",
        "v[i], k[i] = {0}(j, if(j < i, a[i,j], a[j,j]), j)",
    ],
)
def test_best_and_where(name: str, dtype: str, text: str) -> None:
    knl = kernel(SQUARE, text.format(name), pg.GlobalArg("a", np.dtype(dtype), ("n", "n")))
    agrees(
        knl, (1, 2, 5), split("j", 4), grid("i", 2), steps(split("j", 2), prior("j_inner, j_outer"))
    )


def _first(a: NDArray[Any], name: str) -> Any:
    return getattr(np, name)(a, axis=1)


@pytest.mark.parametrize("target", ["c", "opencl"])
@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
def test_as_numpy(dtype: str, target: str) -> None:
    """The first of equal ones, and the first NaN: also where the loops are in another order."""
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<m and 0<=j<n }",
        "low[i], kl[i] = argmin(j, a[i,j], j)\nhigh[i], kh[i] = argmax(j, a[i,j], j)",
        [pg.GlobalArg("a", np.dtype(dtype), ("m", "n")), "..."],
        loop_priority="i, j",
    )
    knl = pg.set_options(knl, return_dict=True)
    turned = pg.prioritize_loops(pg.split_iname(knl, "j", 4), "i, j_inner, j_outer")
    for version in (knl, turned):
        run = version.executor(target)
        for m, n in ((0, 3), (1, 1), (5, 7), (3, 16), (4, 17)):
            a = np.random.default_rng(n).integers(-3, 4, (m, n)).astype(dtype)
            if dtype != "int16" and m:
                a[0, n // 2 :: 2] = np.nan
                a[-1, :1] = np.inf
            _, found = run(a=a)
            np.testing.assert_array_equal(found["kl"], a.argmin(1))
            np.testing.assert_array_equal(found["kh"], a.argmax(1))
            np.testing.assert_array_equal(found["low"], a.min(1))
            np.testing.assert_array_equal(found["high"], a.max(1))
            assert found["kl"].dtype == a.argmin(1).dtype
            assert found["low"].dtype == a.dtype


def test_of_nothing() -> None:
    """Of an empty row of several, as NumPy has none."""
    rows = ["{ [i]: 0<=i<1 }", "{ [j]: i<=j<n }"]
    _, (k, v) = pg.make_kernel(rows, "v[i], k[i] = argmax(j, a[j], j)")(a=np.zeros(0, np.int8))
    assert (v[0], k[0]) == (-128, np.iinfo(np.int64).max)


def test_running_maximum() -> None:
    knl = kernel("{ [i,j]: 0<=i<n and 0<=j<=i }", "v[i], k[i] = argmax(j, b[j], j)")
    assert loops_over(knl) == ["i"]
    agrees(knl, (0, 1, 6), split("i", 4))


def test_the_order_of_loops_cannot_be_seen() -> None:
    """Not even where no step may round sums otherwise."""
    knl = pg.make_kernel("{ [j]: 0<=j<n }", "v[0], k[0] = argmax(j, a[j], j)")
    knl = pg.set_options(pg.add_dtypes(knl, {"a": np.float32}), allow_reassociation=False)
    _, (k, v) = pg.map_domain(knl, "{ [j] -> [i]: i = -j }")(a=np.array([1, 3, 3], np.float32))
    assert (k[0], v[0]) == (1, 3)


@pytest.mark.parametrize("step", [pg.split_reduction_inward, pg.split_reduction_outward])
def test_inside_of_each_other(step: Any) -> None:
    knl = kernel(SQUARE, "v[i], k[i] = argmin(j, a[i,j], j)", A)
    new = step(pg.split_iname(knl, "j", 2), "j_inner")
    assert "argmin(j_" in str(new).partition("argmin(")[2]
    assert pg.parse_kernel(str(new)) == new
    agrees(knl, (0, 1, 5), lambda k: step(pg.split_iname(k, "j", 2), "j_inner"))


def test_of_reductions() -> None:
    """What is reduced has reductions in it, which are computed once, and under no condition."""
    text = "v[i], k[i] = argmax(j, sum(l, a[j,l]) - max(l, a[i,l]), j)"
    knl = kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }", "{ [l]: 0<=l<n }"], text, A)
    assert loops_over(knl) == ["i", "j", "l"]
    agrees(knl, (0, 1, 4), split("l", 2), grid("i", 2))


def segmented(a: NDArray[Any], starts: NDArray[Any], combine: Any) -> NDArray[Any]:
    """Return the values combined since the last start, at each element."""
    found: list[Any] = []
    for value, start in zip(a, starts, strict=True):
        found.append(combine(found[-1], value) if found and not start else value)
    return np.array(found, a.dtype)


@pytest.mark.parametrize("target", ["c", "opencl"])
@pytest.mark.parametrize(("name", "combine"), [("sum", np.add), ("product", np.multiply)])
def test_segments(name: str, combine: Any, target: str) -> None:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<n and 0<=j<=i }", f"s[i], <> f = segmented({name})(j, a[j], start[j])"
    )
    run = knl.executor(target)
    for n in (1, 2, 15, 16, 17):
        random = np.random.default_rng(n)
        a, start = random.integers(-2, 3, n), random.integers(0, 4, n) == 0
        _, (s,) = run(a=a, start=start)
        np.testing.assert_array_equal(s, segmented(a, start, combine))


def test_segments_mean_what_they_say() -> None:
    text = "s[i] = segmented(sum)(j, a[i,j], a[j,i] > 0)[0]\nf[i] = segmented(sum)(j, 1, a[i,j])[1]"
    knl = kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"], text, A)
    agrees(knl, (0, 1, 5), split("j", 4), grid("i", 2))
    carried = kernel("{ [i,j]: 0<=i<n and 0<=j<i }", "s[i] = segmented(sum)(j, b[j], c[j])[0]")
    assert loops_over(carried) == ["i"]
    agrees(carried, (6,))


def test_the_order_of_segments_is_kept() -> None:
    knl = kernel("{ [j]: 0<=j<n }", "s[0] = segmented(sum)(j, b[j], c[j])[0]")
    with pytest.raises(Reassociated, match="another order"):
        pg.map_domain(knl, "{ [j] -> [k]: k = -j }")
    with pytest.raises(Reassociated, match="another order"):
        steps(split("j", 4), prior("j_inner, j_outer"))(knl)
    with pytest.raises(NotTheSame):
        pg.split_reduction_inward(pg.split_iname(knl, "j", 4), "j_inner")


def test_text() -> None:
    text = "v[i], k[i] = argmax<float64>(j, a[i,j], j)\nw[i] = 2*segmented(sum)(j, a[i,j], b[j])[0]"
    knl = kernel(SQUARE, text)
    assert "v[i], k[i] = argmax<float64>(j, a[i, j], j)" in str(knl)
    assert "2*segmented(sum)(j, a[i, j], b[j])[0]" in str(knl)
    assert pg.parse_kernel(str(knl)) == knl


def test_other_ways_to_write_it() -> None:
    """Loo.py's reduce and simul_reduce: here, reductions over one iname share a loop anyway."""
    for word in ("reduce", "simul_reduce"):
        text = f"b[i] = {word}(sum, j, a[i,j]) + {word}(max, j, a[i,j])"
        assert kernel(SQUARE, text) == kernel(SQUARE, "b[i] = sum(j, a[i,j]) + max(j, a[i,j])")
    knl = kernel(SQUARE, "v[i], f[i] = reduce(segmented(sum), j, a[i,j], b[j])")
    assert knl == kernel(SQUARE, "v[i], f[i] = segmented(sum)(j, a[i,j], b[j])")
    text = "v[i], k[i] = simul_reduce(argmin, j, a[i,j], j)"
    assert kernel(SQUARE, text) == kernel(SQUARE, "v[i], k[i] = argmin(j, a[i,j], j)")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("b[i] = argmax(j, a[i,j], j)", "argmax() has 2 results"),
        ("b[i] = 1 + argmin(j, a[i,j], j)", "argmin() has 2 results"),
        ("b[i] = argmax(j, a[i,j], j)[2]", "argmax() has 2 results"),
        ("b[i], c[i], d[i] = argmax(j, a[i,j], j)", "argmax() has 2 results"),
        ("b[i] = sum(j, a[i,j])[0]", "sum() has one result"),
        ("b[i], c[i] = sum(j, a[i,j])", "2 assignees and 1 value"),
        ("b[i], c[i] = argmax(j, a[i,j])", "argmax() takes an iname and 2 operands, not 2"),
        ("b[i], c[i] = argmax(a[i,j], j, j)", "argmax() takes an iname first"),
        ("b[i], c[i] = segmented(max)(j, a[i,j], j)", "there is no segmented 'max'"),
        ("b[i], c[i] = segmented(sum)(j, a[i,j])", "takes an iname and 2 operands, not 2"),
        ("b[i] = reduce(j, a[i,j])", "reduce() is not told what to reduce with"),
        ("b[i] = simul_reduce(sun, j, a[i,j])", "not told what to reduce with"),
        ("b[i], c[i] = argmax(k, a[i,k], k)", "argmax() runs over 'k', which no domain has"),
    ],
)
def test_refusals(text: str, why: str) -> None:
    with pytest.raises((MalformedInstruction, pg.errors.UnknownIname)) as caught:
        kernel(SQUARE, text)
    assert why in caught.value.what
    assert "remedy: " in str(caught.value)
