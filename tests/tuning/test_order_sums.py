"""Reductions in the order in which memory is walked: their results and their loops."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NotOptimized, UnknownInstruction
from polygen.ir.kernel import Kernel
from tests.operators import OPERATIONS, ROWS, TYPES, arrays, expected
from tests.operators import kernel as rows
from tests.oracle.cases import kernel as made
from tests.properties.together import run_together

PRODUCT = "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<l }"
MATRIX = "{ [i,j]: 0<=i<n and 0<=j<m }"
SIZES = ((3, 5, 17), (1, 2049, 8), (2, 1, 0), (0, 3, 4), (2, 3, 1), (5, 0, 3))


def typed(domains: Any, text: str, dtype: str = "float64", *data: Any, **options: Any) -> Kernel:
    knl = made(domains, text, *data, **options)
    inputs = {a.name: dtype for a in knl.arrays if a.name not in knl.writers and a.dtype is None}
    return pg.add_dtypes(knl, inputs)


def ordered(*args: Any, **options: Any) -> Kernel:
    knl = typed(*args, **options)
    new = pg.order_sums(knl)
    assert new is not knl
    assert pg.order_sums(new) is new  # there is nothing left to gain
    return new


def small(shape: Any, dtype: Any = np.float64, seed: int = 1) -> Any:
    """Return small integers: their sums and products are exact in all types."""
    return np.random.default_rng(seed).integers(-3, 4, size=shape).astype(dtype)


def loops(knl: Kernel) -> list[str]:
    """Return the loops of the C code, each behind so many spaces as it is deep."""
    source = pg.generate_code(knl, "c").source
    return [f"{m[1]}{m[2]}"[3:] for m in re.finditer(r"\n( +)for \(int (\w+)", source)]


# --- all operations and types


@pytest.mark.parametrize(("layout", "size"), [("N0,N1", 50), ("N1,N0", 50), ("N0,N1", 41)])
def test_operations_and_types(
    layout: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels: list[tuple[Kernel, Mapping[str, Any]]] = []
    for name in TYPES:
        knl = pg.set_options(rows(name, size), silenced_warnings=["NotVectorized"])
        used = {n: v for n, v in arrays(name, size).items() if n in knl.variables}
        dtypes = {n: v.dtype for n, v in used.items()}
        knl = pg.tag_array_axes(pg.add_dtypes(knl, dtypes), ", ".join(used), layout)
        new = pg.order_sums(knl)
        assert new is not knl
        used = {n: np.asarray(v, order="F" if layout == "N0,N1" else "C") for n, v in used.items()}
        outputs = {n: np.zeros_like(v) for n, v in expected(name, size).items()}
        kernels.append((new, used | outputs | {"n": ROWS}))
    for name, found in zip(TYPES, run_together(kernels, "c", monkeypatch, ()), strict=True):
        assert found is not None
        for each, values in expected(name, size).items():
            np.testing.assert_array_equal(found[each], values, err_msg=f"{name} {each}")
