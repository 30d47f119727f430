"""`distribute_loop` among loops and axes with tags: they stay shared, or keep their tags."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model
from polygen.lower.program import Barrier
from tests.oracle.cases import agree, kernel, launches, lowered, nodes, split, steps, tag
from tests.transforms.numpy_runs import numpy_agrees

LINE = kernel("{ [s]: 0<=s<n }", "b[s] = 2*a[s]  {id=b}\nc[s] = b[s] + s  {id=c}")
PLANE = kernel(
    "{ [i,j]: 0<=i,j<n }",
    "b[i,j] = 2*a[i,j]  {id=b}\nc[i,j] = b[i,j] + i - j  {id=c}",
    loop_priority="i, j",
)
SUMS = kernel(
    "{ [s,k]: 0<=s,k<n }",
    "b[s] = sum(k, a[s,k])  {id=b}\nc[s] = b[s] - sum(k, a[k,s])  {id=c}",
)
TRIANGLE = kernel(
    ["{ [s]: 0<=s<n }", "{ [k]: 0<=k<=s }"],
    "b[s] = sum(k, a[s,k])  {id=b}\nc[s,k] = b[s] - a[s,k]  {id=c}",
    pg.GlobalArg("c", shape="n, n"),
    "...",
)
HALVES = [{"n": n} for n in (1, 4, 7)]

GROUPS = split("s", 4, outer_tag="g.0")
ITEMS = steps(GROUPS, split("s_inner", 2, inner_tag="l.0"))
STRIDED = split("s", 4, inner_tag="l.0")
TILES = tag(i="g.0")
CASES: dict[str, tuple[Kernel, Any, str]] = {
    "in groups": (LINE, GROUPS, "s_inner"),
    "around items": (LINE, ITEMS, "s_inner_outer"),
    "around items without groups": (LINE, STRIDED, "s_outer"),
    "automatic items": (LINE, split("s", 4, inner_tag="l.auto"), "s_outer"),
    "unrolled": (LINE, split("s", 4, inner_tag="unr"), "s_outer"),
    "unrolled itself": (LINE, split("s", 4, outer_tag="g.0", inner_tag="unr"), "s_inner"),
    "a hint inside": (LINE, split("s", 4, inner_tag="unr_hint"), "s_outer"),
    "lanes": (LINE, split("s", 4, inner_tag="ilp"), "s_outer"),
    "inside of a group": (PLANE, TILES, "j"),
    "inside of a loop": (PLANE, tag(), "j"),
    "outside of an unrolled part": (PLANE, split("j", 2, inner_tag="unr"), "i"),
    "on two axes": (PLANE, steps(TILES, split("j", 4, inner_tag="l.0")), "j_outer"),
    "sums": (SUMS, GROUPS, "s_inner"),
    "sums in parts": (SUMS, steps(GROUPS, split("k", 2)), "s_inner"),
    "sums of items": (SUMS, STRIDED, "s_outer"),
    "bounds that need the loop": (TRIANGLE, GROUPS, "s_inner"),
}


def tags_of(knl: Kernel) -> dict[str, Counter[str]]:
    """Return the tags of the loops that each instruction is within."""
    return {
        insn.id: Counter(str(knl.tags.get(i)) for i in insn.within_inames | insn.reduction_inames)
        for insn in knl.instructions
    }


@pytest.mark.parametrize("name", CASES)
def test_what_is_around_stays_and_tags_are_kept(name: str) -> None:
    plain, prepare, loop = CASES[name]
    before = prepare(plain)
    new = pg.distribute_loop(before, loop)
    assert [loop in new.instructions_by_id[i].within_inames for i in "bc"] == [True, False]
    assert tags_of(new) == tags_of(before)
    for tag_, inames in axes(new).items():
        assert inames == axes(before)[tag_], f"{tag_} is no longer shared"
    assert pg.replay(plain, new.history) == new
    agree(before, HALVES, lambda knl: pg.distribute_loop(knl, loop))


def axes(knl: Kernel) -> dict[str, frozenset[str]]:
    """Return the inames on each axis of the hardware."""
    found: dict[str, frozenset[str]] = {}
    for iname, tag_ in knl.tags.items():
        if str(tag_)[:2] in ("g.", "l."):
            found[str(tag_)] = found.get(str(tag_), frozenset()) | {iname}
    return found


@pytest.mark.parametrize("name", ["in groups", "around items", "on two axes", "sums"])
def test_one_launch_and_nobody_waits(name: str) -> None:
    plain, prepare, loop = CASES[name]
    before = prepare(plain)
    new = pg.distribute_loop(before, loop)
    for model in Model:
        program = lowered(new, model)
        assert len(launches(program)) == 1
        assert not any(isinstance(node, Barrier) for node in nodes(program))
    assert [x.axes for x in launches(lowered(new))] == [x.axes for x in launches(lowered(before))]
    assert "pg_wait_for_team" not in pg.generate_code(_typed(new), "c").source
    for target in ("opencl", "cuda"):
        assert len(pg.generate_code(_typed(new), target).launches) == 1


def _typed(knl: Kernel) -> Kernel:
    return pg.add_dtypes(knl, {"a": np.float32})


def test_numpy_agrees() -> None:
    step = steps(ITEMS, lambda knl: pg.distribute_loop(knl, "s_inner_outer"))
    numpy_agrees(LINE, step, lambda a: {"b": 2 * a, "c": 2 * a + np.arange(len(a))})


def test_an_axis_whose_length_needs_the_loop_is_copied_with_its_tag() -> None:
    knl = kernel(
        ["{ [s]: 0<=s<4 }", "{ [k]: 0<=k<=s }"],
        "b[s,k] = 2*a[s,k]  {id=b}\nc[s,k] = b[s,k] + k  {id=c}",
        pg.GlobalArg("a,b,c", shape=(4, 4)),
        "...",
    )
    new = pg.distribute_loop(tag(k="l.0")(knl), "s")
    assert tags_of(new)["b"] == tags_of(new)["c"] == Counter({"l.0": 1, "None": 1})
    assert axes(new)["l.0"] == {"k", "k_0"}
    agree(tag(k="l.0")(knl), [{}], lambda k: pg.distribute_loop(k, "s"))
