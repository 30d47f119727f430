"""Steps that change the order in which a reduction combines its values: refused where it counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NotTheSame, Reassociated
from polygen.ir.kernel import Kernel

pg.register_reduction("horner_in_order", "3*a + b", 0)
pg.register_reduction("last_in_order", "if(b != 0, b, a)", 0, associative=True)
pg.register_reduction("middle_of_two", "(a + b)/2", 0, commutative=True)

Step = Callable[[Kernel], Kernel]
STEPS: Mapping[str, Step] = {
    "on work items": lambda k: pg.split_iname(k, "j", 4, inner_tag="l.0"),
    "backwards": lambda k: pg.reverse(k, "j"),
    "by a map": lambda k: pg.map_domain(k, "{ [j] -> [q]: q = -j }"),
    "other loops outside": lambda k: pg.prioritize_loops(
        pg.split_iname(k, "j", 4), "j_inner, j_outer"
    ),
    "every fourth": lambda k: pg.split_reduction_outward(pg.split_iname(k, "j", 4), "j_inner"),
    "parts": lambda k: pg.split_reduction_inward(pg.split_iname(k, "j", 4), "j_inner"),
    "groups": lambda k: pg.parallelize_reduction(k, "s", blocks=2, threads=4, items=2),
    "one group": lambda k: pg.parallelize_reduction(k, "s", threads=4, items=1),
    "stored parts": lambda k: pg.reduce_in_parts(k, "j", 8),
    "a tree": lambda k: pg.realize_reduction(pg.split_iname(k, "j", 4, inner_tag="l.0"), "s"),
}
# Reductions of which the order counts, and the option that lets it count.
ORDERED: Mapping[str, dict[str, Any]] = {
    "s[0] = horner_in_order(j, a[j])": {},
    "s[0] = last_in_order(j, a[j])": {},
    "s[0] = middle_of_two(j, a[j])": {},
    "s[0], <> since = segmented(sum)(j, a[j], a[j] > 0)": {},
    "s[0] = sum(j, a[j])": {"allow_reassociation": False},
    "s[0] = product(j, a[j])": {"allow_reassociation": False},
    "s[0] = compensated(sum)(j, a[j])": {"allow_reassociation": False},
}
# Of these, it cannot be seen.
FREE = ("max(j, a[j])", "argmin(j, a[j], j)[1]", "any(j, a[j] > 0)", "bit_xor(j, int64(a[j]))")


def _kernel(text: str, **options: Any) -> Kernel:
    knl = pg.make_kernel("{ [j]: 0<=j<n }", f"{text}  {{id=s}}")
    return pg.set_options(pg.add_dtypes(knl, {"a": np.float32}), **options)


@pytest.mark.parametrize("name", STEPS)
def test_refused_where_the_order_counts(name: str) -> None:
    for text, options in ORDERED.items():
        with pytest.raises((Reassociated, NotTheSame)):
            STEPS[name](_kernel(text, **options))


@pytest.mark.parametrize("name", STEPS)
def test_taken_where_it_does_not(name: str) -> None:
    for value in FREE:
        assert STEPS[name](_kernel(f"s[0] = {value}", allow_reassociation=False)).history
    assert STEPS[name](_kernel("s[0] = compensated(sum)(j, a[j])")).history


def test_loops_are_joined_in_their_order() -> None:
    """Whatever that means for memory."""
    knl = pg.make_kernel(
        "{ [j,i]: 0<=i<m and 0<=j<n }",
        "s[0] = horner_in_order((j, i), a[i,j])  {id=s}",
        silenced_warnings="AmbiguousNesting",
    )
    knl = pg.add_dtypes(knl, {"a": np.int64})
    a = np.random.default_rng(1).integers(0, 3, (3, 4))
    right = 0
    for value in a.T.reshape(-1):
        right = 3 * right + int(value)
    for each in knl, pg.coalesce_reduction(knl, "s"):
        _, (s,) = each.executor("c")(a=a)
        assert s[0] == right
