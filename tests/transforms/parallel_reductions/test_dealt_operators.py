"""All operations and types in reductions that groups share."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.few import few
from tests.operators import check


def dealt(knl: Kernel) -> Kernel:
    """Rows shared by two groups of work items with two numbers in flight each."""
    return pg.parallelize_reduction(knl, "*", blocks=2, threads=8, items=2)


@few(1, "dtype", ["int8", "float16"])
def test_operations_and_types(monkeypatch: pytest.MonkeyPatch, dtype: str) -> None:
    check([(dealt, 45)], "c", monkeypatch, (dtype,))
