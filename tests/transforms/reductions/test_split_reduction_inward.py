"""`split_reduction_inward`: what a reduction runs over becomes one inside of it."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    InameNeeded,
    InvalidArgument,
    NoSuchReduction,
    ReductionNotNestable,
    UnknownIname,
    UnknownInstruction,
)
from polygen.ir.kernel import Kernel
from tests.oracle.cases import SIZES, Step, agree
from tests.transforms.reductions.nested_sums import (
    CUBE,
    SHARED,
    TRIANGLE,
    Nest,
    cube_becomes,
    inward,
)

SPLITS: list[tuple[Step, Nest, Nest]] = [
    (inward("i"), [("j", "k"), ("i",)], [("x", "y")]),
    (inward("k, i"), [("j",), ("i", "k")], [("x", "y")]),
    (inward("y", "u"), [("i", "j", "k")], [("x",), ("y",)]),
]


@pytest.mark.parametrize(("step", "first", "second"), SPLITS)
def test_reductions_become_two(step: Step, first: Nest, second: Nest) -> None:
    cube_becomes(step, first, second, 0, 1, 3, 5)


def test_bounds_that_mention_the_outer_iname() -> None:
    agree(TRIANGLE, SIZES, inward("j"))


def test_numpy_agrees() -> None:
    run = inward("k")(inward("x", "u")(CUBE)).executor("c")
    for n in (1, 2, 7):
        a = np.random.default_rng(n).integers(-8, 9, (n, n)).astype(np.float64)
        _, (b, c) = run(a=a)
        np.testing.assert_array_equal(b, 2 * a.sum(axis=1) * a.sum())
        np.testing.assert_array_equal(c, 1 + np.multiply.outer(np.arange(n), a).max((1, 2)))


REFUSED: list[tuple[Kernel, Step, type[pg.UserError], str]] = [
    (CUBE, inward("z"), UnknownIname, "no iname 'z'"),
    (CUBE, inward(3), InvalidArgument, "inames=3, which is not inames"),
    (CUBE, inward("i", "w"), UnknownInstruction, "no instruction 'w'"),
    (CUBE, inward("i, j, k"), NoSuchReduction, "no reduction runs over i and j and k, and"),
    (CUBE, inward("k", "u"), NoSuchReduction, "no reduction runs over k"),
    (TRIANGLE, inward("i"), InameNeeded,
     "over 'j' cannot be outside of one over 'i', which the bounds of 'j' need.*the other way"),
    (inward("i", "s")(SHARED), inward("j", "u"), ReductionNotNestable,
     "cannot be nested so: no loop nest has one loop an iname.*duplicate_inames"),
]  # fmt: skip


@pytest.mark.parametrize(("knl", "step", "kind", "text"), REFUSED)
def test_refused(knl: Kernel, step: Step, kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind, match="(?s)" + text) as caught:
        step(knl)
    assert caught.value.remedy


def test_with_inames_of_its_own_it_can_be_nested_otherwise() -> None:
    own = pg.duplicate_inames(inward("i", "s")(SHARED), "i, j", "u")
    agree(own, SIZES[:4], inward("j_0", "u"))
