"""Kernels of which one instruction is executed in fewer loops than another."""

from __future__ import annotations

from typing import Any

import numpy as np

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel

PLANE = "{ [i,j]: 0<=i<n and 0<=j<m }"
FOUR = "{ [i,j]: 0<=i<n and 0<=j<4 }"
CALLS = [{"n": n, "m": m} for n, m in ((0, 3), (3, 0), (1, 1), (5, 4))]


def typed(domains: Any, text: str, **options: Any) -> Kernel:
    """Return a kernel of which all variables but sizes have a type."""
    knl = kernel(domains, text, **{"loop_priority": "i, j", **options})
    return pg.add_dtypes(knl, {v: "float64" for v in knl.variables if v not in knl.parameters})


SCALAR = "<> t = 2*a[i]  {id=t, inames=i}\nout[i,j] = t + j  {id=out}"
ARRAY = "b[i] = 2*a[i]  {id=t, inames=i}\nout[i,j] = b[i] + j  {id=out}"


def often(knl: Kernel) -> Kernel:
    """Return the kernel with `t` in the loop over `j`, too."""
    return pg.add_inames_to_insn(knl, "j", "t")


def once(knl: Kernel) -> Kernel:
    """Return the kernel with `t` outside of the loop over `j`."""
    return pg.remove_inames_from_insn(knl, "j", "t")


def expected(a: Any) -> dict[str, Any]:
    """Return what the kernels compute."""
    return {"out": 2 * a[:, None] + np.arange(4.0)}
