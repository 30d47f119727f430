"""Separate code: `peel`, `index_set_split`, `separate_full_tiles`, `split_iname(slabs=...)`."""

from __future__ import annotations

import re
from typing import Any

import pytest

import polygen as pg
from polygen.errors import InvalidArgument
from polygen.ir.kernel import Kernel
from tests.few import few
from tests.oracle.cases import Step, agree, guards, kernel, lowered, prior, steps
from tests.transforms.numpy_runs import numpy_agrees
from tests.transforms.splitting.separate_code import CHAIN, LINE, PLANE, SIZES, apart, peeled

PREFIX = kernel("{ [i]: 0<=i<n }", "out[i] = a[i] + (out[i-1] if i > 0 else 0)")
TRIANGLE = kernel("{ [i,j]: 0<=j<=i<n }", "out[i,j] = 2*a[i,j] + j", loop_priority="i, j")
SUMS = kernel("{ [i,j]: 0<=i,j<n }", "out[i] = sum(j, a[i,j]*j)")
SCAN = kernel("{ [i,j]: 0<=j<=i<n }", "out[i] = sum(j, a[j])")


def slabs(low: int, high: int) -> Step:
    """Return the step that splits, with slabs."""
    return lambda knl: pg.prioritize_loops(
        pg.split_iname(knl, "i", 3, slabs=(low, high)), "i_outer, i_inner"
    )


def full(knl: Kernel) -> Kernel:
    """Return the kernel in tiles, full ones apart."""
    return pg.separate_full_tiles(pg.tile(knl, {"i": 2, "j": 3}), "i_inner, j_inner")


@few(2, "knl", [LINE, PREFIX, CHAIN, SCAN], ids=["line", "prefix", "chain", "scan"])
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


@pytest.mark.parametrize("step", [peeled("i", 1, 1), slabs(1, 1), apart("i < 4", "i >= 2")])
def test_numpy_agrees(step: Step) -> None:
    numpy_agrees(LINE, step, lambda a: {"out": 2 * a})


def test_the_guards_of_slabs() -> None:
    bulk = pg.split_iname(LINE, "i", 4, slabs=(0, 1))
    found = guards(lowered(pg.prioritize_loops(bulk, "i_outer, i_inner")))
    assert len(found) == 1


@pytest.mark.parametrize(
    ("step", "kind", "text"),
    [
        (lambda: pg.split_iname(LINE, "i", 4, slabs=1), InvalidArgument, "two numbers of itera"),  # type: ignore[arg-type]
        (lambda: pg.split_iname(LINE, "i", 4, slabs=(1, -1)), InvalidArgument, "two numbers of"),
    ],
)
def test_refused_slabs(step: Any, kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind, match=re.escape(text)):
        step()


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
