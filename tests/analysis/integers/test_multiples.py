"""Multiples of derived sizes: which there are, and what is known of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import product

import islpy as isl
import pytest

from polygen.analysis.integers.multiples import (
    Multiple,
    multiple_facts,
    multiples,
    order_of_multiples,
)
from polygen.analysis.integers.unknowns import Unknowns
from polygen.ir import expression as ex
from polygen.ir.domain import universe
from polygen.ir.sizes import DerivedSize
from polygen.language.parser import parse_expression
from tests.analysis.flat import contains, points, where
from tests.oracle.cases import kernel

PLANE = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = i").copy(
    derived_sizes=(
        DerivedSize("s", None, (ex.Variable("n"), ex.Variable("m"))),
        DerivedSize("t", None, (2, ex.Variable("m"))),
    )
)
FACTOR, S, VALUE = (ex.Variable(name) for name in ("i", "s", "v"))
NAMES = ("i", "s", "v")
FEW = range(-2, 4)


def _unknowns(*texts: str) -> Unknowns:
    found = Unknowns({*PLANE.inames, *PLANE.variables})
    for text in texts:
        found.abstract(parse_expression(text))
    return found


# --- which there are


@pytest.mark.parametrize(
    ("text", "size", "factor"),
    [
        ("s*i", "s", "i"),
        ("(2*i + j - 1)*s + j", "s", "2*i + j - 1"),
        ("t*i", "t", "i"),
        ("s*t", "s", "t"),
        ("n*i", None, ""),  # nothing derived
        ("s*i*j", None, ""),
        ("3*s", None, ""),  # affine
        ("i//s", None, ""),
    ],
)
def test_products_of_a_derived_size(text: str, size: str | None, factor: str) -> None:
    unknowns = _unknowns(text)
    found = multiples(PLANE, unknowns)
    if size is None:
        assert found == []
        return
    (name,) = unknowns.names.values()
    expected = Multiple(ex.Variable(size), parse_expression(factor), ex.Variable(name))
    assert found == [expected]


def test_a_factor_that_is_data_is_unknown_too() -> None:
    unknowns = _unknowns("s*(idx[i] + 1)")
    (found,) = multiples(PLANE, unknowns)
    data = parse_expression("idx[i]")
    assert found.size == S
    assert found.factor == ex.sum_of(ex.Variable(unknowns.names[data]), 1)


def test_no_unknown_is_no_multiple() -> None:
    assert multiples(PLANE, _unknowns("i + 3*s")) == []


# --- what is known of one


def _facts(known: str) -> set[tuple[int, ...]]:
    return points(multiple_facts(Multiple(S, FACTOR, VALUE), isl.Set(known)), NAMES, FEW)


def test_a_multiple_grows_with_its_factor() -> None:
    """From the end on, and from the next value on: 2 lines below and 2 above."""

    def is_so(i: int, s: int, v: int) -> bool:
        from_below = (i < 0 or v >= 0) and (i < 1 or v >= s)
        from_above = (i > 3 or v <= 3 * s) and (i > 2 or v <= 2 * s)
        return from_below and from_above

    assert _facts("[i] -> { : 0 <= i <= 3 }") == where(is_so, 3, FEW)


@pytest.mark.parametrize(
    "known",
    ["{ : 2 <= i <= 2 }", "{ : 0 <= i <= 3 }", "{ : -2 <= i }", "{ : i <= 1 }", "{ : }"],
)
def test_what_is_so_is_never_excluded(known: str) -> None:
    within = isl.Set(f"[i] -> {known}")
    facts = multiple_facts(Multiple(S, FACTOR, VALUE), within)
    for i, s in product(range(-4, 6), range(5)):
        if contains(within, {"i": i}):
            assert contains(facts, {"i": i, "s": s, "v": i * s})


def test_a_constant_factor_is_exact() -> None:
    within = isl.Set("[i, s] -> { : i = 2 and s >= 0 }")
    facts = multiple_facts(Multiple(S, FACTOR, VALUE), within).intersect(within)
    assert points(facts, NAMES, FEW) == where(
        lambda i, s, v: i == 2 and s >= 0 and v == 2 * s, 3, FEW
    )


def test_an_end_on_one_side_only() -> None:
    def is_so(i: int, s: int, v: int) -> bool:
        return (i < 1 or v >= s) and (i < 2 or v >= 2 * s)

    assert _facts("[i] -> { : i >= 1 }") == where(is_so, 3, FEW)


def test_nothing_is_known_of_other_factors() -> None:
    multiple = Multiple(S, FACTOR, VALUE)
    assert multiple_facts(multiple, universe()).plain_is_universe()
    assert multiple_facts(multiple, isl.Set("[i, n] -> { : 0 <= i < n }")).is_equal(
        multiple_facts(multiple, isl.Set("[i] -> { : 0 <= i }"))
    )  # a size is no constant
    assert multiple_facts(multiple, isl.Set("[i] -> { : 1 = 0 }")).plain_is_universe()
    not_affine = Multiple(S, parse_expression("i*j"), VALUE)
    assert multiple_facts(not_affine, isl.Set("[i] -> { : 0 <= i < 4 }")).plain_is_universe()


# --- what is known of two


def _order(first: Iterable[str], second: Iterable[str]) -> isl.Set:
    pair = _unknowns(*first), _unknowns(*second)
    return reduce(isl.Set.intersect, order_of_multiples(PLANE, pair), universe())


def test_different_factors_differ_by_the_size() -> None:
    def is_so(i: int, k: int, v: int, w: int, s: int) -> bool:
        return (i == k and v == w) or (i > k and v - w >= s) or (i < k and w - v >= s)

    names = ("i", "i'", "__unknown_0", "__unknown_0'", "s")
    few = range(-1, 3)
    found = points(_order(["s*i"], ["s*i"]), names, few)
    assert found == where(is_so, 5, few)


def test_each_pair_of_multiples_of_one_size_is_compared() -> None:
    """What holds of products holds here, and one size says nothing of another."""
    texts = ("s*i", "t*j", "s*(j + 1)")
    pair = _unknowns(*texts), _unknowns(*texts)
    facts = [*order_of_multiples(PLANE, pair)]
    assert len(facts) == 2 * 2 + 1
    every = reduce(isl.Set.intersect, facts)
    for i, j, k, m, s, t in product((0, 1), (-1, 1), (0, 2), (0, 1), (0, 2), (1, 5)):
        point = {"i": i, "j": j, "i'": k, "j'": m, "s": s, "t": t}
        for mark, a, b in (("", i, j), ("'", k, m)):
            values = s * a, t * b, s * (b + 1)
            point |= {f"__unknown_{at}{mark}": value for at, value in enumerate(values)}
        assert contains(every, point)


def test_nothing_is_known_of_two_without_a_common_size() -> None:
    assert [*order_of_multiples(PLANE, (_unknowns("s*i"), _unknowns("t*i")))] == []
    assert [*order_of_multiples(PLANE, (_unknowns("i"), _unknowns("s*i")))] == []
