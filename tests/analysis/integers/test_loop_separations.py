"""Separations: which conditions are some, and where which of their inequalities is asked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from polygen.analysis.integers.affine_forms import LinearForm, Term
from polygen.analysis.integers.loop_separations import (
    HalfSpace,
    Separation,
    separation,
    separations_of,
)
from polygen.language.parser import parse_expression
from tests.analysis.flat import SMALL, points, where
from tests.oracle.cases import kernel

NAMES = ("i", "j", "n")
SOME: dict[str, tuple[int, Callable[[int, int, int], bool]]] = {
    "i < n": (1, lambda i, j, n: i < n),
    "i >= 2 and i < n - 1": (2, lambda i, j, n: 2 <= i < n - 1),
    "2*i + j > 3": (1, lambda i, j, n: 2 * i + j > 3),
    "i == j + 1": (2, lambda i, j, n: i == j + 1),
    "not (i >= n)": (1, lambda i, j, n: i < n),
    "i < n and i < n and i <= n - 1": (1, lambda i, j, n: i < n),
    "i < n and (j >= 1 and i > j)": (3, lambda i, j, n: i < n and j >= 1 and i > j),
    "i < n or i <= n + 2": (1, lambda i, j, n: i <= n + 2),  # one of them says it
    "i < min(n, j)": (2, lambda i, j, n: i < n and i < j),
    "i // 2 < 3": (1, lambda i, j, n: i // 2 < 3),  # no quotient is left
    "i // 2 < j": (1, lambda i, j, n: i < 2 * j),
    "i < n and 0 <= 3": (1, lambda i, j, n: i < n),
    "i < n and i >= n": (2, lambda i, j, n: False),  # each is one
}


def _separation(text: str) -> Separation:
    found = separation(parse_expression(text))
    assert found is not None
    return found


# --- half spaces


@pytest.mark.parametrize(("constant", "i", "j"), [(0, 1, 0), (-3, 2, -1), (4, 0, -1), (1, -3, 0)])
def test_a_half_space_and_the_rest(constant: int, i: int, j: int) -> None:
    terms: dict[Term, int] = {name: factor for name, factor in (("i", i), ("j", j)) if factor}
    half = HalfSpace(LinearForm(constant, terms))
    inside = points(half.inside, ("i", "j"))
    assert inside == where(lambda x, y: i * x + j * y + constant >= 0, 2)
    assert points(half.outside, ("i", "j")) == where(lambda *_: True, 2) - inside
    assert half.names == set(terms)


# --- conditions


@pytest.mark.parametrize("text", SOME)
def test_conjunctions_of_inequalities(text: str) -> None:
    count, holds = SOME[text]
    found = _separation(text)
    assert found.condition == parse_expression(text)
    assert len(found.halves) == count
    assert points(found.points, NAMES, SMALL[::2]) == where(holds, 3, SMALL[::2])


@pytest.mark.parametrize(
    "text",
    [
        "i != n",
        "i < 2 or i > 4",
        "i % 2 == 0",
        "i < n and i % 2 == 0",
        "i < idx[j]",
        "i*j < n",
        "i < x*1.5",
        "0 <= 3",
        "i <= i + 1",
        "i > i + 1",
        "i // 2 + j // 3 < n",  # two quotients are more than a line
    ],
)
def test_other_conditions_are_none(text: str) -> None:
    assert separation(parse_expression(text)) is None


# --- where they are asked


def _asked(found: Separation, iname: str | None, *around: str) -> list[LinearForm]:
    inames = frozenset({"i", "j", "k"})
    return [half.form for half in found.at(iname, frozenset(around), inames)]


def test_an_inequality_is_asked_in_the_innermost_loop_that_it_mentions() -> None:
    found = _separation("i >= 1 and j < i and n > 4")
    i, j, n = (LinearForm.of_name(name) for name in NAMES)
    assert [half.form for half in found.halves] == [i - 1, i - j - 1, n - 5]
    assert _asked(found, "i") == [i - 1]
    assert _asked(found, "j") == []  # i has no value yet
    assert _asked(found, "j", "i") == [i - j - 1]
    assert _asked(found, "i", "j") == [i - 1, i - j - 1]
    assert _asked(found, "k", "i", "j") == []  # k does not matter
    assert _asked(found, None) == []  # n alone is no iname's
    assert _asked(found, None, "i") == [i - 1]
    assert _asked(found, None, "j", "i") == [i - 1, i - j - 1]


def test_separations_of_a_kernel() -> None:
    plain = kernel("{ [i]: 0<=i<n }", "a[i] = 1")
    assert separations_of(plain) == ()
    conditions = tuple(map(parse_expression, ("i < n - 1", "i % 2 == 0", "i > 3")))
    knl = plain.copy(separations=conditions)
    # What can be made is, in order; lowering says which cannot.
    assert [s.condition for s in separations_of(knl)] == [conditions[0], conditions[2]]
