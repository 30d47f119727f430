"""Which claims are tried where data decides, and which of them are needed."""

from __future__ import annotations

import numpy as np

import polygen as pg
from polygen.analysis.access.possible_claims import sufficient_claims
from polygen.ir.claims import Claim, Independent, Injective
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel

N = "{ [i]: 0<=i<n }"
INDEX = pg.GlobalArg("index", "int32", ("n",))
TWO = """
b[i] = 2                      {id=u}
c[i] = 3                      {id=apart}
a[index[i]] = b[other[i]]     {id=s, dep=u}
"""
OTHER = pg.GlobalArg("other", "int32", ("n",))


def tried(knl: Kernel) -> list[tuple[Claim, ...]]:
    """Return the claims that are tried, if none is enough."""
    found: list[tuple[Claim, ...]] = []

    def suffices(claims: tuple[Claim, ...]) -> bool:
        found.append(claims)
        return False

    assert sufficient_claims(knl, suffices) == []
    return found


def test_tables_then_instructions() -> None:
    knl = kernel(N, TWO, INDEX, OTHER)
    tables = {Injective("index"), Injective("other")}
    # b is touched by both, and written by u; a by s alone.
    pairs = (Independent("u", "u"), Independent("u", "s"), Independent("s", "s"))
    ((*first, u, both, alone),) = tried(knl)
    assert set(first) == tables
    assert (u, both, alone) == pairs


def test_what_is_written_is_no_table() -> None:
    knl = kernel(N, "index[i] = 0 {id=w}\na[index[i]] = 1 {id=s, dep=w}", INDEX)
    assert tried(knl) == [(Independent("s", "s"),)]


def test_a_table_of_constants_needs_no_claim() -> None:
    table = pg.TemporaryVariable(
        "index", "int32", initializer=np.array([2, 0, 1], np.int32), read_only=True
    )
    knl = kernel("{ [i]: 0<=i<3 }", "a[index[i]] = 1 {id=s}", table)
    assert tried(knl) == [(Independent("s", "s"),)]


def test_inexact_bounds_name_no_table() -> None:
    text = "c = count[i] {id=c}\na[j] = a[j] + b[i] {id=s, dep=c, inames=i:j}"
    count = pg.GlobalArg("count", "int32", ("n",))
    c = pg.TemporaryVariable("c", "int32")
    knl = kernel([N, "{ [j]: 0<=j<c }"], text, c, count, pg.GlobalArg("a", shape="n"))
    assert {claim for claims in tried(knl) for claim in claims} == {
        Independent("c", "c"),
        Independent("c", "s"),
        Independent("s", "s"),
    }


def test_arrays_that_may_overlap_count_for_all_instructions() -> None:
    arrays = [pg.GlobalArg(name, shape="n", may_alias=True) for name in "ab"]
    knl = kernel(N, "a[i] = 1 {id=s}\nb[i] = 2 {id=u}", *arrays)
    pairs = [Independent("s", "s"), Independent("s", "u"), Independent("u", "u")]
    assert tried(knl) == [tuple(pairs)]


def test_the_fewest_are_named() -> None:
    knl = kernel(N, TWO, INDEX, OTHER)
    needed = {Injective("other"), Independent("u", "s")}
    assert sufficient_claims(knl, needed.issubset) == [
        Injective("other"),
        Independent("u", "s"),
    ]
    assert sufficient_claims(knl, lambda claims: Injective("other") in claims) == [
        Injective("other")
    ]


def test_few_are_tried() -> None:
    """Of claims about all pairs of instructions, a few that suffice are found in few trials."""
    lines = [f"a[index[i]] = {k} {{id=s{k}, dep=s{k - 1}}}" for k in range(1, 9)]
    knl = kernel(N, "\n".join(["a[index[i]] = 0 {id=s0}", *lines]), INDEX)
    ((_, *pairs),) = tried(knl)
    assert len(pairs) == 45
    for needed in ({pairs[0]}, {pairs[-1]}, {pairs[7], pairs[30]}):
        count = 0

        def suffices(claims: tuple[Claim, ...], needed: set[Claim] = needed) -> bool:
            nonlocal count
            count += 1
            return needed.issubset(claims)

        assert set(sufficient_claims(knl, suffices)) == needed
        assert count < 30


def test_what_says_least_is_named() -> None:
    knl = kernel(N, TWO, INDEX, OTHER)
    either = {Injective("index"), Independent("u", "u")}
    assert sufficient_claims(knl, lambda claims: not either.isdisjoint(claims)) == [
        Injective("index")
    ]
