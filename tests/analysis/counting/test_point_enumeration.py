"""The points of polyhedra in blocks, and sums over them, beside Python one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import islpy as isl
import numpy as np
import pytest

from polygen.analysis.counting import point_enumeration
from polygen.analysis.counting.point_enumeration import blocks, inside, summed_up, values_of
from polygen.ir.domain import flatten
from tests.analysis.counting.one_by_one import form, forms, polynomial, value_of


def _found(text: str, names: str) -> list[tuple[int, ...]]:
    piece = isl.BasicSet(text)
    found: list[tuple[int, ...]] = []
    for block in blocks(piece, [*names]):
        assert list(block) == [*names]
        found += zip(*(block[name].tolist() for name in names), strict=True)
    assert len(found) == len(set(found))  # each once
    return found


def _box(**ranges: range) -> dict[str, Any]:
    points = np.array([*product(*ranges.values())], np.int64).reshape(-1, len(ranges))
    return dict(zip(ranges, points.T, strict=True))


# --- blocks


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("[i] -> { : 0 <= i < 5 }", "i", [(i,) for i in range(5)]),
        ("[i] -> { : 3 <= 2i <= 9 }", "i", [(2,), (3,), (4,)]),
        ("[i] -> { : i = -3 }", "i", [(-3,)]),
        (
            "[i, j] -> { : 0 <= j <= i < 4 }",
            "ij",
            [(i, j) for i in range(4) for j in range(i + 1)],
        ),
        (
            "[i, j] -> { : 0 <= j <= i < 4 }",
            "ji",
            [(j, i) for j in range(4) for i in range(j, 4)],
        ),
        (
            "[i, j] -> { : 0 <= i < 4 and j = 2i - 3 }",
            "ij",
            [(i, 2 * i - 3) for i in range(4)],
        ),
        (
            "[i, j] -> { : 0 <= i <= 6 and i <= 3j + 1 <= 6 }",
            "ij",
            [(i, j) for i in range(7) for j in range(-9, 9) if i <= 3 * j + 1 <= 6],
        ),
        ("[i] -> { : 0 <= i and i < 0 }", "i", []),
        (
            "[i, j, k] -> { : 0 <= i < 3 and j = 1 and i < k < 3 }",
            "ijk",
            [(0, 1, 1), (0, 1, 2), (1, 1, 2)],
        ),
    ],
)
def test_the_points_in_order(text: str, names: str, expected: list[tuple[int, ...]]) -> None:
    assert _found(text, names) == expected


@pytest.mark.parametrize(
    "condition",
    ["i mod 3 = 1", "(i + j) mod 2 = 0", "2*floor(i/3) <= j", "j = 2*floor(i/2)"],
)
def test_floors_may_leave_more_points(condition: str) -> None:
    """None of the set is missing, and those beside are few: within the bounds without floors."""
    text = f"{{ [i, j] : 0 <= i < 7 and 0 <= j < 6 and {condition} }}"
    right: list[tuple[int, ...]] = []
    isl.Set(text).foreach_point(
        lambda p: right.append(
            tuple(p.get_coordinate_val(isl.dim_type.set, at).to_python() for at in (0, 1))
        )
    )
    (piece,) = flatten(isl.Set(text)).get_basic_sets()
    found = [
        point
        for block in blocks(piece, ["i", "j"])
        for point in zip(block["i"].tolist(), block["j"].tolist(), strict=True)
    ]
    assert set(right) <= set(found) <= {*product(range(7), range(6))}
    assert len(found) == len(set(found))


def test_large_sets_come_in_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(point_enumeration, "_AT_ONCE", 4)
    piece = isl.BasicSet("[i, j] -> { : 0 <= i < 5 and i <= j < 6 }")
    every = [*blocks(piece, ["i", "j"])]
    assert len(every) > 1
    assert all(1 <= len(block["i"]) <= 4 for block in every)
    assert sum(len(block["i"]) for block in every) == sum(6 - i for i in range(5))
    assert len(_found("[i, j] -> { : 0 <= i < 5 and i <= j < 6 }", "ij")) == 20


# --- forms at many points


@pytest.mark.parametrize(
    "text", ["3", "i", "2*i - 3*j + 1", "i//3 + j", "(i//2 - 5*j)//7 - i", "-(i//4)"]
)
def test_values_of_forms(text: str) -> None:
    columns = _box(i=range(-5, 6), j=range(-3, 4))
    found = values_of(form(text), columns)
    expected = [
        form(text).evaluate({"i": int(i), "j": int(j)})
        for i, j in zip(columns["i"], columns["j"], strict=True)
    ]
    assert found.tolist() == expected
    nothing = {name: column[:0] for name, column in columns.items()}
    assert values_of(form(text), nothing).tolist() == []


@pytest.mark.parametrize("text", ["9*i", "i + i//2 + 7", f"{2**62}*j + i", f"i + {10**20}"])
def test_values_past_64_bits(text: str) -> None:
    values = [2**62, -(2**62) + 1, 5]
    columns = {"i": np.array(values), "j": np.array([4, -4, 0])}
    expected = [
        form(text).evaluate({"i": i, "j": j}) for i, j in zip(values, (4, -4, 0), strict=True)
    ]
    assert values_of(form(text), columns).tolist() == expected


def test_points_at_which_forms_are_not_negative() -> None:
    columns = _box(i=range(-4, 5), j=range(-4, 5))
    found = inside(columns, forms("i - j; 2*i + j - 1; i//2 + 1"))
    right = [
        (i, j) for i, j in product(range(-4, 5), repeat=2) if i >= j and 2 * i + j >= 1 and i >= -2
    ]
    assert [*zip(found["i"].tolist(), found["j"].tolist(), strict=True)] == right
    every = inside(columns, ())
    assert every["i"].tolist() == columns["i"].tolist()
    assert inside(columns, forms("-1"))["i"].tolist() == []


# --- sums


def _sum(cases: Sequence[tuple[str, str]], points: Sequence[Mapping[str, int]]) -> int:
    total = 0
    for at in points:
        for bounds, text in cases:
            if all(bound.evaluate(at) >= 0 for bound in forms(bounds)):
                total += int(value_of(polynomial(text), at))
    return total


@pytest.mark.parametrize(
    "cases",
    [
        [("", "1")],
        [("", "i*i*j - 3*i + 2")],
        [("i", "i*(j//2)"), ("-i - 1", "7"), ("i - 2; j", "j*j")],  # they overlap: all are added
        [("-1", "i")],
        [],
    ],
)
def test_sums_of_cases(cases: list[tuple[str, str]]) -> None:
    columns = _box(i=range(-3, 6), j=range(-2, 4))
    points = [{"i": i, "j": j} for i, j in product(range(-3, 6), range(-2, 4))]
    pairs = [(forms(bounds), polynomial(text)) for bounds, text in cases]
    assert summed_up(pairs, 1, columns) == _sum(cases, points)
    thirds = [(bounds, each * Fraction(1, 3)) for bounds, each in pairs]
    assert summed_up(thirds, 6, columns) == 2 * _sum(cases, points)
    nothing = {name: column[:0] for name, column in columns.items()}
    assert summed_up(pairs, 1, nothing) == 0


def test_sums_past_64_bits() -> None:
    columns = {"i": np.array([2**40, 2**41, 3])}
    expected = sum(i**3 for i in (2**40, 2**41, 3))
    assert summed_up([((), polynomial("i*i*i"))], 1, columns) == expected
