"""Data in subscripts: which parts become unknown numbers, and what is affine then."""

from __future__ import annotations

from itertools import product

import pytest

from polygen.analysis.integers.unknowns import Unknowns, is_by_size, without_whole_sizes
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.show_expression import show_expression
from polygen.language.parser import parse_expression
from tests.oracle.evaluate import integer

KNOWN = frozenset({"i", "j", "n", "m"})


def _abstract(text: str) -> tuple[str, dict[str, str]]:
    """Return an expression with letters in the place of the unknowns, and what they stand for."""
    unknowns = Unknowns(KNOWN)
    found = unknowns.abstract(parse_expression(text))
    letters = dict(zip(unknowns.names.values(), "uvwxyz", strict=False))
    shown = walk.substitute(found, {name: ex.Variable(v) for name, v in letters.items()})
    parts = {letters[name]: show_expression(node) for node, name in unknowns.names.items()}
    return show_expression(shown), parts


@pytest.mark.parametrize(
    ("text", "shown", "parts"),
    [
        ("2*i + j - 1", "2*i + j - 1", {}),
        ("(i + 3)//4 + i % 4", "(i + 3)//4 + i % 4", {}),
        ("7", "7", {}),
        ("2*idx[i] + 1", "2*u + 1", {"u": "idx[i]"}),
        ("idx[i] + idx[j]*3 - idx[i]", "u + v*3 - u", {"u": "idx[i]", "v": "idx[j]"}),
        ("idx[idx[i]]", "u", {"u": "idx[idx[i]]"}),  # a whole
        ("idx[i]//4 + min(idx[i], n)", "u//4 + min(u, n)", {"u": "idx[i]"}),
        ("x + i", "u + i", {"u": "x"}),  # a scalar is data
        ("i*j + 2", "u + 2", {"u": "i*j"}),
        ("3*(i*j)", "3*u", {"u": "i*j"}),
        ("i//m + i % m", "u + v", {"u": "i//m", "v": "i % m"}),
        ("max(i, x*x)", "max(i, u)", {"u": "x*x"}),
        ("clamp(x, 0, n) + 1", "min(max(u, 0), n) + 1", {"u": "x"}),
        ("f(i) + 1", "u + 1", {"u": "f(i)"}),
        ("if(i < j, i, x)", "if(i < j, i, u)", {"u": "x"}),
        ("if(x < j, i, x)", "u", {"u": "if(x < j, i, x)"}),  # x may be no integer
    ],
)
def test_data_becomes_unknown(text: str, shown: str, parts: dict[str, str]) -> None:
    assert _abstract(text) == (shown, parts)


@pytest.mark.parametrize(
    "text",
    [
        "2*i + j - 1",
        "2*idx[i] + idx[i]*3 - n",
        "clamp(x, 0, n)//3 + i*j",
        "max(x, i % m) - min(i, n//m)",
    ],
)
def test_unknowns_have_the_values_of_the_parts(text: str) -> None:
    """Whatever an unknown stands for, the sum with it is what was there."""
    node = parse_expression(text)
    unknowns = Unknowns(KNOWN)
    found = unknowns.abstract(node)
    back = {name: part for part, name in unknowns.names.items()}
    for i, j, x in product(range(3), range(-1, 2), (-2, 7)):
        values: dict[str, Expression] = {"i": i, "j": j, "n": 4, "m": 3, "x": x}

        def at(part: Expression, values: dict[str, Expression] = values) -> int:
            given = walk.rewrite(walk.substitute(part, values), _element)
            return integer(given, {})

        expected = at(node)
        assert (
            at(walk.substitute(found, {name: at(part) for name, part in back.items()})) == expected
        )


def _element(node: Expression) -> Expression:
    """Return what the test has for the data ``idx[k]``."""
    return 5 * int(str(ex.index_tuple(node)[0])) - 3 if isinstance(node, ex.Subscript) else node


def test_the_names_are_kept_within_an_instance() -> None:
    unknowns = Unknowns(KNOWN, "'")
    first = unknowns.abstract(parse_expression("idx[i] + 1"))
    again = unknowns.abstract(parse_expression("idx[i]"))
    other = unknowns.abstract(parse_expression("idx[j]"))
    assert first == ex.sum_of(again, 1)
    assert again != other
    assert all(name.endswith("'") for name in unknowns.names.values())
    assert len(unknowns.names) == 2


def test_functions_of_unknowns() -> None:
    unknowns = Unknowns(KNOWN)
    found = unknowns.function(parse_expression("2*idx[i] + j"))
    assert found is not None
    (name,) = unknowns.names.values()
    assert found.is_equal(type(found)(f"[{name}, j] -> {{ [(2*{name} + j)] }}"))
    assert unknowns.function(parse_expression("1.5")) is None
    assert unknowns.function(ex.LogicalNot(ex.Variable("i"))) is not None  # as a whole


# --- quotients by sizes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i // n", True),
        ("i % (n + 1)", True),
        ("i % (n*m)", True),  # not even affine
        ("i // idx[j]", True),
        ("i // 4", False),
        ("i % (n - n + 3)", False),
        ("n // 4", False),
        ("i + n", False),
        ("4", False),
    ],
)
def test_by_what_is_no_constant(text: str, *, expected: bool) -> None:
    assert is_by_size(parse_expression(text)) is expected


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("(i + n - 1) % n", "(i - 1) % n"),
        ("(i - 3*n) % n", "i % n"),
        ("n % n", "0 % n"),
        ("(i - 1) % n", None),
        ("(i + m) % n", None),
        ("(i + n)//n", None),  # of a quotient, it is another one
        ("(i + 4) % 4", None),
        ("(i + n + 1) % (n + 1)", None),
        ("(i*j + n) % n", None),
        ("(i + 2*(n//2)) % n", None),  # in a floor
    ],
)
def test_whole_sizes_go(text: str, shown: str | None) -> None:
    node = parse_expression(text)
    assert isinstance(node, ex.FloorDiv | ex.Remainder)
    found = without_whole_sizes(node)
    assert show_expression(found) == show_expression(parse_expression(shown or text))
    for i, j, n in product(range(-4, 5), (0, 2), (1, 3, 4)):
        point = {"i": i, "j": j, "n": n, "m": 2}
        assert integer(found, point) == integer(node, point)
