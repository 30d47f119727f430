"""`tile`: loops over tiles around loops over their points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    IllegalStep,
    InvalidArgument,
    NestingNotPossible,
    TagConflict,
    UnknownIname,
)
from polygen.ir.kernel import Kernel
from tests.oracle.cases import Step, agree, kernel, loops, lowered, steps
from tests.transforms.numpy_runs import numpy_agrees

PLANE = kernel("{ [i,j]: 0<=i,j<n }", "out[i,j] = 2*a[i,j] + i - j")
TRIANGLE = kernel("{ [i,j]: 0<=j<=i<n }", "out[i,j] = 2*a[i,j] + j")
SWEEP = kernel(
    "{ [t,i]: 0<=t<n and 1<=i<n-1 }",
    "a[i] = (a[i-1] + a[i+1])/2  {id=s, inames=t:i}",
    pg.GlobalArg("a", shape=("n",)),
    "...",
    loop_priority="t, i",
)
SIZES = [{"n": n} for n in (0, 1, 3, 5, 8)]


def tiles(**sizes: int) -> Step:
    """Return the step that tiles loops."""
    return lambda knl: pg.tile(knl, sizes)


def nest(knl: Kernel) -> list[str]:
    """Return the loops that are generated, outermost first."""
    return [loop.iname for loop in loops(lowered(knl))]


def test_the_nest() -> None:
    new = pg.tile(PLANE, {"i": 2, "j": 3})
    assert nest(new) == ["i_outer", "j_outer", "i_inner", "j_inner"]
    other = pg.tile(PLANE, {"j": 2, "i": 3})
    assert nest(other) == ["j_outer", "i_outer", "j_inner", "i_inner"]
    assert pg.replay(PLANE, new.history) == new
    assert [step.name for step in new.history] == ["tile"]
    assert nest(pg.tile(pg.prioritize_loops(PLANE, "j, i"), {"i": 2, "j": 3})) == nest(new)
    agree(PLANE, SIZES, tiles(i=2, j=3), tiles(j=2, i=3), tiles(j=4))


def test_it_computes_the_same() -> None:
    agree(TRIANGLE, SIZES, tiles(i=2, j=2), tiles(j=3, i=2))
    agree(SWEEP, SIZES, steps(lambda k: pg.skew(k, "t", "i", 1), tiles(t=2, i=3)))


def test_time_tiles_need_a_skew() -> None:
    with pytest.raises(IllegalStep, match=r"tile would.*\bs\["):
        pg.tile(SWEEP, {"t": 2, "i": 3})


@pytest.mark.parametrize("sizes", [{"i": 8, "j": 8}, {"j": 4, "i": 3}])
def test_numpy_agrees(sizes: dict[str, int]) -> None:
    numpy_agrees(
        PLANE,
        tiles(**sizes),
        lambda a: {"out": 2 * a + np.subtract.outer(np.arange(len(a)), np.arange(len(a)))},
        2,
    )


def test_tags() -> None:
    new = pg.tile(PLANE, {"i": 2, "j": 3}, {"i": "g.0"}, {"i": "l.0", "j": "unr"})
    assert {i: str(tag) for i, tag in new.tags.items()} == {
        "i_outer": "g.0",
        "i_inner": "l.0",
        "j_inner": "unr",
    }
    assert pg.replay(PLANE, new.history) == new
    both = {"i": "g.1", "j": "g.0"}, {"i": "l.1", "j": "l.0"}
    agree(PLANE, SIZES, lambda k: pg.tile(k, {"i": 2, "j": 3}, *both))
    with pytest.raises(IllegalStep, match="tile would"):
        pg.tile(SWEEP, {"i": 2}, {"i": "g.0"})
    with pytest.raises(InvalidArgument, match="'j' has a tag, and is not tiled"):
        pg.tile(PLANE, {"i": 2}, {"j": "g.0"})
    with pytest.raises(UnknownIname, match="no iname 'k'"):
        pg.tile(PLANE, {"i": 2}, {"k": "g.0"})


def test_time_tiles_that_are_legal_only_as_a_whole() -> None:
    skewed = pg.skew(SWEEP, "t", "i", 1)
    assert len(pg.tile(skewed, {"t": 2, "i": 3}).history) == 2


APART = kernel("{ [i,j]: 0<=i,j<n }", "b[i] = 0.0\nc[j] = 0.0")
OUTER = kernel("{ [i,j]: 0<=i,j<n }", "b[i] = 0.0  {id=s}\nc[i,j] = 0.0")
BOUNDS = kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"], "out[i,j] = 0.0")
SUM = kernel("{ [i,j]: 0<=i,j<n }", "out[i] = sum(j, a[i,j])")


@pytest.mark.parametrize(
    ("knl", "sizes", "kind", "text"),
    [
        (PLANE, {"k": 2}, UnknownIname, "no iname 'k'"),
        (PLANE, {}, InvalidArgument, "sizes={}, which is not a dictionary"),
        (PLANE, {"i": 0}, InvalidArgument, "sizes={'i': 0}, which is not"),
        (PLANE, {"i": True}, InvalidArgument, "which is not"),
        (PLANE, "i", InvalidArgument, "sizes='i', which is not"),
        (SUM, {"i": 2, "j": 2}, NestingNotPossible, "'j' is no loop: no instr.*reduced over"),
        (SUM, {"j": 2, "i": 2}, NestingNotPossible, "'j' is no loop: no instr.*reduced over"),
        (APART, {"i": 2, "j": 2}, NestingNotPossible, "would be j_outer, j_inner, and not i_outer"),
        (OUTER, {"i": 2, "j": 2}, NestingNotPossible, "does not permit these tiles"),
        (BOUNDS, {"i": 2, "j": 2}, NestingNotPossible, "would be i_outer, i_inner, j_outer, j_inn"),
        (pg.tag_inames(PLANE, {"i": "g.0"}), {"i": 2}, TagConflict, "tagged g.0"),
    ],
)
def test_refused(knl: Kernel, sizes: Any, kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind, match="(?s)" + text):
        pg.tile(knl, sizes)
