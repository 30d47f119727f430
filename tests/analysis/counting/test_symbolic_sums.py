"""Sums over polyhedra, case by case, beside sums point by point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import pytest

from polygen.analysis.counting.symbolic_sums import Case, Effort, NotSummedError, cases
from tests.analysis.counting.one_by_one import forms, polynomial, problem, total, value_of

SIZES = [{"n": n, "m": m} for n in (-2, 0, 1, 4, 5, 7) for m in (0, 2, 3)]
BOX = range(-12, 20)


def _value(found: Sequence[Case], sizes: Mapping[str, int]) -> Fraction:
    inside = (s for bounds, s in found if all(b.evaluate(sizes) >= 0 for b in bounds))
    return sum((value_of(s, sizes) for s in inside), Fraction())


# Names, bounds, equalities, summand.
PROBLEMS = {
    "a line": ("i", "i; n - 1 - i", "", "1"),
    "a triangle": ("i j", "j; i - j; n - 1 - i", "", "1"),
    "weighted": ("i j", "j; i - j; n - 1 - i", "", "i*j - 2*n + 3"),
    "a box": ("i j", "i; n - 1 - i; j; m - j", "", "1"),
    "a weighted box": ("i j", "i; n - 1 - i; j; m - j", "", "n*n + 1"),
    "tiles": ("o i", "i; 3 - i; 4*o + i; n - 1 - 4*o - i", "", "1"),
    "two lower ends": ("i", "i; i - m + 1; n - i", "", "1"),
    "two lower ends, two upper": ("i", "i; i - m + 1; n - i; 2*m - i", "", "i"),
    "equal ends": ("i", "i - m; i - m; n - i; n - i", "", "1"),
    "fractions": ("i", "3*i - n; 2*m + 9 - 2*i", "", "1"),
    "an equality": ("i j", "i; n - i", "j - 2*i + 1", "i*j"),
    "an equality of sizes": ("i", "i; 4 - i", "n - 2*m", "1"),
    "a multiple": ("i", "i; 9 - i", "3*i - n", "i + 1"),
    "a negative multiple": ("i", "i; 9 - i", "n - 3*i", "1"),
    "as Euclid does it": ("i j", "i + 3; j + 3; 5 - i", "6*i + 4*j - 2*n", "1"),
    "no solution": ("i j", "i; j; 9 - i - j", "2*i + 4*j - 3", "1"),
    "a floor of the name": ("i", "i; n - i", "", "i*(i//3)"),
    "a floor of two names": ("i j", "i; n - i; j; 2 - j", "", "(i + 2*j)//3"),
    "a floor of a size": ("i", "i; n//2 - i", "", "i + n//3"),
    "parts": ("i j k", "j; i - j; n - 1 - i; k; m - k; n - m - 1", "", "3"),
    "nothing to sum": ("", "n - 2", "", "3*n"),
    "no points": ("i", "i; -1 - i", "", "1"),
    "nothing in sum": ("i", "i; n - i", "", "0"),
}  # fmt: skip


@pytest.mark.parametrize("name", PROBLEMS)
def test_sums(name: str) -> None:
    names, bounds, zeros, summand = PROBLEMS[name]
    given = problem(names, bounds, zeros, summand)
    found = cases(given, Effort(2000))
    for case in found:
        mentioned = case[1].names().union(*(b.names() for b in case[0]))
        assert mentioned <= {"n", "m"}  # the names are gone
    for sizes in SIZES:
        assert _value(found, sizes) == total(given, sizes, BOX), sizes


def test_how_a_sum_is_written() -> None:
    assert cases(problem("i", "i; n - 1 - i"), Effort(100)) == [(forms("n - 1"), polynomial("n"))]
    assert cases(problem("", "n; n + 1", summand="n"), Effort(100)) == [
        (forms("n"), polynomial("n"))
    ]
    assert cases(problem("i", "i; -1 - i"), Effort(100)) == []


@pytest.mark.parametrize(
    ("names", "bounds"),
    [("i", "i"), ("i", "n - i"), ("i", ""), ("i j", "i; n - i; j - i"), ("i j", "i; 3 - i; i - n")],
)
def test_sums_without_end(names: str, bounds: str) -> None:
    with pytest.raises(NotSummedError) as caught:
        cases(problem(names, bounds), Effort(100))
    assert caught.value.is_infinite


def test_no_points_are_no_sum_without_end() -> None:
    assert cases(problem("i j", "i; -1 - i"), Effort(100)) == []


def test_an_effort_bounds_what_is_looked_at() -> None:
    names, bounds, zeros, summand = PROBLEMS["two lower ends, two upper"]
    given = problem(names, bounds, zeros, summand)
    effort = Effort(2000)
    cases(given, effort)
    needed = 2000 - effort.left
    assert needed >= 4  # pairs of ends
    cases(given, Effort(needed))
    for too_little in (needed - 1, 1, 0):
        with pytest.raises(NotSummedError) as caught:
            cases(given, Effort(too_little))
        assert not caught.value.is_infinite


def test_combinations_of_parts_are_an_effort() -> None:
    """Each part has a case for each pair of its ends."""

    def spent(names: str, bounds: str) -> int:
        effort = Effort(2000)
        cases(problem(names, bounds), effort)
        return 2000 - effort.left

    some = "{0}; {0} - m + 1; n - {0}; 2*m - {0}"
    one, other = some.format("i"), some.format("j")
    assert spent("i j", f"{one}; {other}") >= spent("i", one) + spent("j", other) + 4 * 4


def test_residues_are_no_more_than_the_effort() -> None:
    """Of a thousand classes none is looked at where there is no time for all."""
    effort = Effort(900)
    with pytest.raises(NotSummedError):
        cases(problem("i", "i; n - i", summand="i//1000"), effort)
    assert effort.left > 850


def test_effort_is_spent() -> None:
    effort = Effort(5)
    effort.spend(3)
    assert effort.left == 2
    effort.check(2)
    assert effort.left == 2
    for ask in (effort.spend, effort.check):
        with pytest.raises(NotSummedError):
            ask(3)
    assert effort.left == 2
    effort.spend(2)
    assert effort.left == 0
