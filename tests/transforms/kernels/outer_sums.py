"""A kernel of two sizes, and what it computes."""

from __future__ import annotations

import numpy as np

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel

KNL = pg.add_dtypes(
    kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = n*a[i] + b[j]", assumptions="n >= 2"),
    {"a, b, out": "float64"},
)


def names(knl: Kernel) -> list[str]:
    """Return the names of the arguments."""
    return [argument.name for argument in knl.arguments]


def check(knl: Kernel, a: str = "a", b: str = "b") -> None:
    """Check results on both targets, where the arrays have these names."""
    for target in ("c", "opencl"):
        for n, m in ((2, 0), (3, 1), (4, 7)):
            first, second = np.arange(float(n)), 1 - np.arange(float(m))
            given = {a: first, b: second}
            _, (found,) = knl.executor(target)(**given, **({} if m else {"m": 0}))
            np.testing.assert_array_equal(found, n * first[:, None] + second)
