"""`expand_subst`: what rules stand for in their place."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    UnknownInstruction,
)
from tests.oracle.cases import SIZES, agree, kernel, split, steps
from tests.transforms.rules.rule_texts import TWO, texts_of

RULES = kernel(
    TWO,
    """
    f(x) := a[x] + j
    g(x) := 2*f(x)
    out[i,j] = g(i) + f(j)  {id=first}
    other[i,j] = f(i)       {id=second}
    """,
)


def test_expanded_everywhere() -> None:
    new = pg.expand_subst(RULES)
    assert texts_of(new) == ["2*(a[i] + j) + (a[j] + j)", "a[i] + j"]
    assert new == RULES.expanded
    assert pg.expand_subst(new) is new


def test_expanded_here_and_there() -> None:
    new = pg.expand_subst(RULES, within="first")
    # g is gone, f is needed still
    assert texts_of(new) == ["f(x) := a[x] + j", "2*(a[i] + j) + (a[j] + j)", "f(i)"]
    new = pg.expand_subst(RULES, within="id:second")
    assert texts_of(new)[:2] == ["f(x) := a[x] + j", "g(x) := 2*f(x)"]
    with pytest.raises(UnknownInstruction):
        pg.expand_subst(RULES, within="third")


def test_expanded_after_a_split() -> None:
    new = pg.expand_subst(split("j", 4)(RULES), within="second")
    assert texts_of(new)[-1] == "a[i] + (4*j_outer + j_inner)"
    agree(RULES, SIZES[:4], pg.expand_subst, steps(split("j", 4), pg.expand_subst))


def test_numpy_agrees() -> None:
    run = pg.expand_subst(RULES, within="first").executor("c")
    for n in (0, 1, 7):
        a, j = np.random.default_rng(n).random(n), np.arange(n)
        _, (second, first) = run(a=a, n=n)  # other, out
        np.testing.assert_allclose(first, 2 * np.add.outer(a, j) + (a + j), rtol=1e-15)
        np.testing.assert_array_equal(second, np.add.outer(a, j))


def test_rules_that_nobody_used_stay_beside_what_is_chosen() -> None:
    knl = kernel(TWO, "f(x) := a[x]\nh(x) := 3*x\nout[i,j] = f(i) + f(j)  {id=out}")
    assert texts_of(pg.expand_subst(knl, within="out")) == ["h(x) := 3*x", "a[i] + a[j]"]
    assert texts_of(pg.expand_subst(knl)) == ["a[i] + a[j]"]
    plain = kernel(TWO, "out[i,j] = a[i]  {id=out}")
    assert pg.expand_subst(plain) is plain
    assert pg.expand_subst(plain, within="out") is plain
