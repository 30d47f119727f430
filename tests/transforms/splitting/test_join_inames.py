"""`join_inames`: one loop instead of several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    ExtentNotConstant,
    IllegalStep,
    InvalidArgument,
    MapLosesInstances,
    MapMixesInames,
    NameTaken,
    TagConflict,
    UnknownIname,
)
from polygen.ir.domain import parse_domain
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag
from tests.oracle.cases import SIZES, Step, agree, kernel, split, steps
from tests.transforms.numpy_runs import numpy_agrees

PLANE = kernel("{ [i,j]: 0<=i<n and 0<=j<8 }", "out[i,j] = a[i,j] + i - j")
CUBE = kernel("{ [i,j,k]: 0<=i<n and 0<=j<3 and 1<=k<5 }", "out[i,j,k] = a[i] + j - k")
BAND = kernel("{ [i,j]: 0<=i<n and i<=j<i+3 }", "out[i,j] = a[i] - j")
CORNER = kernel("{ [i,j]: 0<=j<=i<6 }", "out[i,j] = a[i] - j")
STEPS = kernel("{ [i,j]: 0<=i<n and n<=j<n+4 }", "out[i,j] = a[i] - j")
LINE = kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i] + i")
SUM = kernel("{ [i,j,k]: 0<=i<n and 0<=j<4 and 0<=k<3 }", "out[i] = sum((j,k), a[i,j,k]*j)")


def joined(inames: Any, name: str | None = None) -> Step:
    """Return the step that joins inames."""
    return lambda knl: pg.join_inames(knl, inames, name)


@pytest.mark.parametrize(
    ("knl", "inames", "domain"),
    [
        (PLANE, "i, j", "[n] -> { [i_j]: 0<=i_j<8*n }"),
        (CUBE, "i, j, k", "[n] -> { [i_j_k]: 0<=i_j_k<12*n }"),
        (BAND, "i, j", "[n] -> { [i_j]: 0<=i_j<3*n }"),
        (STEPS, ("i", "j"), "[n] -> { [i_j]: 0<=i_j<4*n }"),
        (CORNER, "i, j", "{ [i_j]: 0<=i_j<36 and i_j mod 6 <= floor(i_j/6) }"),
    ],
)
def test_new_values(knl: Kernel, inames: Any, domain: str) -> None:
    new = pg.join_inames(knl, inames)
    assert len(new.domains) == 1
    assert new.domains[0].flat.is_equal(parse_domain(domain).flat)
    assert pg.replay(knl, new.history) == new
    agree(knl, SIZES[:5] if knl is not CORNER else [{}], joined(inames))


def test_it_computes_the_same() -> None:
    agree(SUM, SIZES[:4], joined("j, k"), joined(["k", "j"], "both"))
    agree(LINE, SIZES, steps(split("i", 4), joined("i_outer, i_inner")))
    agree(CUBE, SIZES[:4], joined("j, k"), joined("k, j"))


def test_the_order_is_that_of_the_loops() -> None:
    knl = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<4 }",
        "c[0] = c[0]*2 + a[i,j]  {id=s, inames=i:j}",
        loop_priority="i, j",
    )
    agree(knl, SIZES[:4], joined("i, j"))
    short = pg.fix_parameters(knl, n=3)
    with pytest.raises(IllegalStep, match=r"join_inames would.*\bs\["):
        pg.join_inames(short, "j, i")


def test_its_tag() -> None:
    new = pg.join_inames(PLANE, "i, j", "k", "g.0")
    assert dict(new.tags) == {"k": GroupTag(0)}
    assert [step.name for step in new.history] == ["join_inames"]


def test_numpy_agrees() -> None:
    numpy_agrees(
        kernel("{ [i,j]: 0<=i<n and 0<=j<8 }", "out[i,j] = a[i]*j"),
        joined("i, j"),
        lambda a: {"out": np.outer(a, np.arange(8))},
    )
    numpy_agrees(
        LINE,
        steps(split("i", 8), joined("i_outer, i_inner", "r")),
        lambda a: {"out": 2 * a + np.arange(len(a))},
    )


SQUARE = kernel("{ [i,j]: 0<=i,j<n }", "out[i,j] = a[i,j]")
TWO = kernel("{ [i,j]: 0<=i<n and 0<=j<4 }", "out[i,j] = 0.0\nb[i] = 0.0  {id=u}")
EMPTY = kernel(["{ [i]: 0<=i<n }", "{ [j,k]: 0<=k<=j<4 }"], "out[i,j] = 0.0\nb[k] = 0.0  {id=u}")
EITHER = kernel("{ [i,j]: 0<=i<n and n<=j<n+4 and j>=m }", "out[i,j] = 0.0*m")


@pytest.mark.parametrize(
    ("knl", "given", "kind", "text"),
    [
        (PLANE, ("i, k",), UnknownIname, "no iname 'k'"),
        (PLANE, ("i",), InvalidArgument, "join_inames: i is not several inames.*fastest one last"),
        (PLANE, ("i, i",), InvalidArgument, "join_inames: i, i is not several inames"),
        (PLANE, ("i, j", "n"), NameTaken, "already has a 'n'"),
        (PLANE, ("i, j", None, "q.0"), InvalidArgument, "'q.0' is no iname tag"),
        (EITHER, ("i, j",), ExtentNotConstant, "'j' cannot be joined to i: it has no lower bound"),
        (EMPTY, ("i, j",), MapLosesInstances, "'u'.* would not be executed where another is empty"),
        (TWO, ("i, j",), MapMixesInames, "'u'.* within 'i' alone"),
        (pg.tag_inames(PLANE, {"i": "g.0"}), ("i, j",), TagConflict, "tagged g[.]0"),
    ],
)  # fmt: skip
def test_refused(knl: Kernel, given: Any, kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind, match="(?s)" + text):
        pg.join_inames(knl, *given)


def test_an_extent_that_is_made_constant() -> None:
    knl = pg.fix_parameters(SQUARE, n=7)
    (domain,) = pg.join_inames(knl, "i, j").domains
    assert domain.flat.is_equal(parse_domain("{ [i_j]: 0<=i_j<49 }").flat)


# --- domains that isl says little about


def test_of_no_iteration_at_all() -> None:
    knl = pg.fix_parameters(kernel("{ [i,j]: 0<=i<n and 0<=j<n }", "out[i,j] = a[i,j]"), n=0)
    agree(knl, [{}], joined("i, j"))


def test_extents_with_fractions() -> None:
    band = kernel("{ [p,q]: 0<=p<n and p-1<=q<=p+1 }", "out[p,q+1] = a[p] - q", assumptions="n>=0")
    tiles = pg.reverse(pg.tile(band, {"q": 4, "p": 2}), "q_inner")
    with pytest.raises(ExtentNotConstant, match="q_inner, p_outer cannot be joined: how many"):
        pg.join_inames(tiles, "q_inner, p_outer")
    with pytest.raises(ExtentNotConstant, match="p_inner, q_outer cannot be joined: how many"):
        pg.join_inames(tiles, "p_inner, q_outer")


def test_bounds_that_mention_another_iname() -> None:
    domains = ["{ [i]: 0<=i<6 }", "{ [j]: i-1<=j<=i+1 }", "{ [r]: 0<=r<3 }"]
    knl = kernel(domains, "out[i,j+1,r] = a[i] + 2*j - r")
    agree(knl, [{}], steps(split("j", 3), joined("r, j_outer")))


def test_the_loops_of_some_instructions() -> None:
    knl = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<4 }", "b[i,j] = 2*a[i,j]\nc[i,j] = b[i,j] + 1  {id=u}",
        loop_priority="i, j",
    )  # fmt: skip
    new = pg.join_inames(knl, "i, j", within="u")
    assert [sorted(i.within_inames) for i in new.instructions] == [["i", "j"], ["i_j"]]
    assert [step.name for step in new.history] == ["join_inames"]
    assert pg.replay(knl, new.history) == new
    alone = pg.join_inames(knl, "i, j", "k", "g.0", within="*")
    assert alone == pg.join_inames(knl, "i, j", "k", "g.0")
    agree(knl, SIZES[:4], lambda k: pg.join_inames(k, "i, j", within="id:u"))


@pytest.mark.parametrize("order", ["p, q", "q, p"])
def test_of_an_iname_that_another_one_decides(order: str) -> None:
    domains = ["{ [p]: n<=p<=n+2 or p=0 }", "{ [q]: q=p+1 }"]
    knl = kernel(domains, "out[p+q] = p + a[q]  {inames=p:q}", assumptions="n>=0")
    step = joined(order, "r")
    assert [domain.inames for domain in step(knl).domains] == [("r",)]
    agree(knl, SIZES[:4], step)


def fetched() -> Kernel:
    """Return a product in tiles, the loops that fetch one tagged ``l.auto``."""
    knl = pg.make_kernel("{ [i,j,k]: 0<=i,j,k<32 }", "c[i,j] = sum(k, a[i,k]*b[k,j])")
    knl = pg.add_dtypes(knl, {"a, b": "float64"})
    knl = pg.split_iname(knl, "i", 8, outer_tag="g.0", inner_tag="l.0")
    knl = pg.split_iname(knl, "j", 8, outer_tag="g.1", inner_tag="l.1")
    knl = pg.split_iname(knl, "k", 8)
    return pg.add_prefetch(
        knl, "a", "i_inner, k_inner", fetch_outer_inames="i_outer, j_outer, k_outer"
    )


@pytest.mark.parametrize("tags", [None, {"aa": "l.0"}, {"aa_outer": "l.1", "aa_inner": "l.0"}])
def test_joined_inames_that_may_be_on_any_axis(tags: dict[str, str] | None) -> None:
    knl = pg.join_inames(fetched(), "a_dim_0, a_dim_1", "aa")
    assert str(knl.tags["aa"]) == "l.auto"
    if tags is not None and "aa" not in tags:
        knl = pg.split_iname(knl, "aa", 8)
        assert {str(knl.tags[i]) for i in tags} == {"l.auto"}
    knl = knl if tags is None else pg.tag_inames(knl, tags)
    left, right = np.random.default_rng(1).uniform(size=(2, 32, 32))
    (out,) = knl.executor("opencl")(a=left, b=right)[1]
    np.testing.assert_allclose(out, left @ right)


def test_the_tag_of_what_is_joined_of_any_axis() -> None:
    knl = pg.join_inames(fetched(), "a_dim_0, a_dim_1", "aa", tag="l.1")
    assert str(knl.tags["aa"]) == "l.1"
    with pytest.raises(TagConflict, match=r"cannot be mapped: it is tagged l\.0"):
        pg.join_inames(fetched(), "i_inner, j_inner", "ij")
