"""Sums and products in the type of their operands: ``sum<operand>``, ``keep_reduction_types``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import MalformedInstruction, UserError
from tests.lower.test_scans import agrees
from tests.oracle.cases import kernel, split

SQUARE = "{ [i, j]: 0<=i<n and 0<=j<m }"
RANDOM = np.random.default_rng(3)
TEXT = """
    total[i] = sum(j, a[i, j])
    times[i] = product(j, a[i, j]) - sum<float64>(j, 2*a[i, j])
    seen[i] = any(j, a[i, j] > 50)
    low[i] = min(j, a[i, j])
    count[i] = sum(j, a[i, j] > 50)
    """


def types(knl: pg.Kernel, dtype: Any) -> dict[str, str]:
    typed = pg.infer_unknown_types(pg.add_dtypes(knl, {"a": dtype}))
    return {name: str(typed.variables[name].dtype) for name in ("total", "times", "seen", "low")}


def test_types() -> None:
    plain = pg.make_kernel(SQUARE, TEXT)
    kept = pg.make_kernel(SQUARE, TEXT, keep_reduction_types=True)
    assert types(plain, np.int8) == {
        "total": "int64", "times": "float64", "seen": "bool", "low": "int8"
    }  # fmt: skip
    assert types(kept, np.int8) == {
        "total": "int8", "times": "float64", "seen": "bool", "low": "int8"
    }  # fmt: skip
    assert types(kept, np.float32) == types(plain, np.float32)


@pytest.mark.parametrize("target", ["c", "opencl"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.float32])
def test_values(target: str, dtype: Any) -> None:
    knl = pg.make_kernel(
        SQUARE,
        "f(k) := sum(j, a[k, j])\ntotal[i] = f(i)\ntimes[i] = product(j, a[i, j])",
        keep_reduction_types=True,
        target=target,
    )
    for m in (0, 1, 7, 200):
        a = RANDOM.integers(0, 100, (5, m)).astype(dtype)
        _, (times, total) = knl(a=a, n=5, m=m)
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(total, a.sum(axis=1, dtype=dtype), strict=True)
            if np.dtype(dtype).kind != "f":
                np.testing.assert_array_equal(times, a.prod(axis=1, dtype=dtype), strict=True)


def test_truth_values() -> None:
    """NumPy adds truth values in their own type as ``or``."""
    knl = pg.make_kernel("{ [j]: 0<=j<n }", "s[0] = sum<operand>(j, a[j] > 2)")
    for a in ([], [1, 2], [3, 4, 1]):
        _, (s,) = knl(a=np.array(a, np.int32), n=len(a))
        assert s.dtype == np.bool_
        assert bool(s[0]) == bool(np.sum(np.array(a, np.int32) > 2, dtype=np.bool_))


def test_means_what_it_says() -> None:
    text = (
        "b[i] = sum<operand>(j, a[i,j])\nc[i], d[i] = segmented(sum)<operand>(j, a[i,j], a[j,i]>0)"
    )
    data = pg.GlobalArg("a", np.int8, ("n", "n")), pg.GlobalArg("d", np.bool_, ("n",))
    knl = kernel("{ [i,j]: 0<=i,j<n }", text, *data)
    agrees(knl, (0, 1, 5), split("i", 2))


def test_scans_and_segments_of_a_kept_type() -> None:
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i<n and 0<=j<=i }",
        "t[i], <> f = segmented(sum)(j, x[j], s[j])\nr[i] = sum(j, x[j])",
        keep_reduction_types=True,
    )
    x = np.full(9, 100, np.int8)
    _, (r, t) = knl(x=x, s=np.arange(9) % 4 == 0)
    np.testing.assert_array_equal(r, np.cumsum(x, dtype=np.int8), strict=True)
    each = [np.sum(x[4 * (i // 4) : i + 1], dtype=np.int8) for i in range(9)]
    np.testing.assert_array_equal(t, each, strict=True)


def test_it_is_part_of_the_kernel() -> None:
    knl = pg.make_kernel(SQUARE, "f(k) := sum(j, a[k, j])\n" + TEXT, keep_reduction_types=True)
    text = str(knl)
    assert "f(k) := sum<operand>(j, a[k, j])" in text
    assert "product<operand>(j, a[i, j]) - sum<float64>(j, 2*a[i, j])" in text
    assert "any(j," in text
    assert pg.parse_kernel(text) == knl
    assert knl != pg.make_kernel(SQUARE, "f(k) := sum(j, a[k, j])\n" + TEXT)
    written = pg.make_kernel("{ [j]: 0<=j<n }", "b[0] = sum<operand>(j, a[j])")
    assert written == pg.make_kernel(
        "{ [j]: 0<=j<n }", "b[0] = sum(j, a[j])", keep_reduction_types=True
    )


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("b[i] = max<operand>(j, a[i, j])", "max() is never wider than its operand"),
        ("b[i] = any<operand>(j, a[i, j])", "any() is never wider than its operand"),
        ("b[i] = sum<operands>(j, a[i, j])", "'operands' is no element type"),
        ("<operand> b = a[i, 0]", "'operand' is no element type"),
    ],
)
def test_refusals(text: str, what: str) -> None:
    with pytest.raises(MalformedInstruction) as caught:
        pg.make_kernel(SQUARE, text)
    error: UserError = caught.value
    assert what in error.what
    assert error.remedy
