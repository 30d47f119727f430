"""`add_dependency`: an instruction comes after another."""

from __future__ import annotations

import numpy as np

import polygen as pg
from polygen.errors import DependencyCycle, NothingMatches, UnknownInstruction
from tests.oracle.cases import SIZES, agree, kernel
from tests.transforms.instructions.rows import APART, CHAIN, LINE, before, typed
from tests.transforms.refusals import refused


def test_dependencies_that_are_added() -> None:
    new = pg.add_dependency(APART, "x", "writes:c")
    assert before(new, "x") == {"y"}
    assert before(new, "y") == set()
    assert [i.id for i in pg.find_instructions(new)] == ["x", "y"]
    assert pg.add_dependency(new, "x", "y") is new
    assert pg.add_dependency(APART, "x", "x") is APART
    assert before(pg.add_dependency(APART, "*", "y"), "y") == set()
    agree(APART, SIZES, lambda knl: pg.add_dependency(knl, "x", "y"))


def test_an_added_dependency_orders_the_code() -> None:
    text = str(pg.generate_code(pg.add_dependency(APART, "x", "y"), "c"))
    assert text.index("c[i] =") < text.index("b[i] =")


def test_dependencies_that_are_refused() -> None:
    refused(DependencyCycle, "must come after another of them", pg.add_dependency, CHAIN, "x", "z")
    loops = kernel(
        [LINE, "{ [j]: 0<=j<n }"], "b[i] = a[i]  {id=x}\nc[j] = b[j]  {id=y}\nd[i] = a[i]  {id=z}"
    )
    refused(DependencyCycle, "one loop only: i, j", pg.add_dependency, loops, "z", "y")
    refused(UnknownInstruction, "no instruction 'q'", pg.add_dependency, CHAIN, "q", "x")
    refused(NothingMatches, "matches 'q\\*'", pg.add_dependency, CHAIN, "x", "q*")


def test_it_computes_what_numpy_does() -> None:
    run = pg.add_dependency(APART, "x", "y").executor("c")
    for n in (0, 1, 7):
        a = np.arange(float(n))
        _, (b, c) = run(a=a, **({} if n else {"n": 0}))
        np.testing.assert_array_equal(b, 2 * a)
        np.testing.assert_array_equal(c, a + 1)


def test_each_that_matches_comes_after_each() -> None:
    knl = typed(
        "b[i] = a[i]  {id=x}\nc[i] = a[i]  {id=y}\nd[i] = a[i]  {id=z}\ne[i] = a[i]  {id=w}"
    )
    new = pg.add_dependency(knl, "writes:d or writes:e", ["x", "y"])
    assert [before(new, i.id) for i in knl.instructions] == [set(), set(), {"x", "y"}, {"x", "y"}]
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(knl, new.history) == new
