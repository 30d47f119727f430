"""Priorities against the structure of a kernel: which are ignored, and what is said."""

from __future__ import annotations

import warnings
from itertools import permutations
from typing import Any

import pytest

import polygen as pg
from polygen.analysis.order.ignored_priorities import (
    ignored_priorities,
    tell_ignored,
    warn_of_ignored_priorities,
)
from polygen.errors import PriorityIgnored
from polygen.ir.kernel import Kernel

SQUARE = [f"{{ [{i}]: 0<={i}<n }}" for i in "ijk"]
TRIANGLE = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }", "{ [k]: 0<=k<=j }"]


def _kernel(domains: Any, lines: str, *orders: str, **options: Any) -> Kernel:
    """Return a kernel with priorities of which nothing was said yet."""
    with warnings.catch_warnings(), pg.without_proofs():
        warnings.simplefilter("ignore")
        made = pg.make_kernel(domains, lines, **options)
    priorities = frozenset(tuple(order.split(", ")) for order in orders)
    return made.copy(priorities=priorities)


def _said(knl: Kernel, *before: Kernel) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_ignored_priorities(knl, *before)
    assert all(issubclass(w.category, PriorityIgnored) for w in caught)
    return [str(w.message) for w in caught]


@pytest.mark.parametrize("order", list(permutations("ijk")))
def test_each_pair_against_the_structure(order: tuple[str, ...]) -> None:
    """In a triangle, i is around j, and j around k, whatever is asked for."""
    knl = _kernel(TRIANGLE, "b[i, j, k] = 1", ", ".join(order))
    wrong = {(a, b) for n, a in enumerate(order) for b in order[n:] if a > b}
    assert set(ignored_priorities(knl)) == wrong
    assert len(_said(knl)) == len(wrong)


@pytest.mark.parametrize("order", list(permutations("ijk")))
def test_nothing_is_ignored_where_all_is_open(order: tuple[str, ...]) -> None:
    knl = _kernel(SQUARE, "b[i, j, k] = 1", ", ".join(order))
    assert not ignored_priorities(knl)
    assert _said(knl) == []


def test_no_priorities() -> None:
    knl = _kernel(TRIANGLE, "b[i, j, k] = 1")
    assert not ignored_priorities(knl)
    assert _said(knl) == []


def test_loops_that_nothing_is_in_have_no_order() -> None:
    assert not ignored_priorities(_kernel(SQUARE, "b[i] = 1", "k, j"))


@pytest.mark.parametrize(
    ("domains", "lines", "order", "why"),
    [
        (TRIANGLE, "b[i, j, k] = 1", "j, i", "the values of 'j' depend on 'i'"),
        (TRIANGLE, "b[i, j, k] = 1", "k, i", "the values of 'k' depend on 'i'"),
        (
            SQUARE,
            "b[i, j] = 1 {id=t}\na[i] = 1 {id=s}",
            "j, i",
            "'s' is in the loop of 'i' and not in that of 'j': distribute_loop(kernel, 'i')",
        ),
        # i is around j for the bounds of j, and j around k for s.
        (
            [TRIANGLE[0], TRIANGLE[1], SQUARE[2]],
            "a[i, j] = 1 {id=s, inames=i:j}\nb[i, j, k] = 1 {id=t}",
            "k, j",
            "'s' is in the loop of 'j' and not in that of 'k'",
        ),
    ],
)
def test_what_is_in_the_way(domains: Any, lines: str, order: str, why: str) -> None:
    knl = _kernel(domains, lines, order, name="it")
    (text,) = _said(knl)
    inner, outer = order.split(", ")
    assert text.startswith(f"kernel 'it': the priority of '{inner}' over '{outer}' is ignored: the")
    assert why in text


def test_it_is_said_once_a_kernel() -> None:
    knl = _kernel(TRIANGLE, "b[i, j, k] = 1", "j, i")
    assert len(_said(knl)) == 1
    assert _said(knl) == []
    with pytest.warns(PriorityIgnored, match="'k' over 'i'"):
        tell_ignored(knl, [("j", "i"), ("k", "i")])
    # What a step makes of it says nothing more.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tell_ignored(pg.rename_iname(knl, "k", "q"), [("j", "i")])


def test_what_was_ignored_before_a_step_is_not_said_after_it() -> None:
    before, after = (_kernel(TRIANGLE, "b[i, j, k] = 1", "j, i") for _ in range(2))
    assert _said(after, before) == []
    assert _said(after) == []
    fresh = _kernel(TRIANGLE, "b[i, j, k] = 1", "j, i")
    assert len(_said(fresh, _kernel(TRIANGLE, "b[i, j, k] = 1", "i, j"))) == 1


def test_it_may_be_silenced() -> None:
    knl = _kernel(TRIANGLE, "b[i, j, k] = 1", "j, i", silenced_warnings="PriorityIgnored")
    assert set(ignored_priorities(knl)) == {("j", "i")}
    assert _said(knl) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tell_ignored(knl, [("j", "i")])
