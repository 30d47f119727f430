"""Values of inames together, and what has to be known before a loop begins."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.analysis.access.domains import (
    all_reads,
    domain_of,
    domain_temporaries,
    homes,
    surrounding_inames,
    with_surrounding,
)
from polygen.errors import DomainCycle
from polygen.ir.domain import flat_names
from polygen.ir.kernel import Kernel
from tests.analysis.flat import points, where

TRIANGLE = ["{ [i]: 0<=i<4 }", "[i] -> { [j,k]: 0<=j<=i and j<=k<3 }"]


def triangle() -> Kernel:
    return pg.make_kernel(
        TRIANGLE, "a[i,j,k] = 1.0", [pg.GlobalArg("a", "float64", (4, 4, 3)), "..."]
    )


def counted() -> Kernel:
    """Return a kernel whose inner loop ends at a number that another instruction computes."""
    return pg.make_kernel(
        ["{ [i]: 0<=i<n }", "[h] -> { [j]: 0<=j<h }"],
        """
        <> h = heights[i]    {id=h}
        out[i] = sum(j, a[j])  {id=sum, dep=h}
        """,
        [pg.GlobalArg("heights", "int32", "n"), pg.GlobalArg("a", "float64", "m"), "..."],
        silenced_warnings=["AmbiguousNesting"],
    )


def test_what_surrounds_a_loop() -> None:
    knl = triangle()
    assert surrounding_inames(knl, "i") == frozenset()
    assert surrounding_inames(knl, "j") == surrounding_inames(knl, "k") == {"i"}
    assert with_surrounding(knl, ["k"]) == {"i", "k"}
    assert with_surrounding(knl, []) == frozenset()


def test_data_that_bounds_a_loop_is_computed_around_it() -> None:
    knl = counted()
    assert surrounding_inames(knl, "j") == {"i"}
    assert domain_temporaries(knl, ["j"]) == {"h"}
    assert domain_temporaries(knl, ["i"]) == frozenset()
    reads = all_reads(knl, knl.instruction("sum"))
    assert {"a", "h"} <= reads
    assert "heights" not in reads  # that is read by the other one
    assert "h" not in all_reads(knl, knl.instruction("h"))


def test_a_loop_around_itself() -> None:
    knl = triangle()
    first, second = knl.domains
    (crossed,) = pg.make_kernel("[j] -> { [i]: 0<=i<=j<4 }", "b[i] = 1.0", ["j", "..."]).domains
    with pytest.raises(DomainCycle) as caught:
        surrounding_inames(knl.copy(domains=(crossed, second)), "i")
    assert caught.value.what == "the domain of 'i' needs, through others, 'i' itself"
    assert first.inames == ("i",)


def test_values_together() -> None:
    knl = triangle()

    def inside(i: int, j: int, k: int) -> bool:
        return 0 <= i < 4 and 0 <= j <= i and j <= k < 3

    every = domain_of(knl, frozenset("ijk"))
    assert points(every, "ijk") == where(inside, 3)
    # A domain of which no iname is asked for says nothing: i stays a parameter of j's.
    assert set(flat_names(domain_of(knl, frozenset("jk")))) == {"i", "j", "k"}
    # k <= 2 is left of the iname that is projected out.
    assert points(domain_of(knl, frozenset("ij")), "ij") == where(
        lambda i, j: any(inside(i, j, k) for k in range(3)), 2
    )
    assert domain_of(knl, frozenset()).plain_is_universe()


def test_homes_are_in_the_kernels_order() -> None:
    knl = triangle()
    assert homes(knl, frozenset("ki")) == knl.domains
    assert homes(knl, frozenset("k")) == knl.domains[1:]
    assert homes(knl, frozenset()) == ()
