"""`tag_inames`, `prioritize_loops`, `rename_iname`: the same instances in another order or name."""

from __future__ import annotations

from typing import Any

import islpy as isl
import pytest

import polygen as pg
from polygen.errors import (
    IllegalStep,
    InvalidArgument,
    NameTaken,
    ReservedName,
    TagConflict,
    UnknownIname,
    UserError,
)
from polygen.ir.domain import parse_domain
from polygen.ir.tags import ForTag, GroupTag, LocalTag, UnrollTag
from tests.oracle.cases import SIZES, agree, kernel, prior, steps, tag

LINE = kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
SQUARE = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = a[i,j] + i - j")
FIXED = kernel("{ [i,j]: 0<=i<6 and 0<=j<4 }", "out[i,j] = a[i,j]  {if=a[i,j] > j}")


def _refused(kind: type[UserError], text: str, step: Any, *args: Any, **kwargs: Any) -> None:
    with pytest.raises(kind, match="(?s)" + text):
        step(*args, **kwargs)


# --- tag_inames


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
    knl = pg.tag_inames(LINE, {"i": "g.0"})
    _refused(
        TagConflict,
        "'i' is tagged g.0 already; asked for was unr.*force=True",
        pg.tag_inames,
        knl,
        {"i": "unr"},
    )
    assert dict(pg.tag_inames(knl, {"i": "unr"}, force=True).tags) == {"i": UnrollTag()}
    loop = pg.tag_inames(LINE, {"i": "for"})
    assert dict(pg.tag_inames(loop, {"i": "g.0"}).tags) == {"i": GroupTag(0)}


def test_refused_tags() -> None:
    _refused(UnknownIname, "no iname 'k'", pg.tag_inames, SQUARE, {"k": "g.0"})
    _refused(InvalidArgument, "'g' is no iname tag.*g.0 to g.2", pg.tag_inames, LINE, {"i": "g"})
    _refused(InvalidArgument, "which is not tags of inames", pg.tag_inames, LINE, 7)
    _refused(InvalidArgument, "which is not tags of inames", pg.tag_inames, LINE, {"i": 0})
    _refused(
        InvalidArgument,
        "force=1, which is not True or False",
        pg.tag_inames,
        LINE,
        {"i": "g.0"},
        force=1,
    )
    _refused(
        TagConflict,
        "within 'i' and 'j', both tagged g.0",
        pg.tag_inames,
        SQUARE,
        {"i": "g.0", "j": "g.0"},
    )


# --- prioritize_loops


@pytest.mark.parametrize("order", ["i, j", "j,i", ("j", "i"), ["i", "j"]])
def test_priorities_as_text_or_sequence(order: Any) -> None:
    knl = pg.prioritize_loops(SQUARE, order)
    names = [n.strip() for n in order.split(",")] if isinstance(order, str) else list(order)
    assert knl.priorities == (tuple(names),)
    assert pg.prioritize_loops(knl, order) is knl


def test_in_whatever_order_it_computes_the_same() -> None:
    knl = kernel("{ [i,j,k]: 0<=i<n and 0<=j<=i and 0<=k<3 }", "out[i,j,k] = a[i,j]*k")
    orders = ["i, j, k", "k, j, i", "j, k", "k, i", "j, i"]
    agree(knl, SIZES[:4], *map(prior, orders), steps(prior("j, i"), prior("k, j")))


def test_refused_priorities() -> None:
    _refused(UnknownIname, "no iname 'k'", pg.prioritize_loops, SQUARE, "i, k")
    _refused(InvalidArgument, "i, j, i names an iname twice", pg.prioritize_loops, SQUARE, "i,j,i")
    _refused(InvalidArgument, "inames, outermost first", pg.prioritize_loops, SQUARE, 3)


def test_a_later_priority_reorders_earlier_ones() -> None:
    knl = pg.prioritize_loops(SQUARE, "i, j")
    assert pg.prioritize_loops(knl, "j, i").priorities == (("j", "i"),)
    cube = kernel("{ [i,j,k]: 0<=i,j,k<n }", "out[i,j,k] = 1.0", loop_priority="i, j, k")
    assert pg.prioritize_loops(cube, "k, i").priorities == (("k", "j", "i"), ("k", "i"))
    shear = kernel("{ [i,j]: 1<=i<n and 0<=j<n }", "a[i,j] = a[i-1,j+1]", loop_priority="i, j")
    with pytest.raises(IllegalStep, match="the second would come first"):
        pg.prioritize_loops(shear, "j, i")


def test_priorities_that_contradict_each_other_in_a_circle() -> None:
    knl = kernel("{ [i,j,k]: 0<=i,j,k<n }", "out[i,j,k] = 1.0")
    knl = pg.prioritize_loops(pg.prioritize_loops(knl, "i, j"), "j, k")
    _refused(InvalidArgument, "in a circle: ", pg.prioritize_loops, knl, "k, i")


# --- rename_iname


def _renamed(text: str, old: str, new: str) -> isl.Set:
    domain = parse_domain(text).set
    for kind in (isl.dim_type.set, isl.dim_type.param):
        position = domain.find_dim_by_name(kind, old)
        if position >= 0:
            domain = domain.set_dim_name(kind, position, new)
    return domain


def test_domains_are_the_same_but_for_the_name() -> None:
    old = kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"], "out[i,j] = a[i]*i  {if=a[j] > i}")
    old = pg.prioritize_loops(pg.tag_inames(old, {"i": "g.0"}), "i, j")
    new = pg.rename_iname(old, "i", "row")
    assert new.inames == ("row", "j")
    for before, after in zip(old.domains, new.domains, strict=True):
        assert after.set.is_equal(_renamed(before.text, "i", "row"))
    (insn,) = new.instructions
    assert insn.within_inames == {"row", "j"}
    assert "i" not in insn.read_names
    assert dict(new.tags) == {"row": GroupTag(0)}
    assert new.priorities == (("row", "j"),)
    assert pg.rename_iname(new, "row", "i") == old


def test_renamed_it_computes_the_same() -> None:
    knl = kernel("{ [i,j,k]: 0<=i<n and 0<=k<=i and 0<=j<k }", "out[i] = sum(k, sum(j, a[j]*k)*i)")
    one_by_one = [lambda k, x=x: pg.rename_iname(k, x, "renamed") for x in "ijk"]
    agree(knl, SIZES[:4], *one_by_one)


def test_refused_names() -> None:
    _refused(UnknownIname, "no iname 'ii'.*did you mean 'i'", pg.rename_iname, LINE, "ii", "row")
    for taken in "i", "n", "a", "out", "insn":
        _refused(
            NameTaken,
            f"already has a '{taken}'.*'{taken}_0' is free",
            pg.rename_iname,
            LINE,
            "i",
            taken,
        )
    _refused(ReservedName, "'float' has a meaning", pg.rename_iname, LINE, "i", "float")
    _refused(InvalidArgument, "new_iname=7", pg.rename_iname, LINE, "i", 7)
