"""Kernels that are called, and kernels that call them."""

from __future__ import annotations

from typing import Any

import numpy as np

import polygen as pg
from tests.oracle.cases import QUIET

RANDOM = np.random.default_rng(2)
SCALE = pg.make_function("{ [k]: 0<=k<m }", "y[k] = s*x[k]", ["m", "s", "x", "y"], name="scale")
NORM = pg.make_function(
    "{ [k]: 0<=k<m }",
    """
    <> square = sum(k, x[k]*x[k])  {id=square}
    y[0] = sqrt(square)            {dep=square}
    """,
    ["m", "x", pg.GlobalArg("y", shape=1)],
    name="length_of",
)
PREFIX = pg.make_function(
    "{ [k]: 1<=k<m }", "x[k] = x[k-1] + x[k]  {if=k < top}", ["m", "top", "x"], name="prefix"
)
LARGEST = pg.make_function(
    ["{ [p,q]: 0<=p<u and 0<=q<v }", "{ [r,s]: 0<=r<u and 0<=s<v }"],
    """
    <> best = max((p,q), z[p,q])  {id=best}
    top[0], bottom[0] = best, min((r,s), z[r,s])  {dep=best}
    """,
    ["u", "v", "z", pg.GlobalArg("top", shape=1), pg.GlobalArg("bottom", shape=1)],
    name="extremes",
)
KERNELS = {"scale": SCALE, "length_of": NORM, "prefix": PREFIX, "extremes": LARGEST}


def kernel(domain: Any, text: str, *data: Any, **options: Any) -> pg.Kernel:
    """Return a kernel that calls those above."""
    return pg.make_kernel(
        domain, text, [*data, "..."], functions=KERNELS, silenced_warnings=QUIET, **options
    )


def without_calls(knl: pg.Kernel) -> pg.Kernel:
    """Return a kernel with all calls inlined."""
    for name in dict.fromkeys(call.function for call in knl.calls):
        knl = pg.inline_callable_kernel(knl, name)
    return knl


ROWS = kernel("{ [i]: 0<=i<n }", "[j]: out[i, j] = scale(n, i, [j]: a[j, i])  {id=row}")
TWICE = kernel(
    "{ [i]: 0<=i<n }",
    """
    [j]: b[i, j] = scale(6, 2, [j]: a[i, j])      {id=first}
    [j]: c[j, i] = scale(6, i + 1, [j]: b[i, j])  {id=second, dep=first, inames=i}
    """,
)
