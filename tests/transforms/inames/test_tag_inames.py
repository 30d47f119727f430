"""`tag_inames`: what may be given, and which tags stand for others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, TagConflict, UnknownIname
from polygen.ir.kernel import Kernel
from polygen.ir.tags import ForTag, GroupTag, IlpTag, InameTag, LocalTag, UnrollTag, VectorTag
from tests.oracle.cases import agree, kernel, tag
from tests.transforms.refusals import refused

# The marks in values, which tell instances apart, are numbers of inames.
pytestmark = pytest.mark.filterwarnings("ignore::polygen.errors.NotVectorized")

CUBE = kernel(
    "{ [i,j_a,j_b,k]: 0<=i<2 and 0<=j_a<2 and 0<=j_b<3 and 0<=k<2 }",
    "out[i,j_a,j_b,k] = 2*a[i,j_a,j_b,k]",
    loop_priority="i, j_a, j_b, k",
)
G0, G1, L0 = GroupTag(0), GroupTag(1), LocalTag(0)


@pytest.mark.parametrize(
    ("given", "tags"),
    [
        ({"i": "g.0", "j_a": "l.0"}, {"i": G0, "j_a": L0}),
        ([("i", "g.0"), ("j_a", L0)], {"i": G0, "j_a": L0}),
        ((), {}),
        ("i: g.0, j_a: l.0", {"i": G0, "j_a": L0}),
        ("i:g.0", {"i": G0}),
        ("j_*: unr", {"j_a": UnrollTag(), "j_b": UnrollTag()}),
        ("j_?: unr, i: for", {"i": ForTag(), "j_a": UnrollTag(), "j_b": UnrollTag()}),
        ("i: ord", {"i": ForTag()}),
        ("i: unr, j_a: like.i", {"i": UnrollTag(), "j_a": UnrollTag()}),
        ("j_a: like.i", {"j_a": ForTag()}),
        ("i: ilp, k: ilp.unr", {"i": IlpTag(), "k": IlpTag()}),
        ("k: vec, j_a: ilp.seq", {"k": VectorTag(), "j_a": IlpTag(is_loop=True)}),
        ("i: g.auto", {"i": G0}),
        ("i: g.0, k: g.auto, j_a: g.auto", {"i": G0, "k": G1, "j_a": GroupTag(2)}),
        ({"i": {"g.0"}, "j_a": frozenset({L0}), "k": ()}, {"i": G0, "j_a": L0}),
        ([("j_*", ["unr", UnrollTag()])], {"j_a": UnrollTag(), "j_b": UnrollTag()}),
    ],
)
def test_what_may_be_given(given: Any, tags: dict[str, InameTag]) -> None:
    new = pg.tag_inames(CUBE, given)
    assert dict(new.tags) == tags
    assert pg.replay(CUBE, new.history) == new
    assert pg.parse_kernel(str(new)) == new
    agree(CUBE, [{}], lambda k: pg.tag_inames(k, given))


def test_a_free_axis_is_that_of_the_instructions_within() -> None:
    knl = kernel("{ [i,j]: 0<=i,j<n }", "b[i] = 0.0\nc[j] = 0.0")
    assert dict(pg.tag_inames(knl, "i: g.0, j: g.auto").tags) == {"i": G0, "j": G0}


def test_names_that_are_not_there() -> None:
    assert dict(pg.tag_inames(CUBE, "q: g.0, i: g.1", ignore_nonexistent=True).tags) == {"i": G1}
    assert pg.tag_inames(CUBE, "q_*: g.0", ignore_nonexistent=True) is CUBE


FULL = pg.tag_inames(CUBE, "i: g.0, j_a: g.1, j_b: g.2")


@pytest.mark.parametrize(
    ("knl", "given", "kind", "text"),
    [
        (CUBE, "q: g.0", UnknownIname, "no iname 'q'"),
        (CUBE, "q*: g.0", UnknownIname, "no iname 'q*'"),
        (CUBE, "i: like.q", UnknownIname, "no iname 'q'"),
        (CUBE, "i", InvalidArgument, "'' is no iname tag"),
        (CUBE, "i: g.7", InvalidArgument, "'g.7' is no iname tag"),
        (CUBE, [("i",)], InvalidArgument, "which is not tags of inames, such as {'i': 'g.0'}"),
        (CUBE, 3, InvalidArgument, "which is not tags of inames"),
        (CUBE, {3: "g.0"}, InvalidArgument, "which is not tags of inames"),
        (FULL, "k: g.auto", TagConflict, "no axis of work groups is free for 'k'"),
        (FULL, "k: like.i", TagConflict, "both tagged g.0"),
        (CUBE, "i: vec, k: vec", TagConflict, "within 'i' and 'k', both tagged vec"),
        (FULL, "i: like.j_a", TagConflict, "'i' is tagged g.0 already; asked for was g.1"),
        (CUBE, {"i": {"g.0", L0}}, TagConflict, "'i' is to be tagged g.0 and l.0 at once"),
        (CUBE, {"i": ["unr", "q"]}, InvalidArgument, "'q' is no iname tag"),
        (CUBE, {"i": [3, "unr"]}, InvalidArgument, "which is not tags of inames"),
        (CUBE, {"i": [["unr"]]}, InvalidArgument, "which is not tags of inames"),
    ],
)
def test_refused(knl: Kernel, given: Any, kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind) as caught:
        pg.tag_inames(knl, given)
    assert text in str(caught.value)


LINE = kernel("{ [i,j]: 0<=i<n and 0<=j<4 }", "out[i,j] = 2*a[i,j]", loop_priority="i, j")


def test_a_hint_to_unroll() -> None:
    new = pg.tag_inames(LINE, "i: unr_hint, j: unr_hint")
    assert pg.parse_kernel(str(new)) == new
    assert pg.untag_inames(new, "i, j") == LINE
    agree(
        LINE, [{"n": n} for n in (0, 1, 3)], lambda k: pg.tag_inames(k, "i: unr_hint, j: unr_hint")
    )
    typed = pg.add_dtypes(new, {"a": "float32"})
    c, opencl = (str(pg.generate_code(typed, target)) for target in ("c", "opencl"))
    assert c.count("#pragma GCC unroll 8\n    for (int i = 0") == 1
    assert c.count("#pragma GCC unroll 4\n        for (int j = 0") == 1
    assert opencl.count("#pragma unroll\n") == 2
    assert str(pg.lower_kernel(typed)).count("# to be unrolled") == 2
    for target in ("c", "opencl"):
        a = np.arange(12, dtype=np.float32).reshape(3, 4)
        _, (out,) = typed.executor(target)(a=a)
        np.testing.assert_array_equal(out, 2 * a)


def test_other_steps_take_the_same_tags() -> None:
    on_group = pg.tag_inames(LINE, "j: g.0")
    made = [
        pg.split_iname(on_group, "i", 4, outer_tag="g.auto", inner_tag={"l.0"}),
        pg.chunk_iname(on_group, "i", 4, outer_tag="g.auto", inner_tag="ord"),
        pg.duplicate_inames(on_group, "i", "*", tags={"i": ["g.auto"]}),
        pg.tile(LINE, {"i": 4, "j": 2}, {"i": "g.auto", "j": "g.auto"}, {"j": "l.auto"}),
        pg.join_inames(LINE, "i, j", tag="g.auto"),
    ]
    assert [{i: str(tag) for i, tag in knl.tags.items()} for knl in made] == [
        {"j": "g.0", "i_outer": "g.1", "i_inner": "l.0"},
        {"j": "g.0", "i_outer": "g.1", "i_inner": "for"},
        {"j": "g.0", "i_0": "g.1"},
        {"i_outer": "g.0", "j_outer": "g.1", "j_inner": "l.auto"},
        {"i_j": "g.0"},
    ]


ROW = kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
SQUARE = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = a[i,j] + i - j")
FIXED = kernel("{ [i,j]: 0<=i<6 and 0<=j<4 }", "out[i,j] = a[i,j]  {if=a[i,j] > j}")


@pytest.mark.parametrize(
    ("text", "parsed"),
    [("for", ForTag()), ("unr", UnrollTag()), ("g.1", GroupTag(1)), ("l.0", LocalTag(0))],
)
def test_tags(text: str, parsed: Any) -> None:
    knl = pg.tag_inames(SQUARE, {"i": text})
    assert dict(knl.tags) == {"i": parsed}
    assert pg.tag_inames(SQUARE, {"i": parsed}) == knl
    assert knl.domains == SQUARE.domains
    assert pg.tag_inames(knl, {"i": text}) is knl


def test_whatever_the_tags_it_computes_the_same() -> None:
    tags = ["for", "unr", "g.0", "l.0", "l.1"]
    both = [tag(i=a, j=b) for a in tags for b in tags if a != b or a[1] != "."]
    agree(FIXED, [{}], *both)


def test_tags_are_replaced_by_force_only() -> None:
    knl = pg.tag_inames(ROW, {"i": "g.0"})
    refused(
        TagConflict,
        "'i' is tagged g.0 already; asked for was unr.*force=True",
        pg.tag_inames,
        knl,
        {"i": "unr"},
    )
    assert dict(pg.tag_inames(knl, {"i": "unr"}, force=True).tags) == {"i": UnrollTag()}
    loop = pg.tag_inames(ROW, {"i": "for"})
    assert dict(pg.tag_inames(loop, {"i": "g.0"}).tags) == {"i": GroupTag(0)}


def test_refused_tags() -> None:
    refused(UnknownIname, "no iname 'k'", pg.tag_inames, SQUARE, {"k": "g.0"})
    refused(InvalidArgument, "'g' is no iname tag.*g.0 to g.2", pg.tag_inames, ROW, {"i": "g"})
    refused(InvalidArgument, "which is not tags of inames", pg.tag_inames, ROW, 7)
    refused(InvalidArgument, "which is not tags of inames", pg.tag_inames, ROW, {"i": 0})
    refused(
        InvalidArgument,
        "force=1, which is not True or False",
        pg.tag_inames,
        ROW,
        {"i": "g.0"},
        force=1,
    )
    refused(
        TagConflict,
        "within 'i' and 'j', both tagged g.0",
        pg.tag_inames,
        SQUARE,
        {"i": "g.0", "j": "g.0"},
    )
