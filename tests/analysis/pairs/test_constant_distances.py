"""Distances of instances that touch one element, beside enumeration."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import polygen as pg
from polygen.analysis.access.accesses import touched
from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.pairs.constant_distances import distances, ends_of, extremes, only_itself
from polygen.ir.kernel import Kernel
from polygen.language.parser import parse_statement
from tests.analysis.python_values import python_value
from tests.oracle.cases import kernel

SUBSCRIPTS = ("i", "i+1", "2*i", "2*i+1", "j", "i+j", "3", "n-i", "i//2", "m", "i%2", "min(i, 2)")


def _kernel(left: str, right: str, *data: Any) -> Kernel:
    with pg.without_proofs():
        return kernel("{ [i,j]: 0<=i,j<n }", f"x[{left}] = x[{right}] + j  {{id=s}}", *data, "...")


def _elements(text: str, n: int) -> dict[tuple[int, int], Any]:
    return {
        (i, j): python_value(f"({text},)", {"i": i, "j": j, "n": n, "m": 2})
        for i, j in product(range(n), repeat=2)
    }


@pytest.mark.parametrize("left", SUBSCRIPTS)
@pytest.mark.parametrize("right", SUBSCRIPTS)
def test_distances(left: str, right: str) -> None:
    cases = ((1, left, right), (2, f"{left}, j", f"{right}, j+1"), (2, f"i, {left}", f"{right}, i"))
    for rank, text, other in cases:
        knl = _kernel(text, other, pg.GlobalArg("x", shape=("p",) * rank))
        read, write = touched(knl, "s")["x"]
        found = distances(knl, write, read)
        pairs = [
            (x, y)
            for n in (1, 2, 5)
            for x, at in _elements(text, n).items()
            for y, there in _elements(other, n).items()
            if at == there
        ]
        if found is None:
            assert not pairs
            continue
        for x, y in pairs:
            for iname, distance in found.items():
                position = "ij".index(iname)
                assert y[position] - x[position] == distance


def test_what_is_found() -> None:
    def found(left: str, right: str) -> Any:
        knl = _kernel(left, right)
        read, write = touched(knl, "s")["x"]
        return distances(knl, write, read)

    assert found("i+1, j", "i, j+2") == {"i": 1, "j": -2}
    assert found("2*i", "2*i+1") is None
    assert found("i, 3", "j, 4") is None
    assert found("i, i+1", "i, i") is None
    assert found("i+j", "i+j") == {}
    assert found("i", "j") == {}


DIGITS = {
    "12*p + 4*q + r": True,
    "4*q - 12*p - r": True,
    "r*3 + q + 20*p": True,
    "n + 11*p + 4*q + r": False,  # 0, 2, 3 and 1, 0, 0
    "12*p + 3*q + r": False,
    "4*q + r + p": False,
    "4*q + r": False,  # whatever p is
    "12*(p//2) + 4*q + r": False,
}


@pytest.mark.parametrize("text", DIGITS)
def test_digits(text: str) -> None:
    """What is said to be apart is: for all instances."""
    with pg.without_proofs():
        domains = ["{ [p]: 0<=p<n }", "{ [q]: 0<=q<3 }", "{ [r]: 2<=r<6 }"]
        knl = kernel(
            domains, f"x[{text}] = 1 {{id=s, inames=p:q:r}}", pg.GlobalArg("x", shape="99")
        )
    assert only_itself(knl, "s", "x") == DIGITS[text]
    points = list(product(range(5), range(3), range(2, 6)))
    elements = {python_value(text, {"p": p, "q": q, "r": r, "n": 5}) for p, q, r in points}
    assert (len(elements) == len(points)) == DIGITS[text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2*i - j + 1", (-5, 7)), ("7", (7, 7)), ("-3*i", (-9, 0)), ("i + n", None), ("i//2", None)],
)
def test_ends_of_forms(text: str, expected: tuple[int, int] | None) -> None:
    """Of an iname in a domain with others, whatever these are; m has no upper end."""
    with pg.without_proofs():
        knl = kernel(["{ [i,j]: 0<=i<4 and i<=j<7 }", "{ [m]: 0<=m<n }"], "x[i, j, m] = 1")
    ends = ends_of(knl, "ijmn")
    assert ends == {"i": (0, 3), "j": (0, 6)}
    form = linear_form(parse_statement(f"x = {text}").values[0])
    assert form is not None
    assert extremes(form, ends) == expected
