"""`distribute_loop`: as many loops as is legal; tags are kept, and axes stay shared."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    IllegalStep,
    NestingNotPossible,
    NotDistributable,
    UnknownIname,
    UnknownInstruction,
)
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model
from polygen.lower.program import Barrier
from tests.oracle.cases import Step, agree, kernel, launches, lowered, nodes, split, steps, tag
from tests.transforms.numpy_runs import numpy_agrees

LINE = kernel("{ [s]: 0<=s<n }", "b[s] = 2*a[s]  {id=b}\nc[s] = b[s] + s  {id=c}")
SQUARE = kernel(
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
    "inside of a group": (SQUARE, TILES, "j"),
    "inside of a loop": (SQUARE, tag(), "j"),
    "outside of an unrolled part": (SQUARE, split("j", 2, inner_tag="unr"), "i"),
    "on two axes": (SQUARE, steps(TILES, split("j", 4, inner_tag="l.0")), "j_outer"),
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


def test_numpy_agrees_in_groups() -> None:
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


SIZES = [{"n": n} for n in (1, 2, 3, 5, 8)]


CHAIN = kernel(
    "{ [i]: 1<=i<n }",
    "b[i] = b[i-1] + a[i]  {id=s}\nc[i] = 2*b[i]  {id=u}\nd[i] = c[i] - e[i-1]  {id=v, dep=*u}\n"
    "e[i] = d[i] + 1  {id=w}",
    pg.GlobalArg("b", shape="n"),
    pg.GlobalArg("e", shape="n"),
    "...",
)


SCALAR = kernel(
    "{ [i]: 0<=i<n }", "<> t = 2*a[i]  {id=s}\nb[i] = t + 1  {id=u}\nc[i] = b[i]  {id=v}"
)


PLANE = kernel(
    "{ [i,j]: 0<=j<=i<n }", "b[i,j] = 2*a[i]  {id=s}\nc[i,j] = b[i,j]  {id=u}\nd[i] = a[i]  {id=v}",
    loop_priority="i, j",
)  # fmt: skip


def distributed(*given: Any) -> Step:
    """Return the step that distributes a loop."""
    return lambda knl: pg.distribute_loop(knl, "i", *given)


def loops_of(knl: Kernel) -> list[list[str]]:
    """Return the instructions that share a loop."""
    found: dict[frozenset[str], list[str]] = {}
    for insn in knl.instructions:
        outer = frozenset(i for i in insn.within_inames if i.startswith("i"))
        found.setdefault(outer, []).append(insn.id)
    return list(found.values())


@pytest.mark.parametrize(
    ("knl", "given", "parts"),
    [
        (CHAIN, (), [["s"], ["u"], ["v", "w"]]),
        (CHAIN, ("v or w",), [["s", "u"], ["v", "w"]]),
        (SCALAR, (), [["s", "u"], ["v"]]),
        (PLANE, (), [["s"], ["u"], ["v"]]),
    ],
)
def test_as_many_loops_as_is_legal(knl: Kernel, given: Any, parts: list[list[str]]) -> None:
    new = pg.distribute_loop(knl, "i", *given)
    assert loops_of(new) == parts
    assert pg.replay(knl, new.history) == new
    assert len(new.history) == 1
    agree(knl, SIZES, distributed(*given))


def test_numpy_agrees_apart() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]\nc[i] = b[i] + i")
    numpy_agrees(knl, distributed(), lambda a: {"b": 2 * a, "c": 2 * a + np.arange(len(a))})


def test_one_instruction_keeps_its_loop() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]")
    assert pg.distribute_loop(knl, "i") is knl


SUM = kernel("{ [i,j]: 0<=i,j<n }", "out[i] = sum(j, a[i,j])")


@pytest.mark.parametrize(
    ("knl", "given", "kind", "text"),
    [
        (CHAIN, ("k",), UnknownIname, "no iname 'k'"),
        (CHAIN, ("i", "q"), UnknownInstruction, "q"),
        (CHAIN, ("i", "w"), IllegalStep, "would change what kernel"),
        (SCALAR, ("i", "u"), NotDistributable, "cannot be distributed so"),
        (SUM, ("j",), NestingNotPossible, "'j' is no loop"),
        (pg.tag_inames(SUM, "i: g.0"), ("i",), NestingNotPossible, "'i' is no loop"),
    ],
)
def test_not_distributed(knl: Kernel, given: Any, kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind) as caught:
        pg.distribute_loop(knl, *given)
    assert text in str(caught.value)
