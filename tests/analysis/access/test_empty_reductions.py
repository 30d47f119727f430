"""Sizes for which there is something to reduce, beside counting for each of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from polygen.analysis.access.empty_reductions import of_nothing, sizes_with_something
from polygen.ir.show_expression import show_expression
from polygen.language.of_nothing import identities
from tests.analysis.flat import points
from tests.oracle.cases import kernel

ROW = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n - 1 }", "{ [k]: 0<=k<2*n }"]


def _asked(text: str, domains: list[str] | None = None) -> dict[str, set[int]]:
    """Return the reductions that need something, each with the small sizes that are well."""
    with identities():
        knl = kernel(domains or ROW, text, "...")
    return {
        show_expression(reduction): {n for (n,) in points(sizes, ["n"])}
        for _, reduction, sizes in sizes_with_something(knl)
    }


def _small(holds: Callable[[int], bool]) -> set[int]:
    return {n for n in range(-2, 8) if holds(n)}


SIZES: list[tuple[str, str, Callable[[int], bool]]] = [
    # there is something, or no instance that reduces
    ("out[i] = max(j, a[j])", "max(j, a[j])", lambda n: n < 1 or n > 1),
    ("out[0] = max(j, a[j]) {inames=}", "max(j, a[j])", lambda n: n > 1),
    ("out[i] = 2 - min(k, a[k])", "min(k, a[k])", lambda _: True),
    ("out[0] = min(k, a[k]) {inames=}", "min(k, a[k])", lambda n: n > 0),
    ("out[0] = argmin(j, a[j], j)[1] {inames=}", "argmin(j, a[j], j)", lambda n: n > 1),
    ("out[0] = max((j, k), a[j + k]) {inames=}", "max((j, k), a[j + k])", lambda n: n > 1),
]


@pytest.mark.parametrize(("text", "reduction", "is_well"), SIZES)
def test_sizes(text: str, reduction: str, is_well: Callable[[int], bool]) -> None:
    assert _asked(text) == {reduction: _small(is_well)}


@pytest.mark.parametrize(
    "text",
    [
        "out[0] = sum(j, a[j]) {inames=}",  # of nothing, it is 0
        "out[0] = max(0, max(j, a[j])) {inames=}",  # of nothing, it is the other
        "out[i] = max(j, a[j]) {if=i > 3}",  # it may never be computed
        "out[i] = if(a[i] > 0, max(j, a[j]), 0)",
        "out[i] = if(a[i] > 0 and max(j, a[j]) > 0, 1, 0)",
    ],
)
def test_nothing_is_asked(text: str) -> None:
    assert _asked(text) == {}


def test_other_operations_do_not_stand_for_what_is_missing() -> None:
    assert list(_asked("out[0] = min(0, max(j, a[j])) {inames=}")) == ["max(j, a[j])"]
    assert list(_asked("out[0] = max(0, argmax(j, a[j], j)[0]) {inames=}")) == [
        "argmax(j, a[j], j)"
    ]
    # one of two maxima has to be of something, and then it is the other that is not asked
    assert _asked("out[0] = max(max(j, a[j]), max(k, a[k])) {inames=}").keys() == {
        "max(j, a[j])",
        "max(k, a[k])",
    }


def test_what_is_always_computed_in_a_choice() -> None:
    text = "out[i] = if(max(j, a[j]) > 0, min(k, a[k]), 0)"
    assert list(_asked(text)) == ["max(j, a[j])"]


def test_more_than_sizes_decides() -> None:
    domains = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<i }"]
    assert _asked("out[i] = max(j, a[j])", domains) == {}
    data = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<m }"]
    text = "<int32> m = b[0] {id=m, inames=}\nout[i] = max(j, a[j]) {dep=m}"
    assert _asked(text, data) == {}
    together = ["{ [i, j]: 0<=i<n and i<=j<n }"]
    assert _asked("out[i] = max(j, a[j])", together) == {}


def test_one_iteration_and_none() -> None:
    one, none = (
        ["{ [i]: 0<=i<n }", f"{{ [j]: 0<=j<{count} }}", "{ [k]: 0<=k<n }"] for count in (1, 0)
    )
    assert _asked("out[i] = max(j, a[j])", one) == {"max(j, a[j])": _small(lambda _: True)}
    assert _asked("out[i] = max(j, a[j])", none) == {"max(j, a[j])": _small(lambda n: n < 1)}


def test_remedies() -> None:
    assert of_nothing("max") == "say what it is of nothing: max(0, max(j, a[j])) is 0 then"
    assert of_nothing("argmin").startswith("compute it under a condition: if(n > 0, argmin(j, ")
