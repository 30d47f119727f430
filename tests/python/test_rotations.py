"""Names of arrays that change places in each iteration."""

from __future__ import annotations

import ast

import pytest

from polygen.python.rotations import order_of, rotation


def moved(text: str, seen: set[str]) -> dict[str, str]:
    return rotation(ast.parse(text).body, seen)


@pytest.mark.parametrize(
    ("text", "seen", "found", "order"),
    [
        ("b[:] = a\na, b = b, a", {"a", "b"}, {"a": "b", "b": "a"}, 2),
        ("t = a\na = b\nb = t", {"a", "b"}, {"a": "b", "b": "a"}, 2),
        ("a, b, c = b, c, a", {"a", "b", "c"}, {"a": "b", "b": "c", "c": "a"}, 3),
        ("a, b, c, d = b, a, d, c", {"a", "b", "c", "d"}, None, 2),
        ("a, b = b, a\na, b = b, a", {"a", "b"}, {}, 1),
        ("a = b", {"a", "b"}, {}, 1),  # b is given none
        ("c = a + 1\na, b = b, c", {"a", "b"}, {}, 1),  # another array in each iteration
        ("a, b = b, a\nif x: a = c", {"a", "b"}, {}, 1),
    ],
)
def test_found(text: str, seen: set[str], found: dict[str, str] | None, order: int) -> None:
    result = moved(text, seen)
    if found is not None:
        assert result == found
    assert order_of(result) == order


def test_many_iterations() -> None:
    """Two, three and five names in turn are what they were after thirty iterations."""
    names = "abcdefghij"
    cycles = ("ab", "cde", "fghij")
    result = {c[k]: c[(k + 1) % len(c)] for c in cycles for k in range(len(c))}
    assert set(result) == set(names)
    assert order_of(result) is None
