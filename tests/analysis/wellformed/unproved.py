"""Kernels that are made without being looked at, and small domains counted through."""

from __future__ import annotations

from typing import Any

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel

LINE = "{ [i]: 0<=i<n }"
SQUARE = "{ [i, j]: 0<=i<n and 0<=j<m }"


def unproved(domains: Any, text: str, *data: Any, **options: Any) -> Kernel:
    """Return a kernel of which nothing is checked, its rules and calls expanded."""
    with pg.without_proofs():
        return kernel(domains, text, *data, **options).expanded


def array(name: str, *shape: str, dtype: str = "float64", **options: Any) -> pg.GlobalArg:
    """Return an array argument."""
    return pg.GlobalArg(name, dtype, ", ".join(shape), **options)
