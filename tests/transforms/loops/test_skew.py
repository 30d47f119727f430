"""`skew`: a loop that starts later each time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import polygen as pg
from polygen.errors import (
    IllegalStep,
    InvalidArgument,
    MapLosesInstances,
    MapMixesInames,
    TagConflict,
    UnknownIname,
)
from polygen.ir.domain import parse_domain
from polygen.ir.kernel import Kernel
from tests.oracle.cases import Step, agree, kernel, prior, steps
from tests.transforms.numpy_runs import numpy_agrees

SWEEP = kernel(
    "{ [t,i]: 0<=t<n and 1<=i<n-1 }",
    "a[i] = (a[i-1] + a[i+1])/2  {id=s, inames=t:i}",
    pg.GlobalArg("a", shape=("n",)),
    "...",
    loop_priority="t, i",
)
SIZES = [{"n": n} for n in (0, 1, 3, 5, 8)]


def skewed(outer: str, inner: str, factor: int) -> Step:
    """Return the step that skews a loop."""
    return lambda knl: pg.skew(knl, outer, inner, factor)


def seidel(a: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return sweeps in place."""
    new = a.copy()
    for _ in range(len(a)):
        for i in range(1, len(a) - 1):
            new[i] = (new[i - 1] + new[i + 1]) / 2
    return {"a": new}


def test_new_values() -> None:
    new = pg.skew(SWEEP, "t", "i", 2)
    wanted = parse_domain("[n] -> { [t,i]: 0<=t<n and 1+2*t<=i<n-1+2*t }")
    assert [d.inames for d in new.domains] == [("t", "i")]
    assert new.domains[0].flat.is_equal(wanted.flat)
    assert new.priorities == SWEEP.priorities
    assert pg.replay(SWEEP, new.history) == new
    (back,) = pg.skew(new, "t", "i", -2).domains
    assert back.flat.is_equal(parse_domain("[n] -> { [t,i]: 0<=t<n and 1<=i<n-1 }").flat)
    assert pg.skew(SWEEP, "t", "i", 0) is SWEEP


def test_it_computes_the_same() -> None:
    agree(SWEEP, SIZES, skewed("t", "i", 1), skewed("t", "i", -3))
    knl = kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"], "out[i,j] = a[i]*j")
    agree(knl, SIZES, skewed("i", "j", 1), skewed("i", "j", -1))


def test_loops_may_be_interchanged_then() -> None:
    with pytest.raises(IllegalStep, match=r"\bs\["):
        pg.prioritize_loops(SWEEP, "i, t")
    wave = steps(skewed("t", "i", 2), prior("i, t"))
    agree(SWEEP, SIZES, wave)
    numpy_agrees(SWEEP, wave, seidel)


def test_numpy_agrees() -> None:
    knl = kernel("{ [i,j]: 0<=i,j<n }", "out[i,j] = 2*a[i,j] + i - j")
    numpy_agrees(
        knl,
        skewed("i", "j", 3),
        lambda a: {"out": 2 * a + np.subtract.outer(np.arange(len(a)), np.arange(len(a)))},
        2,
    )


PLANE = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = a[i,j]\nb[i] = 0.0  {id=u}")
COLUMNS = kernel("{ [i,j]: 0<=i,j<n }", "b[i,j] = 0.0  {id=s}\nc[j] = 0.0  {id=u}")


@pytest.mark.parametrize(
    ("knl", "given", "kind", "text"),
    [
        (PLANE, ("i", "k", 1), UnknownIname, "no iname 'k'"),
        (PLANE, ("i", "i", 1), InvalidArgument, "skew: 'i' is named twice.*the one that is skewed"),
        (PLANE, ("i", "j", 1.5), InvalidArgument, "factor=1.5, which is not an integer"),
        (PLANE, ("i", "j", True), InvalidArgument, "factor=True, which is not an integer"),
        (PLANE, ("i", "j", 1), MapLosesInstances, "'u'.* would not be executed where another"),
        (COLUMNS, ("i", "j", 1), MapMixesInames, "mixes .*'u'.* within 'j' alone"),
        (
            pg.tag_inames(PLANE, {"j": "g.0"}),
            ("i", "j", 1),
            TagConflict,
            r"'j' cannot be mapped: it is tagged g\.0",
        ),
    ],
)
def test_refused(knl: Kernel, given: Any, kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind, match="(?s)" + text) as caught:
        pg.skew(knl, *given)
    assert caught.value.remedy or kind in (UnknownIname, InvalidArgument)
