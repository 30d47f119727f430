"""`prioritize_loops`: which of two loops is outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import IllegalStep, InvalidArgument, UnknownIname
from tests.oracle.cases import SIZES, agree, kernel, loops, lowered, prior, steps
from tests.transforms.refusals import refused

SQUARE = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = a[i,j] + i - j")


@pytest.mark.parametrize("order", ["i, j", "j,i", ("j", "i"), ["i", "j"]])
def test_priorities_as_text_or_sequence(order: Any) -> None:
    knl = pg.prioritize_loops(SQUARE, order)
    names = [n.strip() for n in order.split(",")] if isinstance(order, str) else list(order)
    assert knl.priorities == (tuple(names),)
    assert pg.prioritize_loops(knl, order) is knl


def test_in_whatever_order_it_computes_the_same() -> None:
    knl = kernel("{ [i,j,k]: 0<=i<n and 0<=j<=i and 0<=k<3 }", "out[i,j,k] = a[i,j]*k")
    orders = ["i, j, k", "k, j, i", "j, k", "k, i", "j, i"]
    agree(knl, SIZES[:4], *map(prior, orders), steps(prior("j, i"), prior("k, j")))


def test_refused_priorities() -> None:
    refused(UnknownIname, "no iname 'k'", pg.prioritize_loops, SQUARE, "i, k")
    refused(InvalidArgument, "i, j, i names an iname twice", pg.prioritize_loops, SQUARE, "i,j,i")
    refused(InvalidArgument, "inames, outermost first", pg.prioritize_loops, SQUARE, 3)


def test_a_later_priority_reorders_earlier_ones() -> None:
    knl = pg.prioritize_loops(SQUARE, "i, j")
    assert pg.prioritize_loops(knl, "j, i").priorities == (("j", "i"),)
    cube = kernel("{ [i,j,k]: 0<=i,j,k<n }", "out[i,j,k] = 1.0", loop_priority="i, j, k")
    assert pg.prioritize_loops(cube, "k, i").priorities == (("k", "j", "i"), ("k", "i"))
    shear = kernel("{ [i,j]: 1<=i<n and 0<=j<n }", "a[i,j] = a[i-1,j+1]", loop_priority="i, j")
    with pytest.raises(IllegalStep, match="the second would come first"):
        pg.prioritize_loops(shear, "j, i")


def test_priorities_that_contradict_each_other_in_a_circle() -> None:
    knl = kernel("{ [i,j,k]: 0<=i,j,k<n }", "out[i,j,k] = 1.0")
    knl = pg.prioritize_loops(pg.prioritize_loops(knl, "i, j"), "j, k")
    refused(InvalidArgument, "in a circle: ", pg.prioritize_loops, knl, "k, i")


@pytest.mark.parametrize("order", ["i, j", "j, i"])
def test_the_loops_are_in_this_order(order: str) -> None:
    new = pg.prioritize_loops(SQUARE, order)
    assert [x.iname for x in loops(lowered(new))] == order.split(", ")
    assert new.copy(priorities=()) == SQUARE
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(SQUARE, new.history) == new
    run = new.executor("c")
    for n, m in ((1, 1), (2, 5), (7, 3)):
        a = np.arange(float(n * m)).reshape(n, m)
        i, j = np.indices((n, m))
        np.testing.assert_array_equal(run(a=a)[1][0], a + i - j)
