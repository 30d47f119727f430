"""`split_reduction_outward`: what a reduction runs over becomes one outside of it."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InameNeeded, NoSuchReduction
from polygen.ir.kernel import Kernel
from tests.oracle.cases import SIZES, Step, agree, kernel
from tests.oracle.compare import make_arguments, typed
from tests.oracle.interpreter import interpret
from tests.transforms.reductions.nested_sums import CUBE, TRIANGLE, Nest, cube_becomes, outward

SPLITS: list[tuple[Step, Nest, Nest]] = [
    (outward("i"), [("i",), ("j", "k")], [("x", "y")]),
    (outward(["k", "i"]), [("i", "k"), ("j",)], [("x", "y")]),
    (outward("y", ["s", "u"]), [("i", "j", "k")], [("y",), ("x",)]),
]


@pytest.mark.parametrize(("step", "first", "second"), SPLITS)
def test_reductions_become_two(step: Step, first: Nest, second: Nest) -> None:
    cube_becomes(step, first, second, 0, 1, 3, 5)


def test_bounds_that_mention_the_outer_iname() -> None:
    agree(TRIANGLE, SIZES, outward("i"))


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9])
def test_numpy_agrees(n: int) -> None:
    knl = outward("j")(kernel("{ [i,j]: 0<=i,j<n }", "b[0] = sum((i,j), a[i,j]*j)"))
    arguments = make_arguments(knl, {"n": n})
    arguments["b"] = np.zeros(1)
    outcome = interpret(typed(knl, arguments), arguments)
    assert outcome.arrays["b"][0] == (arguments["a"] @ np.arange(n)).sum()


REFUSED: list[tuple[Kernel, Step, type[pg.UserError], str]] = [
    (CUBE, outward("p"), NoSuchReduction, "no reduction runs over p"),
    (TRIANGLE, outward("j"), InameNeeded, "over 'j' cannot be outside of one over 'i'"),
]


@pytest.mark.parametrize(("knl", "step", "kind", "text"), REFUSED)
def test_refused(knl: Kernel, step: Step, kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind, match="(?s)" + text) as caught:
        step(knl)
    assert caught.value.remedy
