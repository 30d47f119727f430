"""Which nodes of subscripts are arithmetic of integers, and what calls in them stand for."""

from __future__ import annotations

import pytest

from polygen.analysis.typing.index_arithmetic import is_arithmetic, operands, written_out
from polygen.language.parser import parse_expression


@pytest.mark.parametrize(
    ("text", "arithmetic"),
    [
        ("i + x[i]", True),
        ("3*x[i]", True),
        ("x[i]//4", True),
        ("x[i] % m", True),
        ("x[i]**2", True),
        ("x[i] << 2", True),
        ("x[i] >> 2", True),
        ("x[i] & 7", True),
        ("~x[i]", True),
        ("if(i > 0, x[i], 0)", True),
        ("x[i]", False),
        ("n", False),
        ("7", False),
        ("cast(int8, x[i])", False),
        ("abs(x[i] - y[i])", False),
        ("i < n", False),
    ],
)
def test_what_is_computed_from_integers(text: str, arithmetic: bool) -> None:
    assert is_arithmetic(parse_expression(text)) is arithmetic


@pytest.mark.parametrize("name", ["min", "fmin", "max", "fmax"])
def test_extremes_are_arithmetic_however_they_are_called(name: str) -> None:
    called = parse_expression(f"{name}(x[i], 3)")
    wanted = parse_expression(f"{name.removeprefix('f')}(x[i], 3)")
    found = written_out(called)
    assert is_arithmetic(found)
    assert type(found) is type(written_out(wanted))
    assert operands(found) == (parse_expression("x[i]"), 3)


@pytest.mark.parametrize("text", ["sqrt(x[i])", "own_function(x[i], 3)", "x[i]", "i + 1"])
def test_others_stand_for_themselves(text: str) -> None:
    node = parse_expression(text)
    assert written_out(node) is node


def test_what_a_choice_chooses_by_is_no_operand() -> None:
    node = parse_expression("if(x[i] > 200, y[i], 4)")
    assert operands(node) == (parse_expression("y[i]"), 4)
    assert operands(parse_expression("i + 2*j")) == (
        parse_expression("i"),
        parse_expression("2*j"),
    )
