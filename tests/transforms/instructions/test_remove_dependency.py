"""`remove_dependency`: dependencies that nothing needs go."""

from __future__ import annotations

from typing import Any

import pytest

import polygen as pg
from polygen.errors import CannotProve, IllegalStep, NothingMatches
from polygen.ir.kernel import Kernel
from tests.oracle.cases import SIZES, agree, grid, kernel
from tests.transforms.instructions.rows import APART, CHAIN, LINE, SCATTER, before, typed
from tests.transforms.refusals import refused


def test_a_dependency_that_others_imply_may_go() -> None:
    new = pg.remove_dependency(CHAIN, "z", "x")
    assert before(new, "z") == {"y"}
    agree(CHAIN, SIZES, lambda knl: pg.remove_dependency(knl, "z", "x"), grid("i", 4))
    assert before(pg.remove_dependency(SCATTER, "z", "x"), "z") == {"y"}
    text = "a[i] = a[i-1] + b[i]  {id=x}\n<> t = a[i]  {id=y}\nc[i] = t  {id=z, dep=x}"
    scan = kernel("{ [i]: 1<=i<n }", text)
    assert before(pg.remove_dependency(scan, "z", "x"), "z") == {"y"}


def test_a_dependency_on_what_has_nothing_in_common_may_go() -> None:
    new = pg.remove_dependency(pg.add_dependency(APART, "x", "y"), "x", "*")
    assert new == APART


def test_a_dependency_on_instances_goes_too() -> None:
    knl = kernel(LINE, "b[i] = a[i]  {id=x}\nc[i] = 2*a[i]  {id=y, dep=x[{ [i] -> [i'] : i'=i }]}")
    assert knl.instruction("y").happens_after
    assert not pg.remove_dependency(knl, "y", "x").instruction("y").happens_after


WRITE_AFTER_READ = typed("b[i] = a[i]  {id=x, dep=*}\na[i] = 2*c[i]  {id=y, dep=x}")


@pytest.mark.parametrize(
    ("knl", "later", "earlier"),
    [(CHAIN, "y", "x"), (WRITE_AFTER_READ, "y", "x"), (CHAIN, "*", "*")],
)
def test_a_dependency_that_is_needed_stays(knl: Kernel, later: str, earlier: str) -> None:
    text = "remove_dependency would.*leaves open which of two instances comes first"
    refused(IllegalStep, text, pg.remove_dependency, knl, later, earlier)


def test_a_dependency_that_data_may_need_stays() -> None:
    refused(CannotProve, "assume_independent", pg.remove_dependency, SCATTER, "y", "x")
    knl = pg.assume_independent(SCATTER, "x", "y")
    assert before(pg.remove_dependency(knl, "y", "x"), "y") == set()
    remove: Any = pg.remove_dependency
    assert before(remove(SCATTER, "y", "x", unsafe=True), "y") == set()


def test_a_dependency_that_is_not_there() -> None:
    text = "nothing that 'x' means depends directly on anything that 'z' means"
    refused(NothingMatches, text, pg.remove_dependency, CHAIN, "x", "z")
