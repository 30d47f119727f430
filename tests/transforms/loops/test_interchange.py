"""`interchange`: two loops change places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import IllegalStep, InvalidArgument, NestingNotPossible, UnknownIname
from polygen.ir.kernel import Kernel
from tests.oracle.cases import Step, agree, kernel, loops, lowered
from tests.transforms.numpy_runs import numpy_agrees

PLANE = kernel("{ [i,j]: 0<=i,j<n }", "out[i,j] = 2*a[i,j] + i - j")
CUBE = kernel("{ [i,j,k]: 0<=i,j,k<n }", "out[i,j,k] = a[i,j] + k")
TRIANGLE = kernel("{ [i,j]: 0<=j<=i<n }", "out[i,j] = 2*a[i,j]")
COLUMNS = kernel("{ [i,j]: 1<=i<n and 0<=j<n }", "a[i,j] = a[i-1,j] + a[i,j]", loop_priority="i, j")
SIZES = [{"n": n} for n in (0, 1, 3, 5)]


def swap(first: str, second: str) -> Step:
    """Return the step that lets two loops change places."""
    return lambda knl: pg.interchange(knl, first, second)


def nest(knl: Kernel) -> list[str]:
    """Return the loops that are generated, outermost first."""
    return [loop.iname for loop in loops(lowered(knl))]


@pytest.mark.parametrize(
    ("pair", "order"),
    [("ij", "jik"), ("ik", "kji"), ("ki", "kji"), ("jk", "ikj")],
)
def test_only_these_two_change_places(pair: str, order: str) -> None:
    new = pg.interchange(CUBE, *pair)
    assert "".join(nest(new)) == order
    assert nest(pg.interchange(new, *pair)) == nest(CUBE)
    assert pg.replay(CUBE, new.history) == new
    agree(CUBE, SIZES, swap(*pair))


def test_priorities_that_are_there_already() -> None:
    knl = pg.prioritize_loops(CUBE, "k, i, j")
    assert nest(pg.interchange(knl, "i", "k")) == ["i", "k", "j"]
    assert pg.interchange(knl, "i", "k").priorities == (("i", "k", "j"),)


def test_what_is_inside_stays_inside() -> None:
    knl = kernel("{ [j,k,i]: 0<=i,j,k<n }", "out[i,j,k] = a[i,j] + k", loop_priority="i, j")
    assert nest(knl) == ["k", "i", "j"]
    assert nest(pg.interchange(knl, "k", "i")) == ["i", "k", "j"]


def test_it_computes_the_same() -> None:
    agree(TRIANGLE, SIZES, swap("i", "j"))
    agree(COLUMNS, SIZES, swap("i", "j"))
    assert nest(pg.interchange(COLUMNS, "i", "j")) == ["j", "i"]


def test_numpy_agrees() -> None:
    numpy_agrees(
        PLANE,
        swap("i", "j"),
        lambda a: {"out": 2 * a + np.subtract.outer(np.arange(len(a)), np.arange(len(a)))},
        2,
    )


def test_a_dependence_that_would_turn_around() -> None:
    knl = kernel(
        "{ [t,i]: 0<=t<n and 1<=i<n }",
        "a[t+1,i] = a[t,i-1] + a[t,i+1]  {id=s}",
        loop_priority="t, i",
    )
    with pytest.raises(IllegalStep, match=r"interchange.*\bs\["):
        pg.interchange(knl, "t", "i")


APART = kernel("{ [i,j]: 0<=i,j<n }", "b[i] = 0.0\nc[j] = 0.0")
OUTER = kernel("{ [i,j]: 0<=i,j<n }", "b[i] = 0.0  {id=s}\nc[i,j] = 0.0")
BOUNDS = kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"], "out[i,j] = 0.0")
SUM = kernel("{ [i,j]: 0<=i,j<n }", "out[i] = sum(j, a[i,j])")


@pytest.mark.parametrize(
    ("knl", "given", "kind", "text"),
    [
        (PLANE, ("i", "k"), UnknownIname, "no iname 'k'"),
        (PLANE, ("i", 3), InvalidArgument, "second=3, which is not the name of an iname"),
        (PLANE, ("i", "i"), NestingNotPossible, "'i' and 'i' are not nested in one another"),
        (APART, ("i", "j"), NestingNotPossible, "'i' and 'j' are not nested"),
        (SUM, ("i", "j"), NestingNotPossible, "'i' and 'j' are not nested"),
        (pg.tag_inames(PLANE, {"i": "g.0"}), ("i", "j"), NestingNotPossible, "are not nested"),
        (OUTER, ("i", "j"), NestingNotPossible, "of 'j' cannot be outside of that of 'i'.*dupl"),
        (BOUNDS, ("j", "i"), NestingNotPossible, "structure puts 'i' outside"),
    ],
)
def test_refused(knl: Kernel, given: Any, kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind, match="(?s)" + text):
        pg.interchange(knl, *given)
