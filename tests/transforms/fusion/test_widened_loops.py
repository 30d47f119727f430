"""Loops over more values than they had: what is executed stays the same."""

from __future__ import annotations

import islpy as isl
import pytest

import polygen as pg
from polygen.errors import DomainsDiffer, InvalidArgument
from polygen.ir.kernel import Kernel
from polygen.transforms.fusion.widened_loops import outer_of_domain, values_of, widen
from tests.analysis.flat import points, where
from tests.oracle.cases import agree, kernel

SIZES = [{"n": n} for n in (1, 2, 5)]
TRIANGLE = kernel(
    "{ [i,j]: 0<=i<n and i<=j<n }",
    "b[i,j] = 2*a[i,j]  {id=b}",
    pg.GlobalArg("a, b", shape="n, n"),
    loop_priority="i, j",
)
BESIDE = kernel(
    "{ [t,i,k]: 0<=t<2 and 2<=i<n and 0<=k<=i }",
    "b[t,i] = 2*a[i]  {id=b, inames=t:i}\nc[t,i,k] = b[t,i] + k  {id=c, inames=t:i:k, dep=b}",
    pg.GlobalArg("b", shape="2, n"),
    "...",
    loop_priority="t, i, k",
)


def one_wider(knl: Kernel, iname: str) -> Kernel:
    """Return the kernel with a loop that has one more value at each end."""
    values = values_of(knl, iname)
    text = str(values).replace(iname, "other")
    news = isl.Set(text).intersect(
        isl.Set(f"[{iname}, other] -> {{ : other - 1 <= {iname} <= other + 1 }}")
    )
    at = news.find_dim_by_name(isl.dim_type.param, "other")
    return widen(knl, iname, news.project_out(isl.dim_type.param, at, 1))


def test_values_for_those_around() -> None:
    knl = pg.fix_parameters(TRIANGLE, n=5)
    assert points(values_of(knl, "j"), ["i", "j"]) == where(lambda i, j: 0 <= i <= j < 5, 2)
    assert points(values_of(knl, "i"), ["i"]) == where(lambda i: 0 <= i < 5, 1)
    assert outer_of_domain(knl, "j") == ("i",)
    assert outer_of_domain(knl, "i") == ()
    apart = kernel(["{ [i]: 0<=i<4 }", "{ [j]: 0<=j<i }"], "b[i,j] = 1", loop_priority="i, j")
    assert outer_of_domain(apart, "j") == ()  # it is around, and has a domain of its own


@pytest.mark.parametrize(("knl", "iname"), [(TRIANGLE, "i"), (TRIANGLE, "j"), (BESIDE, "i")])
def test_each_instance_is_there_once(knl: Kernel, iname: str) -> None:
    new = one_wider(knl, iname)
    assert new.inames == (*new.inames,)
    assert set(new.inames) == {*knl.inames, f"{iname}_once"}
    for insn in new.instructions:
        assert f"{iname}_once" in insn.within_inames
    agree(knl, SIZES, lambda k: one_wider(k, iname))


def test_the_loop_has_the_new_values() -> None:
    new = one_wider(pg.fix_parameters(TRIANGLE, n=5), "j")
    assert points(values_of(new, "j"), ["i", "j"]) == where(
        lambda i, j: 0 <= i < 5 and i - 1 <= j <= 5, 2
    )
    once = new.home_domains["j_once"].flat
    assert points(once, ["i", "j", "j_once"]) == where(
        lambda i, j, once: 0 <= i <= j < 5 and once == 0, 3
    )


def test_what_is_beside_the_loop_is_refused() -> None:
    knl = kernel("{ [i,k]: 0<=k<=i<n }", "b[i] = 0.0  {id=b}\nc[k] = 1.0  {id=c}")
    with pytest.raises(DomainsDiffer, match=r"'c' is within inames of its domain, but not within"):
        one_wider(knl, "i")
    with pytest.raises(InvalidArgument, match="a flat set"):
        widen(knl, "i", "{ : 0 <= i < n }")


def test_fewer_values_are_refused() -> None:
    """What it had is not executed any more: the proof says so."""
    knl = pg.fix_parameters(TRIANGLE, n=5)
    with pytest.raises(pg.UserError, match="i=0, j=0 is left out"):
        widen(knl, "i", isl.Set("[i] -> { : 1 <= i < 5 }"))
