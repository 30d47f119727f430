"""Loops over all kinds of domains execute each instance once, whatever is done to them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.oracle.cases import SIZES, Step, agree, grid, kernel, prior, split, steps, tag

UNROLLED = split("i", 4, inner_tag="unr")
TWICE = steps(split("i", 8), split("i_inner", 3, inner_tag="unr"), split("i_outer", 2))

DOMAINS = {
    "plain": kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]"),
    "from below zero": kernel("{ [i]: -n<=i<=n }", "out[i+n] = 2*a[i+n] + i//3 + i%3"),
    "every third": kernel("{ [i]: 0<=i<n and i mod 3 = 1 }", "out[i] = a[i] + 1"),
    "two ranges": kernel("{ [i]: 0<=i<n or n+3<=i<2*n+3 }", "out[i] = a[i]"),
    "one equation": kernel("{ [i,j]: 0<=i<n and j=2*i }", "out[j] = a[i]"),
    "triangle": kernel("{ [i,j]: 0<=j<=i<n }", "out[i,j] = a[i,j] + i - j"),
    "triangle of two domains": kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<i }"], "out[i] = sum(j, a[j]*(i-j))"
    ),
    "band": kernel("{ [i,j]: 0<=i<n and 0<=j<n and i-2<=j<=i+3 }", "out[i,j] = a[i,j] + i - j"),
    "row and a point": kernel("{ [i,j]: 0<=i<n and (0<=j<i or j=n+1) }", "out[i,j] = a[i,j]"),
}


@pytest.mark.parametrize(
    "step",
    [
        split("i", 4),
        split("i", 3),
        UNROLLED,
        grid("i", 4),
        steps(split("i", 4), prior("i_inner, i_outer")),
        TWICE,
    ],
    ids=["split 4", "split 3", "unrolled", "grid", "inner outside", "twice"],
)
@pytest.mark.parametrize("name", DOMAINS)
def test_split_loops(name: str, step: Step) -> None:
    agree(DOMAINS[name], SIZES, step)


@pytest.mark.parametrize("name", ["triangle", "band", "row and a point", "one equation"])
@pytest.mark.parametrize(
    "step",
    [
        split("j", 4),
        split("j", 3, inner_tag="unr"),
        grid("j", 4),
        prior("j, i"),
        tag(j="g.0"),
        steps(split("i", 4), split("j", 3, inner_tag="unr")),
        steps(grid("i", 4, axis=1), grid("j", 2)),
    ],
    ids=["split", "unrolled", "grid", "outside", "groups", "both", "both on a grid"],
)
def test_inner_loops(name: str, step: Step) -> None:
    agree(DOMAINS[name], SIZES[:4], step)


@pytest.mark.parametrize("name", ["plain", "from below zero", "every third", "two ranges"])
def test_one_group_an_iteration(name: str) -> None:
    agree(DOMAINS[name], SIZES, tag(i="g.0"))


def test_what_assumptions_make_redundant_is_a_constant_all_the_same() -> None:
    knl = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<m and (i+j) mod 2 = 0 }", "out[i,j] = a[i,j]", assumptions="m<=2"
    )
    sizes = [{"n": 3, "m": m} for m in (0, 1, 2)]
    agree(knl, sizes, grid("j", 3), split("j", 3, inner_tag="unr"))


def test_bounds_that_are_said_through_a_remainder_alone() -> None:
    knl = kernel("{ [i]: 0<=i<n and (i+1) mod 2 = 0 }", "out[i] = a[i]", assumptions="n<=2")
    agree(knl, SIZES[:2], grid("i", 3), tag(i="g.0"))


# --- bounds that are data


def _counts(sizes: dict[str, int]) -> NDArray[np.int32]:
    return np.array([3, 1, 0, 5, 2, 4, 1, 7, 0, 2, 1, 3, 2, 0, 4, 1, 2][: sizes["n"]], np.int32)


RAGGED = kernel(
    ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<c }"],
    """
    <int32> c = count[i]
    out[i,j] = a[j]*(j+1)  {id=out}
    s[i] = s[i] + out[i,j]  {dep=*out}
    """,
    pg.GlobalArg("out", shape=("n", 8)),
    pg.GlobalArg("a", shape=(8,)),
    pg.GlobalArg("count", np.int32, shape=("n",)),
)
DATA_STEPS = [
    split("i", 4),
    split("j", 4),
    split("j", 4, inner_tag="unr"),
    grid("i", 4),
    steps(grid("i", 4), split("j", 3, inner_tag="unr")),
    split("i", 2, inner_tag="unr"),
]


def test_rows_of_different_lengths() -> None:
    agree(RAGGED, SIZES, *DATA_STEPS, count=_counts)


def test_a_sum_over_rows_of_different_lengths() -> None:
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: start<=j<stop }"],
        """
        <int32> start = row[i]
        <int32> stop = row[i+1]
        out[i] = sum(j, a[j]*(j+1))
        """,
        pg.GlobalArg("a", shape=(64,)),
        pg.GlobalArg("row", np.int32, shape=("n+1",)),
    )

    def row(sizes: dict[str, int]) -> NDArray[np.int32]:
        return np.concatenate(([0], np.cumsum(_counts(sizes)))).astype(np.int32)

    agree(knl, SIZES, *DATA_STEPS, row=row)


# --- unrolled


@pytest.mark.parametrize("form", ["one domain", "two domains"])
@pytest.mark.parametrize(
    "step",
    [
        tag(i="unr", j="unr"),
        tag(i="unr"),
        tag(j="unr"),
        steps(split("j", 7, inner_tag="unr"), split("j_outer", 2)),
        steps(tag(i="unr", j="unr"), prior("j, i")),
        steps(split("i", 2, outer_tag="unr", inner_tag="unr"), tag(j="unr")),
    ],
)
def test_bounds_that_depend_on_an_unrolled_loop(form: str, step: Step) -> None:
    domains: object = (
        "{ [i,j]: 0<=j<=i<5 }" if form == "one domain" else ["{ [i]: 0<=i<5 }", "{ [j]: 0<=j<=i }"]
    )
    agree(kernel(domains, "out[i,j] = a[i,j] + 10*i"), [{}], step)


def test_names_that_lowering_would_choose() -> None:
    knl = kernel(
        "{ [i,k]: 0<=i<n and 0<=k<n }",
        """
        <> acc_k = a[i]
        <> i_outer = b[i]
        out[i] = acc_k + i_outer + sum(k, a[k])  {id=insn_update}
        """,
    )
    agree(knl, SIZES[:4], split("i", 4), grid("i", 4), split("k", 4))


def test_a_recurrence_runs_upward() -> None:
    knl: Kernel = kernel("{ [i]: 1<=i<n }", "a[i] = a[i-1] + b[i]")
    agree(knl, SIZES[1:], split("i", 4), UNROLLED, steps(split("i", 4), split("i_outer", 2)))


def test_bounds_are_not_read_where_they_were_not_computed() -> None:
    """The instances are in two ranges, so that no single condition surrounds both of them."""
    knl = kernel(
        ["{ [i]: i=0 or n<=i<n+3 }", "{ [j]: 0<=j<c }", "{ [k]: 0<=k<d }"],
        """
        <int32> c = count[i % 4]      {id=c}
        <int32> d = count[(i+1) % 4]  {id=d}
        out[i,j,k] = a[i] + j         {dep=*c:d}
        """,
        pg.GlobalArg("count", np.int32, shape=(4,)),
        pg.GlobalArg("out", shape=("n+3", 8, 8)),
    )
    both = steps(grid("i", 4), split("j", 2), split("k", 2, inner_tag="unr"))
    agree(knl, SIZES[:4], grid("i", 4), both, tag(i="g.0"), count=lambda _: [3, 0, 2, 1])


def test_a_loop_of_one_iteration_whose_value_is_computed() -> None:
    knl = kernel(
        ["{ [i]: i=0 or n<=i<n+3 }", "{ [j]: j=c }"],
        "<int32> c = count[i % 4]  {id=c}\nout[i,j] = a[i] + j  {dep=*c}",
        pg.GlobalArg("count", np.int32, shape=(4,)),
        pg.GlobalArg("out", shape=("n+3", 8)),
    )
    agree(knl, SIZES[:4], grid("i", 4), split("j", 2), count=lambda _: [3, 0, 2, 1])


def test_a_reduction_says_nothing_of_other_nests() -> None:
    # By way of r, j would be outside of i, where r is a loop.
    knl = kernel(
        ["{ [i,j,k]: 0<=i,j,k<4 }", "{ [p,r]: 0<=p,r<4 }"],
        "a[i,j,k] = i - j + k  {inames=i:j:k}\nb[p] = sum(r, p*r)",
        pg.GlobalArg("a", "int32", (4, 4, 4)),
    )
    knl = prior("j, r, k")(prior("k, i, r")(knl))
    agree(knl, [{}])
    assert str(pg.generate_code(knl, "c")).count("for") == 5


def test_what_is_known_makes_no_bounds_longer() -> None:
    """Simplified, the values of a loop over waves of tiles would be in three parts."""
    knl = pg.make_kernel(
        "{ [t, i]: 0<=t<steps and 1<=i<n-1 }",
        "a[t+1, i] = a[t, i-1] + a[t, i+1]",
        [pg.GlobalArg("a", np.float64, shape="steps+1, n"), "..."],
        loop_priority="t, i",
        assumptions="steps >= 1 and n >= 3",
    )
    knl = pg.tile(pg.skew(knl, "t", "i", 1), {"t": 8, "i": 32})
    knl = pg.wavefront(knl, "t_outer", "i_outer")
    head = "for (int i_outer = 0; i_outer < (5 * steps + n + 25) / 32; ++i_outer) {"
    assert head in str(pg.generate_code(knl, "c"))
    for count, n in ((1, 3), (9, 40), (17, 70)):
        a = np.random.default_rng(n).integers(-3, 4, size=(count + 1, n)).astype(np.float64)
        expected = a.copy()
        for t in range(count):
            expected[t + 1, 1:-1] = expected[t, :-2] + expected[t, 2:]
        _, (found,) = knl.executor("c")(a=a)
        np.testing.assert_array_equal(found, expected)
