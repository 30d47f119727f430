"""What has to hold where data decides, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from polygen.analysis.access.accesses import Reference, references
from polygen.analysis.wellformed.obligations import (
    INSIDE,
    ORDERED,
    Obligation,
    shown_element,
    shown_reference,
)
from tests.analysis.wellformed.unproved import SQUARE, array, unproved

KNL = unproved(
    SQUARE,
    "b[i, idx[j]] = a[idx[i]] + x {id=s}",
    array("a", "n"),
    array("b", "n", "m"),
    array("idx", "n", dtype="int32"),
)


def _references() -> dict[str, Reference]:
    return {shown_reference(r): r for r in references(KNL.instruction("s"))}


def test_references_are_shown_as_they_are_written() -> None:
    assert set(_references()) == {"b[i, idx[j]]", "idx[j]", "a[idx[i]]", "idx[i]", "x"}


@pytest.mark.parametrize(
    ("index", "shown"),
    [((), "'a'"), ((0,), "a[0]"), ((2, 3), "a[2, 3]"), ((-1, 0, 4), "a[-1, 0, 4]")],
)
def test_elements(index: tuple[int, ...], shown: str) -> None:
    assert shown_element("a", index) == shown


def test_obligations_name_their_instructions() -> None:
    owed = Obligation(INSIDE, ("s",), "a", "a[i] is inside")
    assert str(owed) == "s: a[i] is inside"
    assert str(replace(owed, instructions=("s", "t"))) == "s and t: a[i] is inside"


def test_equal_obligations_are_one() -> None:
    """What is listed once is told by all that an obligation is about."""
    found = _references()
    owed = Obligation(INSIDE, ("s",), "a", "so", (found["a[idx[i]]"],), axis=0)
    assert owed == replace(owed)
    assert len({owed, replace(owed)}) == 1
    others = [
        replace(owed, kind=ORDERED),
        replace(owed, axis=1),
        replace(owed, what="otherwise"),
        replace(owed, references=(found["idx[i]"],)),
    ]
    assert len({owed, *others}) == 5
    assert "references" not in repr(owed)  # they are long
