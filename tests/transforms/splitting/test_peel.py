"""`peel`: the first and the last iterations of a loop, written apart."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, NotSeparable, UnknownIname
from polygen.ir.expression import Expression
from polygen.ir.show_expression import show_expression
from tests.oracle.cases import guards, kernel, lowered
from tests.transforms.splitting.separate_code import ENDS, LINE

TRIANGLE = kernel("{ [i,j]: 0<=j<=i<n }", "out[i,j] = 2*a[i,j] + j", loop_priority="i, j")


def test_only_the_code_changes() -> None:
    new = pg.peel(LINE, "i", 1, 1)
    assert len(new.separations) == 1
    assert new.copy(separations=()) == LINE
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(LINE, new.history) == new
    assert [step.name for step in new.history] == ["peel"]
    assert pg.peel(new, "i", 1, 1) is new


@pytest.mark.parametrize(
    ("step", "kind", "text"),
    [
        (lambda: pg.peel(LINE, "k"), UnknownIname, "no iname 'k'"),
        (lambda: pg.peel(LINE, "i", 0, 0), InvalidArgument, "no iteration of 'i' is to be peeled"),
        (lambda: pg.peel(LINE, "i", -1), InvalidArgument, "which is not a number of iterations"),
        (lambda: pg.peel(ENDS, "i", 0, 1), NotSeparable, "does not begin and end at affine func"),
    ],
)
def test_refused_ends(step: Any, kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind, match=re.escape(text)):
        step()


STRIDED = pg.make_kernel(
    "{ [i,j]: 0<=i<n and i mod 3 = 1 and 0<=j<n and (j - i) mod 2 = 0 }",
    "b[i,j] = a[i] - a[j]",
    [pg.GlobalArg("a", np.float64, "n"), pg.GlobalArg("b", np.float64, "n, n"), "..."],
    loop_priority="i, j",
    name="strided",
)


def test_ends_of_loops_in_steps() -> None:
    for iname in ("i", "j"):
        run = pg.peel(STRIDED, iname, 1, 1).executor("c")
        for n in (0, 1, 2, 4, 9):
            a, b = np.arange(n) ** 2.0, np.zeros((n, n))
            run(a=a, b=b)
            i, j = np.indices((n, n))
            inside = (i % 3 == 1) & ((j - i) % 2 == 0)
            np.testing.assert_array_equal(b, inside * (a[:, None] - a))


@pytest.mark.parametrize(("first", "last"), [(1, 0), (0, 1), (2, 3)])
def test_which_iterations_are_apart(first: int, last: int) -> None:
    """Inside, the condition holds; at the ends it does not: found by counting."""
    (line,) = pg.peel(LINE, "i", first, last).separations
    (row,) = pg.peel(TRIANGLE, "j", first, last).separations
    for n, i in np.ndindex(8, 8):
        if i < n:
            assert holds(line, n=n, i=i) == (first <= i < n - last)
        for j in range(i + 1):
            assert holds(row, n=8, i=i, j=j) == (first <= j <= i - last)


def holds(condition: Expression, **values: int) -> bool:
    return bool(eval(show_expression(condition), {}, values))  # noqa: S307  (from above)


def test_numpy_agrees() -> None:
    text = "b[i] = a[i]  {if=i == 0}\nb[i] = a[i] - a[i-1]  {if=i > 0}"
    knl = kernel("{ [i]: 0<=i<n }", text, pg.GlobalArg("b", shape="n"))
    run = pg.peel(knl, "i", 2, 1).executor("c")
    for n in (0, 1, 2, 3, 9):
        a = np.arange(n) ** 2.0
        _, (b,) = run(a=a)
        np.testing.assert_array_equal(b, np.diff(a, prepend=0.0))


def test_peeled_code_has_no_condition() -> None:
    text = "b[i] = a[i]  {if=i == 0}\nb[i] = a[i] - a[i-1]  {if=i > 0}"
    knl = kernel("{ [i]: 0<=i<n }", text, assumptions="n >= 1")
    assert len(guards(lowered(knl))) == 2
    assert not guards(lowered(pg.peel(knl, "i")))


def test_a_loop_without_iterations_stays_as_it_is() -> None:
    knl = kernel("{ [i]: 0<=i<n and n<0 }", "out[i] = 1.0", pg.GlobalArg("out", shape=8))
    assert pg.peel(knl, "i", 1, 1) is knl
