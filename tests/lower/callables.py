"""Functions of the user's, and kernels that call them."""

from __future__ import annotations

from typing import Any

import polygen as pg
from polygen.ir.callables import ScalarCallable
from tests.oracle.cases import QUIET

MEANS = """
static inline double mean_d(double a, double b) { return (a + b)/2; }
static inline float mean_f(float a, float b) { return (a + b)/2; }
"""
MEAN = ScalarCallable(
    {"mean_f": "float32, float32 -> float32", "mean_d": "float64, float64 -> float64"}, MEANS
)
DIVISION = """
static inline void divide(int a, int b, int *quotient, double *rest)
{
    *quotient = a / b;
    *rest = a % b;
}
"""
DIVIDE = ScalarCallable({"divide": "int32, int32 -> int32, float64"}, DIVISION)
FUNCTIONS = {"mean": MEAN, "divide": DIVIDE}


def kernel(domain: str, text: str, *data: Any, **given: Any) -> pg.Kernel:
    """Return a kernel that calls functions."""
    return pg.make_kernel(
        domain, text, [*data, "..."], functions=given or FUNCTIONS, silenced_warnings=QUIET
    )
