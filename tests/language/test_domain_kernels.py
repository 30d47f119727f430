"""Unusual domains, executed: in C, in OpenCL C, and by the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import islpy as isl
import numpy as np
import pytest

import polygen as pg
from tests.few import few
from tests.oracle.interpreter import interpret

SIZES = (0, 1, 2, 7, 16, 17)
OUT = pg.GlobalArg("out", np.float64, "n")
Element = Callable[[int, int], float]  # of i and n

LINE = "{ [i]: 0<=i<n }"
CASES: dict[str, tuple[Any, str, Element]] = {
    "no braces": ("[i]: 0<=i<n", "out[i] = 1", lambda i, n: 1),
    "parameters, no braces": ("[n] -> [i]: 0<=i<n", "out[i] = 1", lambda i, n: 1),
    "a tuple": (("[i]: 0<=i<n", "{ [j]: 0<=j<n }"), "out[i] = sum(j, 1)", lambda i, n: n),
    "isl sets and texts": (
        [isl.BasicSet("[n] -> { [i]: 0<=i<n }"), "[j]: 0<=j<3", isl.Set("{ [k]: 0<=k<2 }")],
        "out[i] = sum((j, k), 1)",
        lambda i, n: 6,
    ),
    "or": (
        "{ [i]: 0<=i<n and (i < 3 or i >= n - 2) }",
        "out[i] = 1",
        lambda i, n: i < 3 or i >= n - 2,
    ),
    "not": (
        "{ [i]: 0<=i<n and not (2<=i<5) }",
        "out[i] = 1",
        lambda i, n: not 2 <= i < 5,
    ),
    "pieces, beside a loop without": (
        (LINE, "{ [j]: 0<=j<2 or 5<=j<7 }"),
        "out[i] = i + j  {inames=i:j}",
        lambda i, n: i + 6,
    ),
    "pieces": (
        "{ [i]: 0<=i<n and i < 4; [i]: 8 <= i < n }",
        "out[i] = 1 + i",
        lambda i, n: (i < 4 or i >= 8) * (1 + i),
    ),
    "a stride": (
        "{ [i]: 0<=i<n and i mod 3 = 1 }",
        "out[i] = 1 + i",
        lambda i, n: (i % 3 == 1) * (1 + i),
    ),
    "two strides": (
        "{ [i]: 0<=i<n and exists(k: i = 3k + 1 or i = 5k) }",
        "out[i] = 1 + i",
        lambda i, n: (i % 3 == 1 or i % 5 == 0) * (1 + i),
    ),
    "a stride from an outer loop": (
        [LINE, "{ [j]: 0<=j<n and (j - i) mod 4 = 0 }"],
        "out[i] = sum(j, j + 1)",
        lambda i, n: sum(j + 1 for j in range(n) if (j - i) % 4 == 0),
    ),
    "isl rounds quotients down": (
        "{ [i]: 0<=i<n/2 }",
        "out[2*i + 1] = 1",
        lambda i, n: i % 2 == 1,
    ),
    "a hole that moves": (
        [LINE, "{ [j]: 0<=j<n and (j < i or j > i + 1) }"],
        "out[i] = sum(j, j + 1)",
        lambda i, n: sum(j + 1 for j in range(n) if j < i or j > i + 1),
    ),
    "neither convex nor a product": (
        "{ [i, j]: 0<=i,j<n and (j < i or j mod 2 = 0) }",
        "out[i] = sum(j, j + 1)",
        lambda i, n: sum(j + 1 for j in range(n) if j < i or j % 2 == 0),
    ),
    "floors": (
        [LINE, "{ [j]: floor(i/2) <= j <= i }"],
        "out[i] = sum(j, j)",
        lambda i, n: sum(range(i // 2, i + 1)),
    ),
    "least and greatest": (
        [LINE, "{ [j]: max(0, i - 2) <= j < min(n, i + 3) }"],
        "out[i] = sum(j, j)",
        lambda i, n: sum(range(max(0, i - 2), min(n, i + 3))),
    ),
    "a forest": (
        [LINE, "{ [j]: 0<=j<=i }", "{ [k]: j<=k<=i }", "{ [l]: 0<=l<2 }"],
        "out[i] = sum((j, k, l), k + l)",
        lambda i, n: sum(2 * k + 1 for j in range(i + 1) for k in range(j, i + 1)),
    ),
    "negative values": ("{ [i]: -n<i<=0 }", "out[-i] = 2", lambda i, n: 2),
    "an iname that others decide": (
        "{ [i, j]: 0<=i<n and j = 2i + 1 }",
        "out[i] = j",
        lambda i, n: 2 * i + 1,
    ),
    "a bound that is computed": (
        [LINE, "{ [j]: 0<=j<c }"],
        "<> c = i*i % 5\nout[i] = sum(j, j + 1)",
        lambda i, n: sum(range(1, i * i % 5 + 1)),
    ),
    "a union with a bound that is computed": (
        [LINE, "{ [j]: 0<=j<c or c + 1<=j<=c + 2 }"],
        "<> c = i % 3\nout[i] = sum(j, j + 1)",
        lambda i, n: sum(j + 1 for j in range(9) if j != i % 3 and j <= i % 3 + 2),
    ),
    "bounds computed in two loops": (
        [LINE, "{ [j]: 0<=j<c }", "{ [k]: 0<=k<d }"],
        """
        for i
            <> c = i % 4
            <> total = 0.0  {id=start}
            for j
                <> d = j + c
                total = total + sum(k, k + 1)  {id=step, dep=start}
            end
            out[i] = total  {dep=step}
        end
        """,
        lambda i, n: sum(k + 1 for j in range(i % 4) for k in range(j + i % 4)),
    ),
}


@few(11, "name", CASES)
def test_domains(name: str) -> None:
    domains, text, element = CASES[name]
    knl = pg.make_kernel(
        domains, text, [OUT, "..."], name="domains", silenced_warnings="AmbiguousNesting"
    )
    assert pg.parse_kernel(str(knl)) == knl
    for n in SIZES:
        expected = np.array([element(i, n) for i in range(n)], np.float64)
        for device in ("c", "opencl"):
            out = np.zeros(n)
            knl.executor(device).run(None, None, {"out": out})
            np.testing.assert_array_equal(out, expected)
        if n < 8:
            meant = interpret(knl, {"out": np.zeros(n), "n": n}).arrays["out"]
            np.testing.assert_array_equal(meant, expected)


@pytest.mark.parametrize(
    "text",
    [
        "<int32> s = p[i]\n<int32> e = p[i + 1]\nout[i] = sum(j, v[j])",
        """
        with {inames=i}
            <int32> s = p[i]
            <int32> e = p[i + 1]
            out[i] = 0  {id=zero}
        end
        for i, j
            out[i] += v[j]  {dep=zero}
        end
        """,
    ],
)
def test_rows_of_different_lengths(text: str) -> None:
    data = [pg.GlobalArg("p", np.int32, "n + 1"), pg.GlobalArg("v", np.float64, "m"), OUT, "..."]
    knl = pg.make_kernel([LINE, "{ [j]: s<=j<e }"], text, data, name="rows")
    for n in SIZES:
        lengths = np.random.default_rng(n).integers(0, 4, n)
        p = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        v = np.arange(p[-1] + 1.0)
        expected = np.array([v[p[i] : p[i + 1]].sum() for i in range(n)])
        for device in ("c", "opencl"):
            out = np.full(n, -1.0)
            knl.executor(device).run(None, None, {"p": p, "v": v, "out": out})
            np.testing.assert_allclose(out, expected)
