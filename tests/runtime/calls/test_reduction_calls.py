"""Reductions on devices: NumPy computes the same, of the same type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import polygen as pg
from tests.few import few

SIZES = (0, 1, 7, 15, 16, 17)
TYPES = ("int8", "uint8", "int32", "uint32", "int64", "float32", "float64", "bool")


def _data(size: int, dtype: str, seed: int = 1) -> NDArray[Any]:
    return np.random.default_rng(seed).integers(0, 3, size).astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_as_numpy(dtype: str, target: str) -> None:
    """An int8 sum is an int64, one of uint8 a uint64, one of truth values an int64."""
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        """
        s[0] = sum(i, a[i])
        p[0] = product(i, a[i])
        some[0] = any(i, a[i])
        every[0] = all(i, a[i])
        low[0] = min(i, a[i])
        high[0] = max(i, a[i])
        """,
    )
    run = pg.set_options(knl, return_dict=True).executor(target)
    for size in SIZES:
        a = _data(size, dtype)
        if size == 0:
            with pytest.raises(pg.errors.EmptyReduction, match="nothing to reduce for n = 0"):
                run(a=a)
            continue
        _, found = run(a=a)
        wanted = {"s": a.sum(), "p": a.prod(), "some": a.any(), "every": a.all()}
        wanted |= {"low": a.min(), "high": a.max()}
        for name, expected in wanted.items():
            assert found[name].dtype == expected.dtype
            np.testing.assert_array_equal(found[name][0], expected)


@pytest.mark.parametrize("narrow", ["int8", "int16", "float32"])
def test_the_type_that_is_said(narrow: str, target: str) -> None:
    """Sums of small integers wrap around in the type that they are computed in."""
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        f"""
        s[0] = sum<{narrow}>(i, a[i])
        p[0] = product<{narrow}>(i, a[i])
        """,
    )
    run = knl.executor(target)
    for size in SIZES:
        a = 5 * _data(size, "int16") + 1
        _, (p, s) = run(a=a)
        assert s.dtype == p.dtype == np.dtype(narrow)
        if narrow != "float32":
            a = a.astype(narrow)
        np.testing.assert_array_equal(s[0], a.sum(dtype=narrow))
        np.testing.assert_allclose(p[0], a.prod(dtype=narrow), rtol=1e-6)


def test_wider_than_the_operand(target: str) -> None:
    """A sum of float32 in float64 has the digits of float64."""
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "s[0] = sum<float64>(i, a[i])")
    a = np.array([1e8, 1.0, -1e8, 0.5], np.float32)
    _, (s,) = knl.executor(target)(a=a)
    assert s.dtype == np.float64
    assert s[0] == 1.5


def test_nan_goes_through(target: str) -> None:
    """As in NumPy, NaN is the sum, the minimum and the maximum, and is true."""
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<m and 0<=j<n }",
        """
        s[i] = sum(j, a[i,j])
        low[i] = min(j, a[i,j])
        high[i] = max(j, a[i,j])
        some[i] = any(j, a[i,j])
        every[i] = all(j, a[i,j])
        """,
        silenced_warnings="AmbiguousNesting",
    )
    nan = np.nan
    a = np.array([[1, nan, 2], [nan, 0, 1], [3, 0, nan], [nan, nan, nan], [1, 2, 3], [0, 0, 0]])
    _, found = pg.set_options(knl, return_dict=True).executor(target)(a=a)
    wanted = {"s": a.sum(1), "low": a.min(1), "high": a.max(1), "some": a.any(1)}
    for name, expected in (wanted | {"every": a.all(1)}).items():
        np.testing.assert_array_equal(found[name], expected)


def test_inside_of_each_other_and_of_conditions(target: str) -> None:
    """Which rows have a positive entry in each of the columns that do not sum to nothing?"""
    knl = pg.make_kernel(
        [
            "{ [i]: 0<=i<m }",
            "{ [j]: 0<=j<n }",
            "{ [k]: 0<=k<m }",
            "{ [l]: 0<=l<n }",
            "{ [p,q]: 0<=p<m and 0<=q<n }",
        ],
        """
        count[i] = sum(j, a[i,j] > 0 and all(k, a[k,j] >= 0))
        best[i] = b[max(l, a[i,l])]  {if=any(l, a[i,l] > 0)}
        total[0] = sum((p,q), a[p,q]**2) + product(p, 1 + min(q, a[p,q]))
        """,
        [pg.GlobalArg("a", np.int32, ("m", "n")), pg.GlobalArg("b", shape=(4,)), "..."],
        silenced_warnings="AmbiguousNesting",
    )
    run = knl.executor(target)
    b = np.arange(4.0) + 10
    for m, n in ((1, 1), (7, 5), (16, 17)):
        a = np.random.default_rng(m).integers(-1, 4, (m, n)).astype(np.int32)
        best = np.zeros(m)
        _, (_, count, total) = run(a=a, b=b, best=best)
        positive = (a > 0).any(1)
        np.testing.assert_array_equal(count, ((a > 0) & (a >= 0).all(0)).sum(1))
        np.testing.assert_array_equal(best, np.where(positive, b[a.max(1)], 0))
        assert total[0] == (a.astype(int) ** 2).sum() + (1 + a.min(1)).prod()


SCANS: dict[str, Any] = {
    "sum": np.cumsum,
    "product": np.cumprod,
    "max": np.maximum.accumulate,
    "min": np.minimum.accumulate,
    "any": np.logical_or.accumulate,
    "all": np.logical_and.accumulate,
}


@few(2, "dtype", ["int8", "float32", "float64", "bool"])
def test_scans_as_numpy(dtype: str, target: str) -> None:
    """Inclusive and exclusive, in one dimension and along rows."""
    inclusive = "\n".join(f"{name}_in[r,i] = {name}(j, a[r,j])" for name in SCANS)
    exclusive = "\n".join(f"{name}_ex[r,i] = {name}(k, a[r,k])" for name in SCANS)
    knl = pg.make_kernel(
        ["{ [r]: 0<=r<m }", "{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }", "{ [k]: 0<=k<i }"],
        f"{inclusive}\n{exclusive}",
        [pg.GlobalArg("a", np.dtype(dtype), ("m", "n")), "..."],
        loop_priority="r, i",
    )
    knl = pg.set_options(knl, return_dict=True, force_scan=True)
    rows = pg.split_iname(knl, "r", 4, outer_tag="g.0", inner_tag="l.0")
    for version in (knl, rows):
        run = version.executor(target)
        for m, n in ((0, 3), (1, 0), (1, 1), (3, 7), (5, 16), (4, 17)):
            a = np.random.default_rng(n).integers(0, 3, (m, n)).astype(dtype)
            _, found = run(a=a)
            for name, accumulate in SCANS.items():
                wanted = accumulate(a, axis=1)
                assert found[f"{name}_in"].dtype == wanted.dtype
                np.testing.assert_array_equal(found[f"{name}_in"], wanted)
                np.testing.assert_array_equal(found[f"{name}_ex"][:, 1:], wanted[:, :-1])


def test_scans_with_nan(target: str) -> None:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<n and 0<=j<=i }", "high[i] = max(j, a[j])\ns[i] = sum(j, a[j])"
    )
    a = np.array([1, -2, np.nan, 5, np.inf])
    _, (high, s) = knl.executor(target)(a=a)
    np.testing.assert_array_equal(high, np.maximum.accumulate(a))
    np.testing.assert_array_equal(s, np.cumsum(a))
