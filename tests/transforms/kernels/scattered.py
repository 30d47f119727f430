"""Kernels in which data says which element is written."""

from __future__ import annotations

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel

LINE = "{ [i]: 0<=i<n }"
PARALLEL = {"i": "g.0"}


def scatter(text: str = "a[idx[i]] = b[i]  {id=s}", domain: str = LINE, *data: object) -> Kernel:
    """Return a kernel that writes 'a' where 'idx' says."""
    shape = "m, n" if ",j]" in text.partition("=")[0] else "m"
    idx = [pg.GlobalArg("idx", "int32", "k")] if "idx[jdx" in text else []
    return kernel(domain, text, pg.GlobalArg("a", shape=shape), *idx, *data, "...")


def injective(knl: Kernel, *names: str) -> Kernel:
    """Return a kernel of which these arrays are claimed to hold no value twice."""
    for name in names:
        knl = pg.assume_injective(knl, name)
    return knl
