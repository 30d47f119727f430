"""`split_array_dim`: one axis becomes two; subscripts are rewritten."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    InvalidArgument,
    MissingArgument,
    TagConflict,
)
from polygen.ir.layout import Nested, Strided, element_strides
from tests.oracle.cases import Step
from tests.transforms.arrays.array_kernels import blocks, stencil, tagged

SIZES = (0, 1, 3, 4, 5, 7, 8, 9)


@pytest.mark.parametrize("target", ["c", "opencl"])
@pytest.mark.parametrize("by_themselves", [True, False])
def test_split_arguments(target: str, by_themselves: bool) -> None:
    new = pg.split_array_dim(stencil(), [("a", 0), ("out", 0)], 4, by_themselves)
    turned = pg.split_array_dim(stencil(), [("a", 0, "F"), ("out", 0)], 4, by_themselves)
    if by_themselves:
        assert set(new.inames) == {"i_outer", "i_inner"}
        new, turned = (pg.prioritize_loops(k, "i_outer, i_inner") for k in (new, turned))
    for n in SIZES:
        a = np.random.default_rng(n).integers(-8, 9, size=n + 1).astype(np.float64)
        wanted = blocks(a[:-1] + 2 * a[1:], 4)
        for knl, given in ((new, blocks(a, 4)), (turned, blocks(a, 4).T.copy())):
            out = np.zeros_like(wanted)
            knl.executor(target)(a=given, n=n, out=out)
            np.testing.assert_array_equal(out, wanted)


def test_of_blocks_alone_the_size_is_not_known() -> None:
    new = pg.split_array_dim(stencil(), [("a", 0), ("out", 0)], 4, False)
    with pytest.raises(MissingArgument, match="'n'"):
        new(a=np.zeros((2, 4)))
    with pytest.raises(pg.errors.AssumptionViolated):
        new(a=np.zeros((0, 4)), n=-1)


def test_subscripts_are_simple_where_loops_are_split() -> None:
    new = pg.split_array_dim(
        stencil(), ("out", 0), 4, split_kwargs={"inner_tag": "l.0", "outer_tag": "g.0"}
    )
    (insn,) = new.instructions
    assert str(new).count("out[i_outer, i_inner]") == 1
    assert insn.within_inames == {"i_outer", "i_inner"}
    with pytest.raises(TagConflict):
        pg.split_array_dim(pg.tag_inames(stencil(), {"i": "g.0"}), ("out", 0), 4)
    assert "out[i//4, i % 4]" in str(
        pg.split_array_dim(pg.tag_inames(stencil(), {"i": "g.0"}), ("out", 0), 4, False)
    )


def test_rules_are_rewritten() -> None:
    old = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        ["f(x) := a[x] + i", "out[i] = f(i)*f(n - 1 - i)"],
        [pg.GlobalArg("a", "float64", "n"), "..."],
    )
    a = np.arange(5.0)
    wanted = (a + np.arange(5)) * (a[::-1] + np.arange(5))
    for auto in (True, False):
        new = pg.split_array_dim(old, ("a", 0), 3, auto)
        assert new.substitutions
        _, (out,) = new(a=blocks(a, 3), n=5)
        np.testing.assert_array_equal(out, wanted)


def test_what_is_assumed_after_a_split_of_a_symbolic_axis() -> None:
    """Assumptions are of one space, whichever step has added to them."""
    split = pg.split_array_dim(stencil(), [("a", 0), ("out", 0)], 4)
    steps: list[Step] = [
        lambda knl: pg.assume(knl, "n mod 4 = 0 and n >= 8"),
        lambda knl: pg.fix_parameters(knl, n=8),
        lambda knl: pg.rename_argument(knl, "n", "count"),
    ]
    for step in steps:
        new = step(split)
        assert new != split
        assert pg.parse_kernel(str(new)) == new
    assumed = pg.assume(pg.assume(stencil(), "n >= 0"), "n >= 0")
    assert split.assumptions == assumed.assumptions
    with pytest.raises(InvalidArgument, match="contradicts what is assumed"):
        pg.assume(split, "n < 0")
    other = pg.make_kernel("{ [j]: 0<=j<n }", "b[j] = 1", assumptions="n >= 1", name="other")
    fused = pg.fuse_kernels([split, other])
    assert fused.assumptions == pg.assume(split, "n >= 1").assumptions


def test_tags_follow_axes() -> None:
    for tags, axis, wanted in (
        ("N1, N0", 0, (Nested(2), Nested(1), Nested(0))),
        ("N0, N1", 0, (Nested(1), Nested(0), Nested(2))),
        ("N1, N0(pad_to=8)", 1, (Nested(2), Nested(1, 4), Nested(0))),
        ("stride:6, stride:1", 1, (Strided(6), Strided(2), Strided(1))),
    ):
        old = tagged(tags)
        new = pg.split_array_dim(old, ("a", axis), 2, False)
        assert new.array("a").dim_tags == wanted
        strides = element_strides(new.array("a")) or ()
        assert strides[axis + 1] == (element_strides(old.array("a")) or ())[axis]
        names = ("p_outer", "p_inner", "q") if axis == 0 else ("p", "q_outer", "q_inner")
        assert new.array("a").dim_names == names
        back = pg.join_array_dims(new, ("a", axis)).array("a")
        assert back.dim_tags == old.array("a").dim_tags
        _, (out,) = new(n=4)
        assert out.size == 24
