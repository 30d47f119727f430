"""Distances between iterations, read from subscripts; compared with all pairs of iterations."""

from __future__ import annotations

from itertools import product

import pytest

from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.language.parser import parse_expression
from polygen.schedules.iteration_distances import Carried, Touch, carried, distance, moved

N = 4


def forms(text: str) -> tuple[LinearForm | None, ...]:
    return tuple([linear_form(parse_expression(part)) for part in text.split(";") if part])


def touch(text: str, *, is_write: bool = False, is_own: bool = False) -> Touch:
    name, _, index = text.partition("@")
    return Touch(name, forms(index), is_write, is_sure=True, is_own=is_own)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("i;j", "i;j", {"i": 0, "j": 0}),
        ("i+1;j", "i;j-2", {"i": 1, "j": 2}),
        ("2*i", "2*i-2", {"i": 1}),
        ("2*i", "2*i+1", None),  # an even and an odd one
        ("i;0", "i;1", None),
        ("i;i", "i;i+1", None),
        ("i+j;i", "i+j;i-1", {"i": 1, "j": -1}),
        ("i+j", "i+j", {}),
        ("j;i", "i;j", {}),
        ("3*t+i", "3*t+i-1", {"i": 1}),  # of one step of time
        ("", "", {}),
    ],
)
def test_pairs_that_touch_one_element(
    first: str, second: str, expected: dict[str, int] | None
) -> None:
    found = distance(forms(first), forms(second), ["i", "j"])
    assert found == expected
    index = [compile(f"[{part.replace(';', ',')}]", "", "eval") for part in (first, second)]
    for i, j, p, q in product(range(-N, N), repeat=4):
        names = {"i": i, "j": j, "t": 5}, {"i": p, "j": q, "t": 5}
        one, other = (eval(*both) for both in zip(index, names, strict=True))  # noqa: S307
        if one == other:
            assert found is not None
            assert all({"i": p - i, "j": q - j}[name] == gap for name, gap in found.items())


def test_data_say_nothing() -> None:
    assert distance((None,), forms("i"), ["i"]) == {}


@pytest.mark.parametrize(
    ("texts", "i", "j"),
    [
        (["b@i;j"], Carried.NOTHING, Carried.NOTHING),
        (["b@i;j", "r:b@i;j-1"], Carried.NOTHING, Carried.SOMETHING),
        (["b@i;j", "r:b@i-1;j+1"], Carried.SOMETHING, Carried.NOTHING),
        (["b@i"], Carried.NOTHING, Carried.PERHAPS),
        (["r:a@i;j-1"], Carried.NOTHING, Carried.NOTHING),
        (["own:s@", "b@i;j"], Carried.NOTHING, Carried.NOTHING),
        (["r:own:s@", "own:s@"], Carried.PERHAPS, Carried.PERHAPS),
    ],
)
def test_what_loops_carry(texts: list[str], i: Carried, j: Carried) -> None:
    touches = [
        touch(text.rpartition(":")[2], is_write="r:" not in text, is_own="own:" in text)
        for text in texts
    ]
    assert carried(touches, ["i", "j"]) == {"i": i, "j": j}


def test_other_coordinates() -> None:
    assert moved(touch("a@2*j+n"), {"j": ("i", -1)}).forms == forms("2*i-2+n")
