"""`map_domain`: the same instances at other points."""

from __future__ import annotations

from typing import Any

import islpy as isl
import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    IllegalStep,
    InvalidArgument,
    MalformedMap,
    MapLosesInstances,
    MapMixesInames,
    MapNotAffine,
    MapNotInjective,
    MapNotTotal,
    NameTaken,
    ReservedName,
    TagConflict,
    UnknownIname,
    UnknownName,
)
from polygen.ir.domain import parse_domain
from polygen.ir.kernel import Kernel
from tests.oracle.cases import SIZES, Step, agree, kernel, prior, steps
from tests.oracle.compare import make_arguments, typed
from tests.oracle.interpreter import interpret

LINE = kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i] + i")
PLANE = kernel("{ [i,j]: 0<=i<n and 0<=j<8 }", "out[i,j] = a[i,j] + i - j")
TRIANGLE = kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"], "out[i,j] = a[i]*j")
SWEEP = kernel(
    "{ [t,i]: 0<=t<n and 1<=i<n-1 }",
    "a[i] = a[i-1] + a[i+1]  {id=s, inames=t:i}",
    loop_priority="t, i",
)
SUM = kernel("{ [i,j]: 0<=i,j<n }", "out[i] = sum(j, a[i,j]*j)")

SKEW = "{ [t, i] -> [t, p] : p = i + t }"
STRIPS = "{ [i] -> [io, ii] : i = 4*io + ii and 0 <= ii < 4 }"


def mapped(text: Any) -> Step:
    """Return the step that maps inames."""
    return lambda knl: pg.map_domain(knl, text)


# --- what becomes of domains and names

DOMAINS: list[tuple[Kernel, str, list[str]]] = [
    (LINE, "{ [i] -> [r] : r = n - 1 - i }", ["[n] -> { [r] : 0<=r<n }"]),
    (LINE, "{ [i] -> [i'] : i' = n - 1 - i }", ["[n] -> { [i] : 0<=i<n }"]),
    (LINE, "{ [i] -> [r] : r = i + 5 }", ["[n] -> { [r] : 5<=r<n+5 }"]),
    (LINE, "{ [i] -> [r] : r = 3*i }", ["[n] -> { [r] : 0<=r<3*n and r mod 3 = 0 }"]),
    (LINE, STRIPS, ["[n] -> { [io, ii] : 0<=4*io+ii<n and 0<=ii<4 }"]),
    (PLANE, "{ [i,j] -> [k] : k = 8*i + j }", ["[n] -> { [k] : 0<=k<8*n }"]),
    (
        PLANE,
        "{ [i,j] -> [p,q] : p = n-1-i and q = 7-j }",
        ["[n] -> { [p] : 0<=p<n }", "{ [q] : 0<=q<8 }"],
    ),
    (PLANE, "{ [i,j] -> [i,p] : p = i+j }", ["[n] -> { [i,p] : 0<=i<n and i<=p<i+8 }"]),
    (
        TRIANGLE,
        "{ [i] -> [r] : r = n-1-i }",
        ["[n] -> { [r] : 0<=r<n }", "[n,r] -> { [j] : 0<=j<=n-1-r }"],
    ),
    (
        TRIANGLE,
        "{ [i,j] -> [i,r] : r = i-j }",
        ["[n] -> { [i] : 0<=i<n }", "[i] -> { [r] : 0<=r<=i }"],
    ),
    (
        TRIANGLE,
        "{ [i,j] -> [p,j] : p = i+j }",
        ["[n] -> { [p,j] : 0<=p-j<n and 0<=j<=p-j }"],
    ),
    (
        kernel("{ [i,j,k]: 0<=i<n and i<=j<i+n and 0<=k<4 }", "out[i,j,k] = 0.0"),
        "{ [j,k] -> [r,l] : r = j+1 and l = 3-k }",
        ["[n] -> { [i,r] : 0<=i<n and i<r<=i+n }", "{ [l] : 0<=l<4 }"],
    ),
    (  # k has no part in what bounds j
        kernel(["{ [i,k]: 0<=i<n and 0<=k<=i }", "{ [j]: 0<=j<=i }"], "out[i,k] = sum(j, a[j])"),
        "{ [j,k] -> [r,k] : r = j-k }",
        ["[n] -> { [i,k] : 0<=i<n and 0<=k<=i }", "[i,k] -> { [r] : 0<=r+k<=i }"],
    ),
]


@pytest.mark.parametrize(("knl", "text", "domains"), DOMAINS)
def test_new_domains(knl: Kernel, text: str, domains: list[str]) -> None:
    new = pg.map_domain(knl, text)
    wanted = [parse_domain(d) for d in domains]
    assert [d.inames for d in new.domains] == [d.inames for d in wanted]
    for found, domain in zip(new.domains, wanted, strict=True):
        assert found.flat.is_equal(domain.flat)
    assert pg.replay(knl, new.history) == new
    assert pg.parse_kernel(str(new)) == new
    agree(knl, SIZES, mapped(text))


def test_isl_objects_too() -> None:
    text = "[n] -> { [i] -> [r] : r = n - 1 - i }"
    expected = pg.map_domain(LINE, text)
    assert pg.map_domain(LINE, isl.Map(text)) == expected
    assert pg.map_domain(LINE, isl.BasicMap(text)) == expected


def test_what_stays_is_not_touched() -> None:
    same = pg.map_domain(PLANE, "{ [j, i] -> [j', i'] : j' = j and i' = i }")
    assert same is PLANE
    new = pg.map_domain(PLANE, "{ [i] -> [r] : r = i + 1 }")
    assert new.domains[1] is PLANE.domains[1]


# --- it computes the same

LEGAL: dict[str, tuple[Kernel, Step]] = {
    "wavefront": (SWEEP, steps(mapped(SKEW), prior("t, p"))),
    "time last": (
        kernel(
            "{ [t,i]: 0<=t<n and 1<=i<n }",
            "a[t+1,i] = a[t,i-1] + a[t,i+1]",
            loop_priority="t, i",
        ),
        steps(mapped("{ [t,i] -> [p,t] : p = i + t }"), prior("p, t")),
    ),
    "unimodular": (
        kernel("{ [i,j]: 1<=i<n and 1<=j<n }", "a[i,j] = a[i-1,j] + a[i,j-1]"),
        mapped("{ [i,j] -> [p,q] : p = 2*i + j and q = i + j }"),
    ),
    "tiles": (
        PLANE,
        mapped(
            "{ [i,j] -> [io,jo,ii,ji] : i = 2*io + ii and 0<=ii<2 and j = 3*jo + ji and 0<=ji<3 }"
        ),
    ),
    "there and back": (LINE, steps(mapped(STRIPS), mapped("{ [io,ii] -> [i] : i = 4*io + ii }"))),
    "a reduction": (SUM, mapped("{ [j] -> [r] : r = -j }")),
    "a reduction, skewed": (SUM, mapped("{ [i,j] -> [i,p] : p = i + j }")),
    "a reduction in strips": (SUM, mapped("{ [j] -> [x,y] : j = 3*x + y and 0<=y<3 }")),
    "reductions, in place": (
        kernel("{ [i,j,k]: 0<=i,j<n and 0<=k<=j }", "out[i] = sum(j, sum(k, a[i,k])*j)"),
        mapped("{ [j,i] -> [j', i'] : j' = n-1-j and i' = n-1-i }"),
    ),
    "a predicate": (
        kernel("{ [i]: 0<=i<n }", "out[i] = a[i]  {if=i % 2 == 0 and a[i] > 0}"),
        mapped("{ [i] -> [r] : r = n - i }"),
    ),
    "bounds that are data": (
        kernel(
            ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<c }"],
            "<int32> c = a[i] > 0\nout[i] = sum(j, a[i])",
            pg.GlobalArg("a", "int32", ("n",)),
            "...",
        ),
        mapped("{ [i] -> [r] : r = n-1-i }"),
    ),
    "one point": (
        kernel("{ [i,j]: i=3 and 0<=j<n }", "out[j] = a[i] + j"),
        mapped("{ [i] -> [r] : r = n - i }"),
    ),
}


@pytest.mark.parametrize("name", LEGAL)
def test_it_computes_the_same(name: str) -> None:
    knl, step = LEGAL[name]
    agree(knl, SIZES[:5], step)


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 16, 17])
def test_numpy_agrees(n: int) -> None:
    knl = pg.map_domain(SUM, "{ [i,j] -> [i,p] : p = i + j }")
    knl = pg.map_domain(knl, "{ [i] -> [i'] : i' = n - 1 - i }")
    arguments = make_arguments(knl, {"n": n})
    outcome = interpret(typed(knl, arguments), arguments)
    weights = np.arange(n, dtype=np.float64)
    np.testing.assert_array_equal(outcome.arrays["out"], arguments["a"] @ weights)


def test_priorities_name_the_new_inames() -> None:
    knl = pg.prioritize_loops(PLANE, "j, i")
    assert pg.map_domain(knl, STRIPS).priorities == (("j", "io", "ii"),)
    skewed = pg.map_domain(knl, "{ [i,j] -> [i,p] : p = i+j }")
    assert skewed.priorities == (("p", "i"),)
    both = pg.map_domain(knl, "{ [i,j] -> [q,p] : p = i+j and q = i }")
    assert both.priorities == (("q", "p"),)


# --- what is refused


def test_a_reversal_that_changes_results() -> None:
    knl = kernel("{ [i]: 1<=i<n }", "a[i] = a[i-1] + 1  {id=s}")
    with pytest.raises(IllegalStep, match=r"s\[.*writes the element of 'a' that s\[.*come first"):
        pg.map_domain(knl, "{ [i] -> [r] : r = n - i }")
    with pytest.raises(IllegalStep):
        pg.map_domain(knl, "{ [i] -> [i'] : i' = n - i }")  # the domain is the old one


def test_a_skew_is_legal_and_the_interchange_without_it_is_not() -> None:
    with pytest.raises(IllegalStep):
        pg.prioritize_loops(SWEEP, "i, t")
    skewed = pg.map_domain(SWEEP, "{ [t,i] -> [t,p] : p = i + 2*t }")
    assert pg.prioritize_loops(skewed, "p, t").priorities


REFUSED: list[tuple[Kernel, Any, type[pg.UserError], str]] = [
    (LINE, 7, InvalidArgument, "transform_map=7, which is not a map"),
    (LINE, "{ [i] -> ", MalformedMap, "isl cannot read this map.*a map looks like"),
    (LINE, "{ S[i] -> [r] : r = i }", UnknownName, "mentions 'S', which is no scalar"),
    (LINE, "[n] -> { S[i] -> [r] : r = i }", MalformedMap, r"'S\[...\]' has a name"),
    (LINE, "{ [i] -> [n - 1 - i] }", MalformedMap, "output 1 of this map has no name.*name it"),
    (LINE, "{ [i + 0] -> [r] : r = i }", MalformedMap, "isl cannot read"),
    (LINE, "[n] -> { [n] -> [r] : r = n }", MalformedMap, "its inputs are not inames"),
    (LINE, isl.Map("{ [i] -> [j, k] : j = i }").set_dim_name(isl.dim_type.out, 1, "j"),
     MalformedMap, "two of its outputs have one name"),
    (LINE, isl.Map("{ [i, j] -> [k] : k = i }").set_dim_name(isl.dim_type.in_, 1, "i"),
     MalformedMap, "its inputs are not inames"),
    (LINE, "{ [j] -> [r] : r = j }", UnknownIname, "no iname 'j'"),
    (LINE, "{ [i] -> [r] : r = i + m }", UnknownName, "mentions 'm', which is no scalar argument"),
    (LINE, "[m] -> { [i] -> [r] : r = i + m }", UnknownName, "mentions 'm'"),
    (PLANE, "{ [i] -> [r] : r = i + j }", UnknownName,
     "'j', which is an iname, and no input.*an input and an output"),
    (LINE, "{ [i] -> [out] : out = i }", NameTaken, "already has a 'out'"),
    (PLANE, "{ [i] -> [j] : j = i }", NameTaken, "already has a 'j'"),
    (LINE, "{ [i] -> [for] : for = i }", ReservedName, "'for' has a meaning"),
    (LINE, "{ [i] -> [r] : r = i and i > 0 }", MapNotTotal,
     "leaves out a point of the domain: .*i=0"),
    (LINE, "{ [i] -> [r] : i <= r <= i + 1 }", MapNotInjective,
     r"makes two points of one: for .*i=0, \(r=[01]\) and \(r=[01]\)"),
    (LINE, "{ [i] -> [r] : r = floor(i/2) }", MapNotInjective,
     r"makes one point of two: for .*r=0, \(i=[01]\) and \(i=[01]\)"),
    (LINE, "{ [i] -> [r] : (r = i and i mod 2 = 0) or (r = -i and i mod 2 = 1) }", MapNotAffine,
     "'i' is no affine function of r"),
    (pg.tag_inames(LINE, {"i": "g.0"}), "{ [i] -> [r] : r = -i }", TagConflict,
     "'i' cannot be mapped: it is tagged g.0.*then tag"),
    (SUM, "{ [i,j] -> [p,j] : p = i + j }", MapMixesInames,
     "mixes 'i' with 'j', and instruction 'insn'.* within 'i' alone"),
    (kernel("{ [i,j]: 0<=i,j<n }", "b[i,j] = 0.0  {id=s}\nc[j] = 0.0  {id=u}"),
     "{ [i,j] -> [i,p] : p = i + j }", MapMixesInames, "'u'.* within 'j' alone"),
    (kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i] = sum(j, a[i,j])"),
     "{ [i,j] -> [i,p] : p = i + j }", MapLosesInstances,
     "'insn'.* would not be executed where another is empty: .*m=0.*assume"),
]  # fmt: skip


@pytest.mark.parametrize(("knl", "given", "kind", "text"), REFUSED)
def test_refused(knl: Kernel, given: Any, kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind, match="(?s)" + text) as caught:
        pg.map_domain(knl, given)
    assert caught.value.remedy


def test_what_is_known_of_sizes_counts() -> None:
    knl = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i] = sum(j, a[i,j])")
    knl = pg.assume(knl, "m >= 1")
    agree(
        knl,
        [{"n": n, "m": m} for n in (0, 1, 5) for m in (1, 4)],
        mapped("{ [i,j] -> [i,p] : p = i + j }"),
    )
    agree(
        pg.assume(LINE, "n <= 4"),
        SIZES[:3],
        mapped("{ [i] -> [r] : r = i and i < 4 }"),
    )


@pytest.mark.parametrize("transform", ["{ [r] -> [p] : p = 2 }", "{ [i, r] -> [p] : p = i }"])
def test_a_reduction_keeps_an_iname(transform: str) -> None:
    knl = kernel(["{ [i]: 0<=i<n }", "{ [r]: 0<=r<1 }"], "out[i] = sum(r, a[i, r])")
    with pytest.raises(MapMixesInames, match="no iname for the reduction over 'r'") as caught:
        pg.map_domain(knl, transform)
    assert str(caught.value.remedy) == "leave 'r' out of the map"
    agree(pg.map_domain(knl, "{ [r] -> [p] : p = r + 3 }"), [{"n": 3}])
