"""`fold_constants`: what consists of integers alone becomes a number."""

from __future__ import annotations

from typing import Any

import pytest

import polygen as pg
from polygen.ir.show_expression import show_expression
from tests.oracle.cases import agree, kernel
from tests.transforms.instructions.values import CALLS, A, value
from tests.transforms.numpy_runs import numpy_agrees

FOLDED = [
    ("a[i] + 2*3", "a[i] + 6"),
    ("a[i + 2*3] + 7//2", "a[i + 6] + 3"),
    ("a[(1 - 5) % 3]", "a[2]"),
    ("a[i]*(-7//2)", "a[i]*-4"),
    ("a[min(3, 5) + max(1, 2)]", "a[5]"),
    ("max(2*2, min(7, 2*4)) - a[i]", "7 - a[i]"),
    ("a[min(2, 3)*max(4, 5)] + a[min(2, 3)**2]", "a[10] + a[4]"),
    ("a[i]*2**10 + a[i]**2", "a[i]*1024 + a[i]**2"),
    ("2**40*a[i] + 2**-1", "2**40*a[i] + 2**-1"),
    ("2*3*a[i]", "2*3*a[i]"),
    ("1.5*2.0 + a[i]", "1.5*2.0 + a[i]"),
    ("7/2 + a[i]", "7/2 + a[i]"),
    ("(65536*65536) + a[i]", "65536*65536 + a[i]"),
]


@pytest.mark.parametrize(("text", "folded"), FOLDED)
def test_constants(text: str, folded: str) -> None:
    knl = kernel("{ [i]: 0<=i<n }", f"out[i] = {text}", A)
    new = pg.fold_constants(knl)
    assert value(new) == folded
    assert pg.fold_constants(new) is new
    agree(knl, CALLS, pg.fold_constants)


def test_folded_results_are_numpys() -> None:
    data = pg.GlobalArg("a", "float64", "n")
    text = "out[i] = a[i*(3-2)] * (17 % 5) + 8*2  {if=i < n*(2-1)}"
    knl = kernel("{ [i]: 0<=i<n }", text, data)

    def expected(a: Any) -> dict[str, Any]:
        return {"out": 2 * a + 16}

    numpy_agrees(knl, pg.fold_constants, expected)
    predicate = pg.fold_constants(knl).assignments[0].predicates[0]
    assert show_expression(predicate) == "i < n*1"


def test_integers_are_pythons() -> None:
    """`//` and `%` round down, and powers are exact, as far as 32 bits reach."""

    def folded(text: str) -> str:
        return value(pg.fold_constants(kernel("{ [i]: 0<=i<n }", f"out[i] = {text}")))

    for a in (-7, -4, 0, 5, 8):
        for b in (-3, -2, 1, 4):
            texts = (f"({a})//({b})", f"({a}) % ({b})", f"min({a}, {b})*max({a}, {b}) - {a}")
            for text in texts:
                assert folded(text) == str(eval(text)), text  # noqa: S307  (from above)
        assert folded(f"({a})**3") == str(a**3)
    assert folded("2147483646 + 1") == str(2**31 - 1)
    assert folded("2**30") == str(2**30)
    assert folded("1**31 + (-1)**31") == "0"
    for text in ("2147483647 + 1", "2**31", "2**32"):
        assert folded(text) == text


def test_what_has_no_constants_stays() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "out[i] = a[i + 1] + 2*a[i]*0.5", A)
    assert pg.fold_constants(knl) is knl
    text = kernel("{ [i]: 0<=i<n }", "out[i] = a[i + (2*3)]", A)
    new = pg.fold_constants(text)
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(text, new.history) == new
