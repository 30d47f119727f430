"""Reductions that warps share, for tests with a GPU and without one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import polygen as pg
from polygen.ir.kernel import Kernel


def rows(size: int, text: str = "b[i] = sum(j, a[i,j])") -> Kernel:
    """Return a kernel with a row for each group, and an element for each work item."""
    knl = pg.make_kernel(f"{{ [i,j]: 0<=i<n and 0<=j<{size} }}", text)
    return pg.tag_inames(knl, {"i": "g.0", "j": "l.0"})


# For each type a reduction, and what it is.
TYPES: dict[str, tuple[str, Callable[[Any], Sequence[Any]]]] = {
    "int8": ("b[i] = sum<int8>(j, a[i,j])", lambda a: [a.sum(1, np.int8)]),
    "uint16": ("b[i] = max(j, a[i,j])", lambda a: [a.max(1)]),
    "int64": ("b[i], c[i] = argmin(j, a[i,j], j)", lambda a: [a.min(1), a.argmin(1)]),
    "float16": ("b[i] = sum(j, a[i,j])", lambda a: [a.sum(1)]),
    "bfloat16": ("b[i] = max(j, a[i,j])", lambda a: [a.max(1)]),
    "float32": ("b[i], c[i] = argmax(j, a[i,j], j)", lambda a: [a.max(1), a.argmax(1)]),
    "float64": ("b[i] = product(j, a[i,j])", lambda a: [a.prod(1)]),
    "bool": ("b[i] = all(j, a[i,j])", lambda a: [a.all(1)]),
    "complex64": ("b[i] = sum(j, a[i,j])", lambda a: [a.sum(1)]),
    "complex128": ("b[i] = product(j, a[i,j])", lambda a: [a.prod(1)]),
}
