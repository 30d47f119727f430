"""`untag_inames`: loops again."""

from __future__ import annotations

from typing import Any

import pytest

import polygen as pg
from polygen.errors import IllegalStep, InvalidArgument, UnknownIname
from polygen.ir.tags import GroupTag, LocalTag
from tests.oracle.cases import SIZES, agree, grid, kernel, loops, lowered, steps, tag
from tests.transforms.numpy_runs import numpy_agrees

LINE = kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
STRIPS = grid("i", 8)(LINE)


def test_loops_instead_of_axes() -> None:
    new = pg.untag_inames(STRIPS, "i_outer, i_inner")
    assert not new.tags
    assert (len(loops(lowered(STRIPS))), len(loops(lowered(new)))) == (0, 2)
    assert pg.replay(LINE, new.history) == new
    assert pg.untag_inames(tag(i="g.0")(LINE), "i") == LINE


def test_tags_of_one_class_only() -> None:
    assert dict(pg.untag_inames(STRIPS, ["i_outer", "i_inner"], GroupTag).tags) == {
        "i_inner": LocalTag(0)
    }
    assert pg.untag_inames(STRIPS, "i_inner", GroupTag) is STRIPS
    assert pg.untag_inames(LINE, "i") is LINE


@pytest.mark.parametrize("which", ["g.0", GroupTag(0)])
def test_one_tag_only(which: Any) -> None:
    both = ["i_outer", "i_inner"]
    assert pg.untag_inames(STRIPS, both, which) == pg.untag_inames(STRIPS, "i_outer")
    assert pg.untag_inames(STRIPS, both, "g.1") is STRIPS
    assert pg.untag_inames(STRIPS, both, LocalTag(1)) is STRIPS
    again = pg.untag_inames(STRIPS, both, which)
    assert pg.replay(LINE, again.history) == again


def test_it_computes_the_same() -> None:
    agree(
        LINE,
        SIZES,
        steps(grid("i", 3), lambda k: pg.untag_inames(k, "i_inner")),
        steps(grid("i", 3), lambda k: pg.untag_inames(k, "i_inner, i_outer")),
    )
    numpy_agrees(STRIPS, lambda k: pg.untag_inames(k, "i_inner"), lambda a: {"out": 2 * a})


def test_a_priority_that_matters_only_to_loops() -> None:
    knl = kernel(
        "{ [t,i]: 0<=t<4 and 1<=i<7 }",
        "a[t+1,i] = a[t,i-1] + a[t,i+1]  {id=s}",
        loop_priority="t, i",
    )
    parallel = tag(i="l.0")(knl)
    assert pg.untag_inames(parallel, "i") == knl
    with pytest.raises(IllegalStep, match=r"untag_inames.*\bs\["):
        pg.untag_inames(pg.prioritize_loops(parallel, "i, t"), "i")


@pytest.mark.parametrize(
    ("given", "kind", "text"),
    [
        (("k",), UnknownIname, "no iname 'k'"),
        ((3,), InvalidArgument, "iname_to_untag=3, which is not inames"),
        (("i", "g.7"), InvalidArgument, "tag_type='g.7': 'g.7' is no iname tag"),
        (("i", 0), InvalidArgument, "tag_type=0, which is not a tag such as 'g.0', or a class"),
    ],
)
def test_refused(given: Any, kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind, match=text):
        pg.untag_inames(LINE, *given)
