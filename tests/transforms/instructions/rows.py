"""Kernels of a few instructions in one loop."""

from __future__ import annotations

from typing import Any

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel

LINE = "{ [i]: 0<=i<n }"


def typed(text: str, *data: object, domains: Any = LINE) -> Kernel:
    """Return a kernel of which all variables but sizes have a type."""
    knl = kernel(domains, text, *data)
    others = [v for v in knl.variables if v not in (*knl.parameters, "idx")]
    return pg.add_dtypes(knl, dict.fromkeys(others, "float64"))


CHAIN = typed("b[i] = a[i]  {id=x}\nc[i] = 2*b[i]  {id=y}\nd[i] = c[i] + 1  {id=z, dep=x}")
APART = typed("b[i] = 2*a[i]  {id=x}\nc[i] = a[i] + 1  {id=y}")
SCATTER = typed(
    "a[idx[i]] = b[i]  {id=x}\nc[i] = a[i]  {id=y}\nd[i] = c[i]  {id=z, dep=x:y}",
    pg.GlobalArg("a", shape="n"),
)


def before(knl: Kernel, insn_id: str) -> set[str]:
    """Return what an instruction depends on directly."""
    return set(knl.instruction(insn_id).depends_on)
