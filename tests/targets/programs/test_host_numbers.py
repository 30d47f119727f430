"""Numbers that the host computes for calls of libraries: as NumPy computes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.language.parser import parse_expression
from polygen.targets.programs.host_numbers import number_of

VALUES: dict[str, Any] = {
    "n": 7,
    "t": 3,
    "al": np.float32(0.1),
    "z": np.complex64(1 - 2j),
    "small": np.int8(100),
}
S = np.array([2.5, -1.0])


def value(text: str) -> Any:
    def element(array: str, place: int) -> Any:
        assert array == "s"
        return S[place]

    return number_of(parse_expression(text), VALUES, element)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2*s[1]/(n + 1) - t", 2 * S[1] / 8 - 3),
        ("al*2", np.float32(0.1) * np.float32(2)),
        ("al/n", np.float32(0.1) / np.float32(7)),
        ("z*al", np.complex64(1 - 2j) * np.float32(0.1)),
        ("small + small", np.int8(-56)),  # as integers of 8 bits have it
        ("float64(al)", float(np.float32(0.1))),
        ("float32(0.1)", np.float32(0.1)),
        ("(n - 2*t)//2", 0),
        ("(t - n)//2", -2),
        ("(t - n) % 3", 2),
        ("2*t >= n", False),
        ("s[0] > 0 and (t == 3 or n < 0)", True),
        ("not s[t - 2] < 0", False),
    ],
)
def test_values(text: str, expected: Any) -> None:
    found = value(text)
    assert found == expected
    assert np.asarray(found).dtype == np.asarray(expected).dtype


def test_what_is_not_needed_is_not_read() -> None:
    def element(array: str, place: int) -> Any:
        raise AssertionError((array, place))

    node: Expression = ex.LogicalAnd(
        (ex.Comparison(ex.Variable("n"), "<", 0), parse_expression("s[0] > 0"))
    )
    assert not number_of(node, VALUES, element)
