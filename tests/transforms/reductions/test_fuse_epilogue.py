"""`fuse_epilogue`: what follows a reduction, in the loops and the launch of it."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    IllegalStep,
    InvalidArgument,
    NotInOneLaunch,
    UnknownInstruction,
)
from polygen.ir.kernel import Kernel
from tests.oracle.cases import agree, kernel
from tests.transforms.reductions.test_fuse_reductions import calls_and_points, moments, partial_sums

GLOBAL = pg.AddressSpace.GLOBAL
SIZES = [{"n": n, "m": m} for n, m in ((0, 3), (1, 1), (5, 0), (3, 7))]


@pytest.mark.parametrize("divided", [False, True])
def test_epilogue(divided: bool) -> None:
    knl = kernel(
        "{ [i,j,k]: 0<=i,k<n and 0<=j<m }",
        "s[i] = sum(j, a[i,j])  {id=s}\nb[k,2] = s[k]*c[k]  {id=b}",
        pg.TemporaryVariable("s", shape="n", address_space=GLOBAL),
        pg.GlobalArg("b", shape="n, 3"),
    )

    def fused(k: Kernel) -> Kernel:
        if divided:
            k = pg.split_iname(k, "i", 4, outer_tag="g.0", inner_tag="l.0")
        return pg.fuse_epilogue(k, "s", "b")

    result = fused(knl)
    assert result.instruction("b").within_inames == result.instruction("s").within_inames
    assert result.array("s").shape == ()
    agree(knl, SIZES, fused)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("s[i]", "s[k]*s[2*k - k]"),
        ("s[i]", "s[n - (n - k)]"),
        ("s[2*i - i + 1]", "s[1 + k]"),
        ("s[2*i]", "s[k + k]"),
        ("s[2*n - 2*i]", "s[2*k]"),
        ("s[i]", "s[(2*k)//2] + s[k]"),
    ],
)
def test_subscripts_are_compared_as_functions(written: str, read: str) -> None:
    """However they are written: each item keeps its own result."""
    knl = kernel(
        "{ [i,j,k]: 0<=i,k<=n and 0<=j<m }",
        f"{written} = sum(j, a[i,j])  {{id=s}}\nb[k] = {read}  {{id=b}}",
        pg.TemporaryVariable("s", shape="2*n + 2", address_space=GLOBAL),
        assumptions="n >= 0",
    )
    result = pg.fuse_epilogue(knl, "s", "b")
    assert result.array("s").shape == ()
    agree(knl, SIZES, lambda k: pg.fuse_epilogue(k, "s", "b"))


@pytest.mark.parametrize("read", ["s[2*k + 1]", "s[3*k]"])
def test_subscripts_that_no_loop_counts(read: str) -> None:
    knl = kernel(
        ["{ [w]: 0<=w<3*n + 2 }", "{ [i,j,k]: 0<=i,k<=n and 0<=j<m }"],
        f"""
        s[w] = 0 {{id=w}}
        s[2*i] = sum(j, a[i,j]) {{id=s, dep=w}}
        b[k] = {read} {{id=b, dep=s}}
        """,
        pg.TemporaryVariable("s", shape="3*n + 2", address_space=GLOBAL),
        assumptions="n >= 0",
    )
    with pytest.raises(InvalidArgument, match="no loop of 'b' counts the results"):
        pg.fuse_epilogue(knl, "s", "b")


def test_epilogue_of_columns() -> None:
    knl = kernel(
        "{ [p,r,q]: 0<=p,q<n and 0<=r<m }",
        "s[p] = max(r, a[r,p])  {id=s}\nb[q] = -s[q]  {id=b}",
        assumptions="m >= 1",
    )
    agree(knl, [{"n": 1, "m": 1}, {"n": 7, "m": 3}], lambda k: pg.fuse_epilogue(k, "s", "b"))


def test_epilogue_that_would_need_other_results_is_refused() -> None:
    knl = kernel(
        "{ [p,r,q]: 0<=p,q<n and 0<=r<m }",
        "s[p] = sum(r, a[r,p])  {id=s}\nb[q] = s[n-1-q]*s[q]  {id=b}",
    )
    with pytest.raises(IllegalStep, match="fuse_epilogue would change what kernel"):
        pg.fuse_epilogue(knl, "s", "b")


def test_epilogue_that_waits_for_all_groups_is_refused() -> None:
    with pytest.raises(NotInOneLaunch, match="'mean' has to wait for all groups: 's' is complete"):
        pg.fuse_epilogue(partial_sums(), "sum", "mean")


def test_results_that_no_loop_counts() -> None:
    knl = kernel(
        "{ [p,r,q]: 0<=p<n and 0<=q<5 and 0<=r<m }",
        "s[p] = sum(r, a[r,p])  {id=s}\nb[q] = s[2*q]  {id=b}",
        assumptions="n >= 10",
    )
    with pytest.raises(InvalidArgument, match=r"no loop of 'b' counts the results of 's': s\[p\]"):
        pg.fuse_epilogue(knl, "s", "b")


def test_nothing_to_fuse() -> None:
    with pytest.raises(UnknownInstruction):
        pg.fuse_epilogue(moments(), "s", "none")
    with pytest.raises(InvalidArgument, match="'q' reads nothing that 's' writes"):
        pg.fuse_epilogue(moments(), "s", "q")


def test_calls_and_points_in_the_order() -> None:
    knl = calls_and_points()
    for other, why in (("b", "'b' calls a kernel"), ("point", "'point' assigns to nothing")):
        for ids in (["s", other], [other, "s"]):
            with pytest.raises(InvalidArgument, match=f"fuse_epilogue: {why}"):
                pg.fuse_epilogue(knl, *ids)


def test_numpy_agrees() -> None:
    """The results are counted by a loop that runs the other way."""
    knl = kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j<m and 1<=k<=n }",
        "s[i] = sum(j, a[i,j]**2)  {id=s}\nb[k - 1] = sqrt(s[n - k])  {id=b}",
        pg.TemporaryVariable("s", shape="n", address_space=GLOBAL),
    )
    new = pg.fuse_epilogue(knl, "s", "b")
    assert new.instruction("b").within_inames == {"i"}
    run = new.executor("c")
    for n, m in ((0, 1), (1, 4), (7, 3)):
        a = np.random.default_rng(n).random((n, m))
        _, (b,) = run(a=a)
        np.testing.assert_allclose(b, np.linalg.norm(a, axis=1)[::-1], rtol=1e-14)


def test_one_instruction_in_both() -> None:
    new = pg.fuse_epilogue(kernel(
        "{ [i,j,k]: 0<=i,k<n and 0<=j<m }",
        "s[i] = sum(j, a[i,j])  {id=s}\nb[k] = 2*s[k]  {id=b}",
    ), "s", "b")  # fmt: skip
    assert "s[i] = sum(j, a[i, j])" in str(new)  # an argument, which is an output
    assert "b[i] = 2*s[i]" in str(new)
    assert [step.name for step in new.history] == ["fuse_epilogue"]
