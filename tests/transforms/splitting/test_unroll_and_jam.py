"""`unroll_and_jam`: copies of a loop's body inside of the loops in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    IllegalStep,
    InvalidArgument,
    NameTaken,
    NestingNotPossible,
    TagConflict,
    UnknownIname,
)
from polygen.ir.kernel import Kernel
from tests.oracle.cases import Step, agree, kernel, loops, lowered
from tests.transforms.numpy_runs import numpy_agrees
from tests.transforms.splitting.test_split_iname import assert_bijection

PLANE = kernel("{ [i,j]: 0<=i,j<n }", "out[i,j] = 2*a[i,j] + i - j", loop_priority="i, j")
TRIANGLE = kernel("{ [i,j]: 0<=j<=i<n }", "out[i,j] = 2*a[i,j] + j", loop_priority="i, j")
CUBE = kernel(
    "{ [i,j,k]: 0<=i,j,k<n }",
    "c[i,j] = c[i,j] + a[i,k]*b[k,j]  {id=s, inames=i:j:k}",
    loop_priority="i, k, j",
)
SIZES = [{"n": n} for n in (0, 1, 2, 3, 5)]


def jammed(iname: str, factor: int) -> Step:
    """Return the step."""
    return lambda knl: pg.unroll_and_jam(knl, iname, factor)


def nest(knl: Kernel) -> list[str]:
    """Return the loops that are generated, outermost first."""
    return [loop.iname for loop in loops(lowered(knl))]


@pytest.mark.parametrize("knl", [PLANE, TRIANGLE, CUBE], ids=["plane", "triangle", "cube"])
def test_it_computes_the_same(knl: Kernel) -> None:
    agree(knl, SIZES, jammed("i", 2), jammed("i", 3), jammed("j", 2))
    assert_bijection(knl, pg.unroll_and_jam(knl, "i", 3), "i", 3)


def test_the_nest() -> None:
    assert nest(pg.unroll_and_jam(CUBE, "i", 2)) == ["i_outer", "k", "j"]
    assert nest(pg.unroll_and_jam(CUBE, "k", 2)) == ["i", "k_outer", "j"]
    new = pg.unroll_and_jam(CUBE, "i", 2, outer_iname="p", inner_iname="q")
    assert nest(new) == ["p", "k", "j"]
    assert pg.replay(CUBE, new.history) == new
    assert [step.name for step in new.history] == ["unroll_and_jam"]


def test_numpy_agrees() -> None:
    numpy_agrees(
        PLANE,
        jammed("i", 8),
        lambda a: {"out": 2 * a + np.subtract.outer(np.arange(len(a)), np.arange(len(a)))},
        2,
    )


DOWN = kernel(
    "{ [i,j]: 1<=i<n and 0<=j<n-1 }",
    "a[i,j] = a[i-1,j+1]  {id=s}",
    pg.GlobalArg("a", shape="n, n"),
    "...",
    loop_priority="i, j",
)
SUM = kernel("{ [i,j]: 0<=i,j<n }", "out[i] = sum(j, a[i,j])")
OUTER = kernel("{ [i,j]: 0<=i,j<n }", "b[i] = 0.0  {id=s}\nc[i,j] = 0.0")
BOUNDS = kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"], "out[i,j] = 0.0")


@pytest.mark.parametrize(
    ("knl", "given", "kind", "text"),
    [
        (DOWN, ("i", 2), IllegalStep, "unroll_and_jam would change what kernel"),
        (PLANE, ("k", 2), UnknownIname, "no iname 'k'"),
        (PLANE, ("i", 0), InvalidArgument, "factor=0, which is not a positive integer"),
        (SUM, ("j", 2), NestingNotPossible, "'j' is no loop"),
        (OUTER, ("i", 2), NestingNotPossible, "'i_inner' cannot be inside of all the loops in 'i'"),
        (BOUNDS, ("i", 2), NestingNotPossible, "cannot be inside of all the loops in 'i': j"),
        (pg.tag_inames(PLANE, "i: unr"), ("i", 2), TagConflict, "tagged unr"),
    ],
)
def test_refused(knl: Kernel, given: Any, kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind) as caught:
        pg.unroll_and_jam(knl, *given)
    assert text in str(caught.value)


def test_names_that_are_taken() -> None:
    with pytest.raises(NameTaken, match="already has a 'j'"):
        pg.unroll_and_jam(PLANE, "i", 2, inner_iname="j")
