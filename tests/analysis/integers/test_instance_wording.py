"""How messages write instances, parameters and places."""

from __future__ import annotations

import dataclasses
import re

import pytest

from polygen.analysis.integers.instance_wording import (
    call_and_places,
    shown_conflict,
    shown_instance,
    shown_parameters,
    shown_places,
    shown_values,
)
from polygen.ir.kernel import Kernel
from polygen.source import SourceLocation
from tests.oracle.cases import kernel

KERNEL = kernel(
    "{ [j,i,k]: 0<=i<n and 0<=j<m and 0<=k<n }",
    """
    <> t = i  {id=scalar}
    a[i, j] = t + sum(k, b[k])  {id=update, dep=scalar}
    c[0] = 3  {id=alone}
    """,
    "...",
)


def test_values_are_in_the_order_of_the_names() -> None:
    values = {"i": 1, "j": -2, "x": 3}
    assert shown_values(values, ("j", "i")) == "j=-2, i=1"
    assert shown_values(values, ("n", "i")) == "i=1"
    assert shown_values(values, ()) == shown_values({}, ("i",)) == ""


@pytest.mark.parametrize(
    ("insn_id", "point", "suffix", "more", "shown"),
    [
        ("update", {"i": 1, "j": 2, "n": 4}, "", (), "update[j=2, i=1]"),  # the kernel's order
        ("update", {"i": 1, "j": 2, "k": 3}, "", (), "update[j=2, i=1]"),
        ("update", {"i": 1, "j": 2, "k": 3}, "", ("k",), "update[j=2, i=1, k=3]"),
        ("update", {"i": 1, "i'": 5, "j'": 0}, "'", (), "update[j=0, i=5]"),
        ("update", {"i": 1}, "", ("k",), "update[i=1]"),
        ("update", {"n": 4}, "", (), "'update'"),
        ("update", {"i": 1, "j": 2}, "'", (), "'update'"),
        ("alone", {"i": 1, "j": 2}, "", (), "'alone'"),  # within no loop
    ],
)
def test_instances(
    insn_id: str, point: dict[str, int], suffix: str, more: tuple[str, ...], shown: str
) -> None:
    assert shown_instance(KERNEL, insn_id, point, suffix, more) == shown


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("flow", "update[j=2, i=1] writes {} that update[j=0, i=3] reads"),
        ("anti", "update[j=2, i=1] reads {} that update[j=0, i=3] writes"),
        ("output", "update[j=2, i=1] writes {} that update[j=0, i=3] writes too"),
    ],
)
def test_conflicts(kind: str, shown: str) -> None:
    point = {"i": 1, "j": 2, "i'": 3, "j'": 0}
    for name, element in (("a", "the element of 'a'"), ("t", "'t'")):
        found = shown_conflict(KERNEL, kind, name, ("update", "update"), point)
        assert found == shown.format(element)


def test_conflicts_of_other_kinds_are_refused() -> None:
    with pytest.raises(KeyError):
        shown_conflict(KERNEL, "input", "a", ("update", "alone"), {"i": 1})


def test_parameters_begin_a_sentence() -> None:
    assert shown_parameters(KERNEL, {"i": 1, "n": 3, "m": 0}) in (
        "for n=3, m=0, ",
        "for m=0, n=3, ",
    )
    assert shown_parameters(KERNEL, {"i": 1, "n": 3}) == "for n=3, "
    assert shown_parameters(KERNEL, {"i": 1}) == ""


def _placed(**lines: int | None) -> Kernel:
    places = {name: SourceLocation("x.py", n) if n else None for name, n in lines.items()}
    own = tuple([i.copy(location=places[i.id]) for i in KERNEL.instructions])
    return dataclasses.replace(KERNEL, instructions=own, location=places["kernel"])


def test_places_are_named_once() -> None:
    knl = _placed(scalar=3, update=4, alone=4, kernel=1)
    assert str(shown_places(knl, "update")) == "x.py:4"
    assert str(shown_places(knl, "update", "alone")) == "x.py:4"
    assert str(shown_places(knl, "update", "scalar")) == "x.py:4 and x.py:3"
    assert shown_places(knl) is None


def test_where_an_instruction_has_no_place_the_kernel_s_is_named() -> None:
    knl = _placed(scalar=3, update=None, alone=None, kernel=1)
    assert str(shown_places(knl, "scalar", "update", "alone")) == "x.py:3 and x.py:1"
    nowhere = _placed(scalar=3, update=None, alone=None, kernel=None)
    assert shown_places(nowhere, "update", "alone") is None
    assert str(shown_places(nowhere, "update", "scalar")) == "x.py:3"


def test_places_of_programs_stand_behind_the_line_that_calls() -> None:
    knl = _placed(scalar=3, update=4, alone=None, kernel=1)
    shown = str(call_and_places(knl, "update", "alone", "nobody"))
    assert re.fullmatch(rf"{re.escape(__file__)}:\d+ and x\.py:4", shown)
    assert str(call_and_places(KERNEL, "update")).startswith(f"{__file__}:")
    assert " and " not in str(call_and_places(KERNEL, "update"))  # which is text in this file
