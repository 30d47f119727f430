"""Slabs: directions in which a polyhedron always has as many points are taken away."""

from __future__ import annotations

import pytest

from polygen.analysis.counting.slabs import without_slab
from polygen.analysis.integers.affine_forms import LinearForm
from tests.analysis.counting.one_by_one import problem, total

SIZES = [{"n": n, "m": m} for n in (0, 1, 5, 6) for m in (0, 2, 3)]
# Names and bounds; how many names are left where all slabs are taken away.
TILES = {
    "o i": ("i; 3 - i; 4*o + i; n - 1 - 4*o - i", 1),
    "o i j": ("i; 2 - i; 3*o + i; n - 1 - 3*o - i; j; m - j", 2),
    "o q i": ("i; 1 - i; q; 1 - q; 4*o + 2*q + i; n - 1 - 4*o - 2*q - i", 1),
}
WIDENED = {  # for o >= 0, 4*o + i >= 0
    "o i": ("o; i; 3 - i; n - 1 - 4*o - i", 1),
    "o q i": ("o; i; 1 - i; q; 1 - q; n - 1 - 4*o - 2*q - i", 1),
}
DIGITS = {  # bounds of one digit are a slab, too
    "o i": ("o; 4 - o; i; 1 - i; 2*o + i - m; n - 2*o - i", 1),
    "o q i": ("o; 2 - o; q; 1 - q; i; 1 - i; 4*o + 2*q + i - m; n - 4*o - 2*q - i", 1),
}
OTHERS = {
    "t i": ("t; m - 1 - t; i - t; n - 1 + t - i", 2),  # skewed by what is no number: none
    "i": ("i; 4 - i", 0),  # a line of 5
    "i j": ("i + j; 2 - i - j; i; n - i", 1),  # two bounds in a direction
    "k": ("2*k; 3 - 2*k", 0),  # 4 values in steps of 2: 0 and 1
    "i k": ("i - 2*k; 1 - i + 2*k; k; n - k", 1),
}


@pytest.mark.parametrize("kind", [TILES, WIDENED, DIGITS, OTHERS])
def test_sums_stay_when_names_go(kind: dict[str, tuple[str, int]]) -> None:
    for names, (bounds, left) in kind.items():
        before = problem(names, bounds, summand="3*n + 1")
        now = before
        while (less := without_slab(now)) is not None:
            assert len(less.names) == len(now.names) - 1
            assert less.names < now.names
            now = less
            for sizes in SIZES:
                assert total(now, sizes, range(-12, 20)) == total(before, sizes, range(-12, 20))
        assert len(now.names) == left, names


def test_a_tile_leaves_no_trace() -> None:
    found = without_slab(problem("o i", "i; 15 - i; 16*o + i; n - 1 - 16*o - i"))
    assert found is not None
    (name,) = found.names
    x, n = LinearForm.of_name(name), LinearForm.of_name("n")
    assert set(found.bounds) == {x, n - x - 1}


@pytest.mark.parametrize(
    ("names", "bounds"),
    [
        ("i j", "j; i - j; n - 1 - i"),  # a triangle
        ("i j", "i; n - i; j; m - j"),  # how many is no number
        ("i j", "i; 2 - i; j; n - j; i + 2*j - 3"),  # cut
        ("i", "2*i - n; 2 + n - 2*i"),  # 1 or 2, as n is even or odd
        ("i j k", "i; 3 - i"),  # two directions are free
        ("i j", "i; 3 - i; 2*i - n"),  # j has no end
        ("i", "n; 3 - n"),  # of parameters
        ("i", ""),
    ],
)
def test_other_polyhedra_have_none(names: str, bounds: str) -> None:
    assert without_slab(problem(names, bounds)) is None


def test_a_slab_of_no_width_has_no_points() -> None:
    found = without_slab(problem("i j", "i; -1 - i; j; n - j"))
    assert found is not None
    assert found.summand.terms == {}
