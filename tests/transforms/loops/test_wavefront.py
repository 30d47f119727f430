"""`wavefront`: in-place sweeps in parallel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    IllegalStep,
    InvalidArgument,
    MapMixesInames,
    NestingNotPossible,
    TagConflict,
    UnknownIname,
)
from polygen.ir.kernel import Kernel
from tests.oracle.cases import Step, agree, kernel

A = pg.GlobalArg("a", shape="n, n")
FIVE = kernel(
    "{ [i,j]: 1<=i,j<n-1 }",
    "a[i,j] = (a[i-1,j] + a[i+1,j] + a[i,j-1] + a[i,j+1])/4  {id=s}",
    A,
    "...",
    loop_priority="i, j",
)
NINE = kernel(
    "{ [i,j]: 1<=i,j<n-1 }",
    "a[i,j] = a[i-1,j-1] + a[i-1,j+1] + a[i,j-1] - a[i+1,j-1]  {id=s}",
    A,
    "...",
    loop_priority="i, j",
)
FAR = kernel(
    "{ [i,j]: 1<=i<n and 0<=j<n-6 }", "a[i,j] = a[i-1,j+6]  {id=s}", A, "...", loop_priority="i, j"
)
SIZES = [{"n": n} for n in (0, 1, 2, 3, 4, 7)]


def waves(**options: Any) -> Step:
    """Return the step."""
    return lambda knl: pg.wavefront(knl, "i", "j", **options)


def test_it_computes_the_same() -> None:
    agree(FIVE, SIZES, waves(), waves(factor=2), waves(tag="for"))
    agree(NINE, SIZES, waves(), waves(factor=3))


def test_the_least_factor() -> None:
    assert pg.wavefront(FIVE, "i", "j") == pg.wavefront(FIVE, "i", "j", factor=1)
    assert pg.wavefront(NINE, "i", "j") == pg.wavefront(NINE, "i", "j", factor=2)
    new = pg.wavefront(FIVE, "i", "j")
    assert pg.replay(FIVE, new.history) == new
    assert [step.name for step in new.history] == ["wavefront"]
    assert pg.is_legal(NINE, pg.wavefront, "i", "j", factor=7)


def test_numpy_agrees() -> None:
    new = pg.wavefront(FIVE, "i", "j")
    for target in ("c", "opencl"):
        run = new.executor(target)
        for n in (0, 1, 2, 7, 8, 9):
            a = np.random.default_rng(n).random((n, n))
            wanted = a.copy()
            for i in range(1, n - 1):
                for j in range(1, n - 1):
                    around = wanted[i - 1, j] + wanted[i + 1, j] + wanted[i, j - 1]
                    wanted[i, j] = (around + wanted[i, j + 1]) / 4
            _, (found,) = run(a=a.copy(), **({} if n else {"n": 0}))
            np.testing.assert_allclose(found, wanted, rtol=1e-14)


SUM = kernel("{ [i,j]: 0<=i,j<n }", "out[i] = sum(j, a[i,j])")
APART = kernel("{ [i,j]: 0<=i,j<n }", "b[i] = 0.0\nc[j] = 0.0")


@pytest.mark.parametrize(
    ("knl", "given", "kind", "text"),
    [
        (NINE, {"factor": 1}, IllegalStep, "would change what kernel"),
        (FAR, {}, IllegalStep, "would change what kernel"),
        (FIVE, {"outer": "q"}, UnknownIname, "no iname 'q'"),
        (FIVE, {"outer": "j"}, InvalidArgument, "'j' is named twice"),
        (FIVE, {"factor": 0}, InvalidArgument, "factor=0, which is not a positive integer"),
        (FIVE, {"tag": "q.0"}, InvalidArgument, "'q.0' is no iname tag"),
        (SUM, {}, NestingNotPossible, "are not nested in one another"),
        (FIVE, {"outer": "j", "inner": "i"}, NestingNotPossible, "of 'i', but inside of it"),
        (APART, {}, MapMixesInames, "the map mixes"),
        (pg.tag_inames(SUM, "i: g.1"), {}, NestingNotPossible, "are not nested in one another"),
        (pg.tag_inames(FIVE, "j: unr"), {}, TagConflict, "tagged unr"),
    ],
)
def test_refused(knl: Kernel, given: dict[str, Any], kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind) as caught:
        options: dict[str, Any] = {"outer": "i", "inner": "j", **given}
        pg.wavefront(knl, **options)
    assert text in str(caught.value)
