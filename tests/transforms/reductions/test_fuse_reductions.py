"""`fuse_reductions`: several reductions in one pass, or in one launch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    ExtentNotConstant,
    InvalidArgument,
    NoSuchReduction,
    SeveralLaunches,
    UnknownInstruction,
)
from polygen.ir.kernel import Kernel
from tests.oracle.cases import agree, kernel

GLOBAL = pg.AddressSpace.GLOBAL
SIZES = [{"n": n, "m": m} for n, m in ((0, 3), (1, 1), (5, 0), (3, 7))]


def moments(**options: Any) -> Kernel:
    return kernel(
        "{ [i,j,k,l]: 0<=i,k<n and 0<=j,l<m }",
        "s[i] = sum(j, a[i,j])  {id=s}\nq[k] = sum(l, a[k,l]**2)  {id=q}",
        **options,
    )


def softmax() -> Kernel:
    results = pg.TemporaryVariable("most, total", shape="n", address_space=GLOBAL)
    return kernel(
        "{ [i,j,p,k,q,l]: 0<=i,p,q<n and 0<=j,k,l<m }",
        """
        most[i] = max(j, x[i,j])                {id=most}
        total[p] = sum(k, exp(x[p,k] - most[p]))  {id=total}
        y[q,l] = exp(x[q,l] - most[q])/total[q]   {id=y}
        """,
        results,
    )


def partial_sums() -> Kernel:
    knl = kernel(
        "{ [b,r]: 0<=b<8 and 0<=r<128 }",
        """
        s[0] = 0                                   {id=clear}
        s[0] = s[0] + sum(r, a[128*b + r])         {id=sum, dep=clear, atomic}
        t[0] = s[0]/1024                           {id=mean, dep=sum}
        """,
        pg.GlobalArg("a", "float32", 1024),
        pg.GlobalArg("s", "float32", 1),
    )
    return pg.tag_inames(knl, "b: g.0, r: l.0")


def reduced(knl: Kernel, *ids: str) -> list[tuple[set[str], set[str]]]:
    """Return the inames around instructions, and those that they reduce over."""
    insns = map(knl.instruction, ids)
    return [(set(insn.within_inames), set(insn.reduction_inames)) for insn in insns]


# --- one pass, one launch


def test_one_pass_over_the_same_data() -> None:
    knl = pg.fuse_reductions(moments(), ["s", "q"])
    assert reduced(knl, "s", "q") == [({"i"}, {"j"})] * 2
    agree(moments(), SIZES, lambda k: pg.fuse_reductions(k, ["s", "q"]))


def test_several_results_of_one_pass() -> None:
    knl = kernel(
        "{ [i,j,k]: 0<=i,j,k<n }",
        """
        s[0] = sum(i, a[i])                {id=s}
        v[0], w[0] = argmax(j, a[j], j)    {id=v}
        p[0] = product(k, a[k])            {id=p}
        """,
        assumptions="n >= 1",
    )
    fused = pg.fuse_reductions(knl, ["s", "v", "p"])
    assert reduced(fused, "s", "v", "p") == [(set(), {"i"})] * 3
    for n in (1, 7):
        a = np.random.default_rng(n).integers(1, 9, n)
        _, (p, s, v, w) = fused(a=a)
        assert (p, s, v, w) == (a.prod(), a.sum(), a.max(), a.argmax())


def test_loops_are_divided_as_those_of_the_first() -> None:
    split = pg.split_iname(moments(), "i", 4, outer_tag="g.0", inner_tag="l.1")
    fused = pg.fuse_reductions(split, ["s", "q"])
    assert reduced(fused, "q") == [({"i_outer", "i_inner"}, {"j"})]
    agree(
        moments(),
        SIZES,
        lambda k: pg.fuse_reductions(
            pg.split_iname(k, "i", 4, outer_tag="g.0", inner_tag="l.1"), ["s", "q"]
        ),
    )


def test_different_lengths_share_results_loops() -> None:
    knl = kernel(
        "{ [p,q,r,t]: 0<=p,q<n and 0<=r<m and 0<=t<2 }",
        "s[p] = sum(r, a[p,r])  {id=s}\nv[q] = min(t, b[q,t])  {id=v}",
    )
    assert reduced(pg.fuse_reductions(knl, ["s", "v"]), "s", "v") == [
        ({"p"}, {"r"}),
        ({"p"}, {"t"}),
    ]
    agree(knl, SIZES, lambda k: pg.fuse_reductions(k, ["s", "v"]))


def test_groups_are_divided_among_reductions() -> None:
    knl = kernel(
        "{ [p,q,r,t]: 0<=p<n and 1<=q<=m and 0<=r<4 and 0<=t<5 }",
        "s[p] = sum(r, a[p,r])  {id=s}\nv[q-1] = sum(t, b[q-1,t])  {id=v}",
        assumptions="n >= 0 and m >= 0",
    )

    def fused(k: Kernel) -> Kernel:
        return pg.fuse_reductions(pg.tag_inames(k, "p: g.0, q: g.0, r: l.0"), ["s", "v"])

    agree(knl, SIZES, fused)
    code = pg.generate_code(pg.add_dtypes(fused(knl), {"a, b": "float32"}), "opencl")
    assert len(code.launches) == 1
    assert "get_group_id(0)" in code.source


def test_what_needs_the_other_keeps_its_loop() -> None:
    knl = pg.fuse_reductions(softmax(), ["most", "total", "y"])
    assert reduced(knl, "most", "total", "y") == [
        ({"i"}, {"j"}),
        ({"i"}, {"k"}),
        ({"i", "l"}, set()),
    ]
    assert [t.shape for t in knl.temporaries] == [(), ()]
    code = pg.generate_code(
        pg.add_dtypes(pg.tag_inames(knl, {"i": "g.0"}), {"x": "float32"}), "cuda"
    )
    assert len(code.launches) == 1
    x = np.random.default_rng(1).standard_normal((5, 7))
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(knl(x=x)[1][0], powers / powers.sum(axis=1, keepdims=True))


def test_what_waits_for_all_groups_is_told() -> None:
    knl = partial_sums()
    with pytest.warns(SeveralLaunches, match="'mean' is in a later launch than 'sum': each group"):
        pg.fuse_reductions(knl, ["sum", "mean"])


# --- what is refused


def test_nothing_to_fuse() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "b[i] = a[i]  {id=b}\nc[i] = a[i]  {id=c}")
    with pytest.raises(NoSuchReduction, match="no reduction in b and c"):
        pg.fuse_reductions(knl, ["b", "c"])
    with pytest.raises(InvalidArgument, match="nothing to fuse 's' with"):
        pg.fuse_reductions(moments(), "s")
    with pytest.raises(UnknownInstruction):
        pg.fuse_reductions(moments(), ["s", "none"])


def test_results_with_fewer_axes() -> None:
    knl = kernel(
        "{ [p,q,r]: 0<=p<n and 0<=q<5 and 0<=r<m }",
        "s[p,q] = sum(r, a[r,p])  {id=s}\nb[p] = 2*c[p]  {id=b}",
    )
    refused = r"no loop of 'b' counts the results of 's': s\[p, q\] is written, and 'b' has b\[p\]"
    with pytest.raises(InvalidArgument, match=refused):
        pg.fuse_reductions(knl, ["s", "b"])


def test_ends_that_are_several_numbers() -> None:
    knl = kernel(
        ["{ [p]: 0<=p<n and p<m }", "{ [q]: 0<=q<n }", "{ [r]: 0<=r<4 }"],
        "s[p] = sum(r, a[p,r])  {id=s}\nv[q] = sum(r, b[q,r])  {id=v}",
    )
    with pytest.raises(ExtentNotConstant, match="'p' and 'q' cannot be one loop"):
        pg.fuse_reductions(knl, ["s", "v"])


def calls_and_points() -> Kernel:
    """Return a kernel with a call and a point beside a reduction."""
    twice = pg.make_function("{ [k]: 0<=k<4 }", "y[k] = 2*x[k]", name="twice")
    return pg.make_kernel(
        "{ [p,r]: 0<=p<n and 0<=r<m }",
        "[q]: b[p, q] = twice([q]: c[p, q])  {id=b}\ns[p] = sum(r, a[p,r])  {id=s}\n"
        "... nop  {id=point, dep=s}",
        [pg.GlobalArg("b, c", "float64", "n, 4"), "..."],
        functions={"twice": twice},
    )


def test_calls_and_points_in_the_order() -> None:
    knl = calls_and_points()
    for other, why in (("b", "'b' calls a kernel"), ("point", "'point' assigns to nothing")):
        for ids in (["s", other], [other, "s"]):
            with pytest.raises(InvalidArgument, match=f"fuse_reductions: {why}"):
                pg.fuse_reductions(knl, ids)
