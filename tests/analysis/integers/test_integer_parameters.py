"""Scalars that are no integers: between 0 and 1, there is something."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.integers.integer_parameters import integer_parameters
from polygen.errors import ObligationViolated
from polygen.ir.kernel import Kernel
from tests.oracle.cases import agree, kernel

BETWEEN = "x > 0 and x < 1"


def one_of(dtype: Any, text: str) -> Kernel:
    n = [pg.GlobalArg(name, "float64", "n") for name in "ab"]
    return kernel("{ [i]: 0<=i<n }", text, pg.ValueArg("x", dtype), *n)


@pytest.mark.parametrize("dtype", ["float64", None])
def test_what_is_under_a_condition_on_a_real_number_may_happen(dtype: Any) -> None:
    knl = one_of(dtype, f"b[i] = if({BETWEEN}, a[i+100], 0)")
    (found,) = pg.obligations(knl)
    assert found.kind == "inside"
    arrays = {"a": np.zeros(4), "b": np.zeros(4)}
    with pytest.raises(ObligationViolated, match=r"needs a\[100\]"):
        knl(**arrays, x=0.5, check_assumptions=True)
    knl(**arrays, x=1.5, check_assumptions=True)


def test_no_integer_is_between_0_and_1() -> None:
    assert not pg.obligations(one_of("int32", f"b[i] = if({BETWEEN}, a[i+100], 0)"))


@pytest.mark.parametrize("dtype", ["float64", None])
def test_two_conditions_on_a_real_number_may_hold(dtype: Any) -> None:
    lines = "b[i] = 1 {id=one, if=x>0}\nb[i] = 2 {id=two, if=x<1}"
    (found,) = pg.obligations(one_of(dtype, lines))
    assert (found.kind, found.instructions) == ("ordered", ("one", "two"))


def test_a_condition_on_a_real_number_rules_nothing_out_before_a_loop() -> None:
    """Then a[0] would be read although there is no such element."""
    knl = one_of("float64", "b[i] = 1 {if=x>0, if=x<1, if=a[0]>0}")
    calls: Any = [{"n": n, "x": 0.5} for n in (0, 1, 3)]
    agree(knl, calls)


def test_what_is_an_integer() -> None:
    knl = kernel(
        "{ [i]: 0<=i<n }",
        "b[i] = if(x>0, a[i+k], if(i<j, w[m*i], w[y//2]))",
        pg.GlobalArg("a", "float64", "n+k"),
        pg.GlobalArg("b", "float64", "n"),
        pg.GlobalArg("w", "float64", "size"),
        pg.ValueArg("j", "int64"),
    )
    assert integer_parameters(knl) == {"n", "k", "j", "m", "size"}
