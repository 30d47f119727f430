"""What is known of derived sizes, beside their values."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from math import prod

import pytest

from polygen.analysis.integers.products import cofactors, size_facts
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.ir.sizes import DerivedSize
from polygen.language.parser import parse_expression
from tests.analysis.flat import contains
from tests.oracle.evaluate import integer
from tests.transforms.splitting.test_join_symbolic import CUBE, PLANE, joined

SIZES = [*product(range(-1, 4), range(-1, 4), (2,))]


def _with_sizes(**sizes: str) -> Kernel:
    found: list[DerivedSize] = []
    for name, factors in sizes.items():
        parts = tuple(map(parse_expression, factors.split(", ")))
        found.append(DerivedSize(name, None, parts))
    return PLANE.copy(derived_sizes=tuple(found))


def _sizes(kernel: Kernel, n: int, m: int, p: int) -> dict[str, int]:
    found = {"n": n, "m": m, "p": p}
    for size in kernel.derived_sizes:
        found[size.name] = prod(max(0, integer(f, found)) for f in size.factors)
    return found


# --- facts


@pytest.mark.parametrize("factors", ["n", "n-1, m", "3, m", "n//2, m+1", "n, m, p"])
def test_facts_about_sizes(factors: str) -> None:
    knl = _with_sizes(s=factors)
    facts = size_facts(knl)
    exact = sum(not part.isdigit() for part in factors.split(", ")) <= 1
    for n, m, p in SIZES:
        sizes = _sizes(knl, n, m, p)
        for s in range(-1, 20):
            if s == sizes["s"]:
                assert contains(facts, sizes)
            elif exact or s < min(1, sizes["s"]) or sizes["s"] == 0:
                assert not contains(facts, {**sizes, "s": s})


@pytest.mark.parametrize("factors", ["5", "0", "-2", "0, m", "-1, m", "2, m-1, 3"])
def test_the_only_factor_that_is_no_number_makes_facts_exact(factors: str) -> None:
    knl = _with_sizes(s=factors)
    for n, m, p in SIZES:
        sizes = _sizes(knl, n, m, p)
        found = {s for s in range(-3, 20) if contains(size_facts(knl), {**sizes, "s": s})}
        assert found == {sizes["s"]}


def test_a_product_is_as_large_as_its_factors_say() -> None:
    """Of 2 and 3 both, at least 4 is known: it is 6."""
    facts = size_facts(_with_sizes(s="n, m"))
    for n, m in product(range(-1, 4), repeat=2):
        least = n + m - 1 if min(n, m) >= 1 else 0
        found = {s for s in range(-2, 12) if contains(facts, {"n": n, "m": m, "s": s})}
        assert found == (set(range(least, 12)) if least else {0})


def test_a_size_of_a_size() -> None:
    knl = _with_sizes(s="2, m", t="3, s")
    for m, s, t in product(range(-1, 3), range(-1, 5), range(-1, 13)):
        right = s == 2 * max(0, m) and t == 3 * s
        assert contains(size_facts(knl), {"m": m, "s": s, "t": t}) == right


def test_nothing_is_known_without_derived_sizes() -> None:
    assert size_facts(PLANE).plain_is_universe()


def test_factors_are_affine() -> None:
    with pytest.raises(InternalError, match="factor of a derived size is not affine"):
        size_facts(_with_sizes(s="n*m, p"))


# --- the other factor


def _shown(found: Iterable[tuple[DerivedSize, Expression]]) -> list[tuple[str, str]]:
    return [(str(size), show_expression(factor)) for size, factor in found]


def test_the_other_factor() -> None:
    knl = joined("i, j, k")(CUBE)
    assert _shown(cofactors(knl, ex.Variable("p"))) == [("n_m_p = n_m * p", "n_m")]


def test_all_sizes_of_two_factors_are_asked() -> None:
    knl = _with_sizes(s="n, m", t="n, n", u="n, m, p", v="m - 2, n", w="n")
    assert _shown(cofactors(knl, parse_expression("2*n - n"))) == [
        ("s = n * m", "m"),
        ("t = n * n", "n"),
        ("t = n * n", "n"),
        ("v = (m - 2) * n", "m - 2"),
    ]
    assert _shown(cofactors(knl, parse_expression("m - 2"))) == [("v = (m - 2) * n", "n")]
    for other in ("p", "2*n", "n + 1", "1"):
        assert _shown(cofactors(knl, parse_expression(other))) == []
