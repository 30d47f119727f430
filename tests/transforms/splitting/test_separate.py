"""Separate code: `peel`, `index_set_split`, `separate_full_tiles`, `split_iname(slabs=...)`."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    InvalidArgument,
    MalformedExpression,
    NotSeparable,
    UnknownIname,
    UnknownName,
)
from polygen.ir.kernel import Kernel
from polygen.language.parser import parse_expression
from tests.oracle.cases import QUIET, Step, agree, guards, kernel, loops, lowered, prior, steps
from tests.transforms.numpy_runs import numpy_agrees

LINE = kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
PREFIX = kernel("{ [i]: 0<=i<n }", "out[i] = a[i] + (out[i-1] if i > 0 else 0)")
PLANE = kernel("{ [i,j]: 0<=i,j<n }", "out[i,j] = 2*a[i,j] + i - j", loop_priority="i, j")
TRIANGLE = kernel("{ [i,j]: 0<=j<=i<n }", "out[i,j] = 2*a[i,j] + j", loop_priority="i, j")
CHAIN = kernel(
    "{ [i]: 0<=i<n }",
    "<> t = 2*a[i]\nb[i] = t + 1\nc[i] = b[i]*t  {if=i % 2 == 0}\nd[i] = b[i]",
    pg.GlobalArg("c", shape="n"),
    "...",
)
SUMS = kernel("{ [i,j]: 0<=i,j<n }", "out[i] = sum(j, a[i,j]*j)")
SCAN = kernel("{ [i,j]: 0<=j<=i<n }", "out[i] = sum(j, a[j])")
SIZES = [{"n": n} for n in (0, 1, 2, 3, 5, 8)]


def apart(*conditions: str) -> Step:
    """Return the step that separates by conditions."""

    def apply(knl: Kernel) -> Kernel:
        for condition in conditions:
            knl = pg.index_set_split(knl, condition)
        return knl

    return apply


def peeled(iname: str, first: int, last: int) -> Step:
    """Return the step that peels."""
    return lambda knl: pg.peel(knl, iname, first, last)


def slabs(low: int, high: int) -> Step:
    """Return the step that splits, with slabs."""
    return lambda knl: pg.prioritize_loops(
        pg.split_iname(knl, "i", 3, slabs=(low, high)), "i_outer, i_inner"
    )


def full(knl: Kernel) -> Kernel:
    """Return the kernel in tiles, full ones apart."""
    return pg.separate_full_tiles(pg.tile(knl, {"i": 2, "j": 3}), "i_inner, j_inner")


def ranges(knl: Kernel) -> list[tuple[str, str, str]]:
    """Return the loops of the generated program."""
    return [(x.iname, str(x.lower), str(x.upper)) for x in loops(lowered(knl))]


def test_only_the_code_changes() -> None:
    new = pg.peel(LINE, "i", 1, 1)
    assert (
        new.separations == (parse_expression("i >= 1 and i + 1 < n"),) or len(new.separations) == 1
    )
    assert new.copy(separations=()) == LINE
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(LINE, new.history) == new
    assert [step.name for step in new.history] == ["peel"]
    assert pg.peel(new, "i", 1, 1) is new


@pytest.mark.parametrize(
    "knl", [LINE, PREFIX, CHAIN, SCAN], ids=["line", "prefix", "chain", "scan"]
)
def test_parts_of_one_loop(knl: Kernel) -> None:
    agree(
        knl,
        SIZES,
        peeled("i", 1, 0),
        peeled("i", 0, 2),
        peeled("i", 2, 1),
        apart("i < 4"),
        apart("i < 4", "2*i >= n"),
        apart("1 <= i and i < n - 1", "i == 3"),
        slabs(1, 0),
        slabs(0, 1),
        slabs(1, 2),
        steps(slabs(1, 1), lambda k: pg.tag_inames(k, {"i_inner": "unr"})),
    )


def test_parts_on_axes() -> None:
    agree(
        CHAIN,
        SIZES,
        steps(slabs(1, 1), lambda k: pg.tag_inames(k, {"i_inner": "l.0"})),
        steps(slabs(1, 1), lambda k: pg.tag_inames(k, {"i_outer": "g.0", "i_inner": "l.0"})),
        steps(apart("i < 4"), lambda k: pg.tag_inames(k, {"i": "g.0"})),
    )


@pytest.mark.parametrize("knl", [PLANE, TRIANGLE], ids=["plane", "triangle"])
def test_parts_of_two_loops(knl: Kernel) -> None:
    agree(
        knl,
        SIZES,
        full,
        peeled("j", 1, 1),
        peeled("i", 1, 1),
        steps(peeled("j", 0, 1), prior("j, i")),
        apart("i < j"),
        apart("i + 2*j < n", "j < 2"),
        apart("i >= 1 and j >= 1 and i < n - 1"),
        steps(full, lambda k: pg.tag_inames(k, {"i_outer": "g.0", "j_outer": "g.1"})),
        steps(
            full,
            lambda k: pg.tag_inames(
                k, {"i_outer": "g.0", "j_outer": "g.1", "i_inner": "l.0", "j_inner": "l.1"}
            ),
        ),
    )


def test_a_reduction_is_divided() -> None:
    agree(
        SUMS,
        SIZES,
        peeled("j", 1, 1),
        apart("j < i"),
        steps(lambda k: pg.split_iname(k, "j", 3), lambda k: pg.separate_full_tiles(k, "j_inner")),
    )


def test_later_steps_keep_it() -> None:
    apart_there = pg.index_set_split(LINE, "i < 4")
    agree(
        apart_there,
        SIZES,
        lambda k: pg.split_iname(k, "i", 3),
        lambda k: pg.rename_iname(k, "i", "p"),
        lambda k: pg.reverse(k, "i"),
    )
    assert str(pg.rename_iname(apart_there, "i", "p").separations[0]) == str(
        parse_expression("p < 4")
    )
    fixed = pg.fix_parameters(pg.index_set_split(LINE, "2*i < n"), n=5)
    assert ranges(fixed) == [("i", "0", "3"), ("i", "3", "5")]
    gone = pg.map_domain(apart_there, "{ [i] -> [p,q] : i = 4*p + q and 0 <= q < 4 }")
    assert ranges(pg.prioritize_loops(gone, "p, q"))[0][0] == "p"
    twice = pg.duplicate_inames(pg.index_set_split(CHAIN, "i < 4"), "i", "insn_2", "k")
    assert len(twice.separations) == 2


@pytest.mark.parametrize("step", [peeled("i", 1, 1), slabs(1, 1), apart("i < 4", "i >= 2")])
def test_numpy_agrees(step: Step) -> None:
    numpy_agrees(LINE, step, lambda a: {"out": 2 * a})


def test_numpy_agrees_on_tiles() -> None:
    numpy_agrees(
        PLANE,
        steps(
            lambda k: pg.tile(k, {"i": 8, "j": 4}),
            lambda k: pg.separate_full_tiles(k, "i_inner, j_inner"),
        ),
        lambda a: {"out": 2 * a + np.subtract.outer(np.arange(len(a)), np.arange(len(a)))},
        2,
    )


PRODUCT = pg.make_kernel(
    "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<l }",
    "c[i,j] = sum(k, a[i,k]*b[k,j])",
    name="product",
    silenced_warnings=QUIET,
)


def tiled_product() -> Kernel:
    """Return a product of matrices with tiles in local memory, full ones apart."""
    knl = pg.add_dtypes(PRODUCT, {"a,b": "float32"})
    for axis, iname in enumerate("ji"):
        tags: Any = {"outer_tag": f"g.{axis}", "inner_tag": f"l.{axis}"}
        knl = pg.split_iname(knl, iname, 4, **tags)
    knl = pg.split_iname(knl, "k", 4)
    knl = pg.add_prefetch(knl, "a", ["i_inner", "k_inner"], default_tag="l.auto")
    knl = pg.add_prefetch(knl, "b", ["j_inner", "k_inner"], default_tag="l.auto")
    return pg.separate_full_tiles(knl, "i_inner, j_inner, k_inner")


def test_tiles_in_local_memory() -> None:
    knl = tiled_product()
    for target in ("c", "opencl"):
        run = knl.executor(target)
        for n, m, k in ((1, 1, 1), (5, 4, 9), (8, 8, 8), (7, 11, 3)):
            a = np.random.default_rng(n).integers(-4, 5, size=(n, k)).astype(np.float32)
            b = np.random.default_rng(m).integers(-4, 5, size=(k, m)).astype(np.float32)
            _, (c,) = run(a=a, b=b)
            np.testing.assert_array_equal(c, a @ b)


def test_full_tiles_have_no_guards() -> None:
    source = str(pg.generate_code(tiled_product(), "opencl"))
    inside = source.split("4 * i_outer + 3 < n && 4 * j_outer + 3 < m) {")
    whole = inside[1].split("for (int k_outer = l / 4;")[0]
    assert "k_outer < l / 4" in whole
    assert "if" not in whole
    bulk = pg.split_iname(LINE, "i", 4, slabs=(0, 1))
    found = guards(lowered(pg.prioritize_loops(bulk, "i_outer, i_inner")))
    assert len(found) == 1


def test_what_the_loops_become() -> None:
    assert ranges(pg.index_set_split(LINE, "i < 4 and i >= 2"))[0] == ("i", "0", "min(2, n)")
    assert len(ranges(pg.index_set_split(LINE, "i < 4 and i >= 2"))) == 3
    assert len(ranges(pg.index_set_split(LINE, "i < n + 3"))) == 1  # it always holds
    assert (
        pg.separate_full_tiles(pg.make_kernel("{ [i]: 0<=i<8 }", "o[i] = i"), "i").separations == ()
    )


def test_what_is_not_possible_any_more() -> None:
    knl = pg.index_set_split(LINE, "i < 4").copy(
        separations=(parse_expression("i % 2 < 1"),),
        options=pg.set_options(LINE, silenced_warnings=[]).options,
    )
    with pytest.warns(pg.errors.SeparationIgnored, match="is no conjunction of affine compar"):
        assert len(ranges(knl)) == 1
    quiet = pg.set_options(knl, silenced_warnings=["SeparationIgnored"])
    assert len(ranges(quiet)) == 1
    tiles = tiled_product()
    items = pg.index_set_split(pg.set_options(tiles, silenced_warnings=[]), "i_inner < 2")
    with pytest.warns(pg.errors.SeparationIgnored, match="work items differ in it, and wait"):
        pg.generate_code(items, "opencl")


def test_a_name_that_is_not_there() -> None:
    text = str(pg.index_set_split(LINE, "i < 4")).replace("i < 4", "q < 4")
    with pytest.raises(UnknownName, match="the separation 'q < 4' mentions 'q', which is no iname"):
        pg.parse_kernel(text)


APART = kernel("{ [i,j]: 0<=i,j<n }", "b[i] = 0.0\nc[j] = 0.0")
ENDS = kernel("{ [i]: 0<=i<n or n+3<=i<2*n }", "out[i] = 0.0", pg.GlobalArg("out", shape="2*n + 1"))


@pytest.mark.parametrize(
    ("step", "kind", "text"),
    [
        (lambda: pg.index_set_split(LINE, "i % 2 < 1"), NotSeparable, "no conjunction of compari"),
        (lambda: pg.index_set_split(LINE, "i != 2"), NotSeparable, "no conjunction of comparisons"),
        (lambda: pg.index_set_split(LINE, "i < 2 or i > 4"), NotSeparable, "no conjunction"),
        (lambda: pg.index_set_split(LINE, "i*i < n"), NotSeparable, "no conjunction of comparis"),
        (lambda: pg.index_set_split(LINE, "i < q"), NotSeparable, "'q', which is no iname or sca"),
        (lambda: pg.index_set_split(LINE, "n < 4"), NotSeparable, "it mentions no iname"),
        (lambda: pg.index_set_split(APART, "i < j"), NotSeparable, "is within all of i, j"),
        (lambda: pg.index_set_split(LINE, "i <"), MalformedExpression, "i <"),
        (lambda: pg.index_set_split(LINE, 4), InvalidArgument, "which is not a condition"),  # type: ignore[arg-type]
        (lambda: pg.peel(LINE, "k"), UnknownIname, "no iname 'k'"),
        (lambda: pg.peel(LINE, "i", 0, 0), InvalidArgument, "no iteration of 'i' is to be peeled"),
        (lambda: pg.peel(LINE, "i", -1), InvalidArgument, "which is not a number of iterations"),
        (lambda: pg.peel(ENDS, "i", 0, 1), NotSeparable, "does not begin and end at affine func"),
        (lambda: pg.separate_full_tiles(LINE, "k"), UnknownIname, "no iname 'k'"),
        (lambda: pg.separate_full_tiles(LINE, "i"), NotSeparable, "no values between two const"),
        (
            lambda: pg.separate_full_tiles(pg.split_iname(ENDS, "i", 4), "i_inner"),
            NotSeparable,
            "its domain is not convex",
        ),
        (lambda: pg.split_iname(LINE, "i", 4, slabs=1), InvalidArgument, "two numbers of itera"),  # type: ignore[arg-type]
        (lambda: pg.split_iname(LINE, "i", 4, slabs=(1, -1)), InvalidArgument, "two numbers of"),
    ],
)
def test_refused(step: Any, kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind, match=re.escape(text)):
        step()


def test_what_is_known_of_remainders_of_sizes() -> None:
    """It makes no domain less convex."""
    text = "out[i,j] = a[i,j] + m"
    knl = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", text, assumptions="m mod 8 = 0")
    knl = pg.separate_full_tiles(pg.split_iname(knl, "i", 4), "i_inner")
    assert "SEPARATIONS:\n4*i_outer + 3 < n\n" in str(knl)
    a = np.arange(7 * 8).reshape(7, 8)
    _, (out,) = knl.executor("c")(a=a)
    np.testing.assert_array_equal(out, a + 8)


def three_nests() -> Kernel:
    text = "b[i] = a[i]  {id=b}\nc[i] = 2*a[i]  {id=c}\nd[i] = 3*a[i]  {id=d}"
    knl = pg.split_iname(kernel("{ [i]: 0<=i<n }", text), "i", 4, inner_iname="p")
    knl = pg.split_iname(knl, "p", 2, outer_iname="part", inner_iname="item")
    for insn in ("c", "d"):
        knl = pg.duplicate_inames(knl, "part", within=f"id:{insn}", suffix=f"_{insn}")
    return pg.prioritize_loops(knl, "i_outer, item, part")


def test_all_loops_over_the_points_of_a_tile_are_named() -> None:
    knl, names = three_nests(), "item, part, part_c, part_d"
    new = pg.separate_full_tiles(knl, names)
    assert [str(c) for c in new.separations] == ["4*i_outer + 3 < n"]
    assert "for i_outer in [0, n//4):" in str(lowered(new))
    agree(knl, SIZES, lambda knl: pg.separate_full_tiles(knl, names))
    text = "a tile of item, part is full: i_outer, part_c, part_d\n.*\n  remedy: name all inames"
    with pytest.raises(NotSeparable, match=text):
        pg.separate_full_tiles(knl, "item, part")
    nests = pg.tile(pg.split_iname(APART, "i", 4), {"j": 4})
    with pytest.raises(NotSeparable, match="one step for loops that are nested, another one"):
        pg.separate_full_tiles(nests, "i_inner, j_inner")


def test_one_iteration_apart_from_those_before_and_after_it() -> None:
    knl = pg.index_set_split(LINE, "i == 3")
    assert [x[1:] for x in ranges(pg.fix_parameters(knl, n=9))] == [("0", "3"), ("4", "9")]
    agree(knl, SIZES)


def test_conditions_that_are_data_stay_in_the_parts() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]  {if=a[i] > 0 and i < 4}")
    agree(knl, SIZES, apart("i < 4"), peeled("i", 1, 1))


def test_a_loop_behind_the_one_iteration_of_its_first_part() -> None:
    # In it, j_outer = 0 is left out by a condition inside.
    knl = kernel(
        ["{ [i]: 0<=i<6 }", "{ [j]: 0<=j and 2*j<=i+3 }"],
        "out[i,j] = i + 10*j",
        pg.GlobalArg("out", "int32", (6, 6)),
    )
    knl = pg.separate_full_tiles(pg.split_iname(knl, "j", 3), "j_inner")
    source = str(pg.generate_code(knl, "c"))
    assert source.count("for") == 4
    agree(knl, [{}])


def test_what_is_called() -> None:
    twice = pg.make_function("{ [k]: 0<=k<s }", "y[k] = 2*x[k]  {if=k < 6}", name="twice")
    twice = pg.index_set_split(twice, "k < s - 2")
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "[k]: out[i, k] = twice(5, [k]: a[i, k])",
        [pg.GlobalArg("a", "float32", "n, 5"), pg.GlobalArg("out", "float32", "n, 5"), "..."],
        functions={"twice": twice},
    )
    new = pg.inline_callable_kernel(knl, "twice")
    assert len(new.separations) == 1
    assert ranges(new)[-2:] == [("twice_k", "0", "3"), ("twice_k", "3", "5")]
    a = np.arange(15, dtype=np.float32).reshape(3, 5)
    for each in (knl, new):
        _, (out,) = each.executor("c")(a=a)
        np.testing.assert_array_equal(out, 2 * a)


@pytest.mark.parametrize("sides", [(1, 0), (1, 1)])
@pytest.mark.parametrize("inner", [None, "l.0", "unr"])
def test_two_inames_of_one_axis_are_divided_together(
    sides: tuple[int, int], inner: str | None
) -> None:
    """A group is in the bulk, or at the rim, for both: there are two versions, and not four."""
    knl = kernel("{ [i]: 1<=i<n }", "b[i] = 2*a[i]  {id=s}\nc[i] = b[i] + 1  {id=r, dep=s}")
    tags = {"i_outer": "g.0"} | ({"i_inner": inner} if inner else {})

    def apart(k: Kernel) -> Kernel:
        k = pg.split_iname(k, "i", 3, outer_tag="g.0", inner_tag=inner, slabs=sides)
        return pg.duplicate_inames(k, "i_outer, i_inner", "r", tags=tags)

    agree(knl, [{"n": n} for n in (0, 3, 4, 9, 10)], apart)
    code = str(pg.generate_code(apart(pg.add_dtypes(knl, {"a": "float32"})), "opencl"))
    assert code.count("= 2.0f * a[") <= 2 * (3 if inner == "unr" else 1)
