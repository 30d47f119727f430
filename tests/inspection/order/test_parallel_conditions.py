"""`parallel_conditions`: what it prints, and that kernels under each condition are proved."""

from __future__ import annotations

import timeit

import numpy as np
import pytest

import polygen as pg
from polygen.errors import MissingArgument
from polygen.ir.kernel import Kernel


def shift() -> Kernel:
    return pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "a[i + k + s] = a[i + s] + b[i]  {id=add}",
        [pg.GlobalArg("a", np.float64, shape="m"), pg.GlobalArg("b", np.float64, shape="n"), "..."],
        assumptions="0<=s and 0<=s+k and s+n<=m and s+k+n<=m",
    )


def test_the_loop_with_an_unknown_shift() -> None:
    """ALPyNA's Listing 1, with its equation 1."""
    found = pg.parallel_conditions(shift())
    assert str(found).splitlines()[1] == (
        "i      if k + n <= 0 or n <= k or k == 0; "
        "with the old values of a, if k + n >= 1 and k <= -1"
    )
    for k in (-11, -10, 0, 10, 11):
        assert found(n=10, k=k, s=20, m=100) == ("i",)
    for k in (-9, -1, 1, 9):
        assert found(n=10, k=k, s=20, m=100) == ()
    assert repr(found) == "ParallelConditions(i: k + n <= 0 or n <= k or k == 0)"


def test_what_steps_say_under_the_condition() -> None:
    knl = shift()
    row = pg.parallel_conditions(knl)["i"]
    for text in ("k >= n", "k <= -n", "k = 0", row.parallel.text):
        assert pg.is_legal(pg.assume(knl, text), pg.tag_inames, {"i": "g.0"})
    for text in ("k >= n - 1", "k >= 1 - n and k <= 0", "k >= 0", row.only_with_old_values.text):
        assert not pg.is_legal(pg.assume(knl, text), pg.tag_inames, {"i": "g.0"})


def test_a_reduction_and_what_data_decides() -> None:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<n and 0<=j<n }", "<> s = sum(j, a[i,j])\nx[i] = s\ny[i] = x[ind[i]]"
    )
    lines = str(pg.parallel_conditions(knl)).splitlines()
    assert lines[1] == "i      never; unless data decides otherwise, always"
    assert lines[-1] == "j      always, as a reduction"


def test_a_missing_value_is_named() -> None:
    with pytest.raises(MissingArgument, match="'k'"):
        pg.parallel_conditions(shift())(n=3)


def test_one_answer_takes_microseconds() -> None:
    row = pg.parallel_conditions(shift())["i"]
    sizes = {"n": 10, "k": 3, "s": 20, "m": 100}
    assert row.parallel.among(sizes) is False
    taken = min(timeit.repeat(lambda: row.parallel.predicate(sizes), number=1000, repeat=5))
    assert taken < 1000 * 20e-6
