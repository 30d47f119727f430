"""Subscripts from tables of constants: whether two are equal, the table says itself."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.access.accesses import touched
from polygen.analysis.integers.known_facts import is_never_written
from polygen.analysis.pairs.indirect_accesses import may_be_equal
from polygen.ir.kernel import Kernel
from tests.analysis.flat import points, where
from tests.oracle.cases import kernel

VALUES = range(3)


def _kernel(table: list[int], index: str) -> Kernel:
    known = pg.TemporaryVariable(
        "t", "int32", initializer=np.array(table, np.int32), read_only=True
    )
    with pg.without_proofs():
        return kernel(
            "{ [i]: 0<=i<3 }", f"x[t[{index}]] = 1 {{id=s}}", known, pg.GlobalArg("x", shape=9)
        )


def _pairs(knl: Kernel) -> set[tuple[int, ...]]:
    (write,) = touched(knl, "s")["x"]
    assert write.reference is not None
    return points(may_be_equal(knl, write.reference, write.reference), ["i", "i'"], VALUES)


def test_no_value_is_there_twice() -> None:
    knl = _kernel([4, 8, 0], "i")
    assert _pairs(knl) == where(lambda i, other: i == other, 2, VALUES)
    assert is_never_written(knl, "t")
    # So the scatter may run in any order.
    assert pg.tag_inames(knl, {"i": "g.0"}).tags


def test_a_value_is_there_twice() -> None:
    knl = _kernel([4, 8, 4], "i")
    assert _pairs(knl) == where(lambda *_: True, 2, VALUES)
    with pytest.raises(pg.errors.CannotProve):
        pg.tag_inames(knl, {"i": "g.0"})


def test_equal_subscripts_give_equal_values() -> None:
    assert _pairs(_kernel([4, 8, 0], "i//2")) == where(lambda i, o: i // 2 == o // 2, 2, VALUES)


def test_a_table_that_may_be_written() -> None:
    text = "idx[i] = i {id=w}\nx[idx[i]] = 1 {id=s, dep=w}"
    with pg.without_proofs():
        knl = kernel("{ [i]: 0<=i<3 }", text, pg.TemporaryVariable("idx", "int32", 3), "...")
    (write,) = touched(knl, "s")["x"]
    assert write.reference is not None
    assert not is_never_written(knl, "idx")
    found = may_be_equal(knl, write.reference, write.reference)
    assert points(found, ["i", "i'"], VALUES) == where(lambda *_: True, 2, VALUES)


def test_subscripts_of_a_table_that_are_not_affine() -> None:
    table = pg.GlobalArg("idx", "int32", 9)
    with pg.without_proofs():
        knl = kernel("{ [i]: 0<=i<3 }", "x[idx[i//m]] = 1 {id=s}", table, "...")
        knl = pg.assume_injective(knl, "idx")
    (write,) = touched(knl, "s")["x"]
    assert write.reference is not None
    found = may_be_equal(knl, write.reference, write.reference)
    assert points(found, ["i", "i'"], VALUES) == where(lambda *_: True, 2, VALUES)
