"""Outermost loops as kernels of their own."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.analysis.dataflow.single_nests import nest_in_loops, single_nest, stands_as_before
from polygen.analysis.order.loop_tree import loops_outside
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag


def _nests(*texts: str, kernel_data: tuple[object, ...] = ("...",)) -> Kernel:
    return pg.make_kernel(
        [f"{{ [{i}]: 0<={i}<n }}" for i in "ijkl"],
        "\n".join(texts),
        kernel_data,
        seq_dependencies=True,
        silenced_warnings=("AmbiguousNesting",),
    )


def _part(knl: Kernel, iname: str) -> Kernel:
    part = single_nest(knl, iname)
    assert part is not None
    return part


def test_what_is_in_the_loop_and_no_more() -> None:
    knl = _nests("a[i] = 1 {id=s}", "b[j,k] = a[j] {id=t}", "c[j] = b[j,0] {id=r,inames=j}")
    first, second = _part(knl, "i"), _part(knl, "k")
    assert [insn.id for insn in first.instructions] == ["s"]
    assert [insn.id for insn in second.instructions] == ["t", "r"]
    assert set(second.inames) == {"j", "k"}
    assert _part(knl, "j") is second
    depends = {insn.id: insn.depends_on for insn in second.instructions}
    assert depends == {"t": frozenset(), "r": frozenset({"t"})}


def test_priorities_and_tags_of_its_loops() -> None:
    knl = _nests("a[i,j] = 1", "b[k,l] = 1")
    knl = pg.prioritize_loops(pg.prioritize_loops(knl, "i, j"), "l, k")
    knl = pg.tag_inames(knl, {"j": "unr", "k": "for"})
    part = _part(knl, "k")
    assert part.priorities == (("l", "k"),)
    assert {iname: str(tag) for iname, tag in part.tags.items()} == {"k": "for"}


def test_one_nest_of_several_in_a_loop() -> None:
    knl = _nests("a[i,j] = 1 {id=s}", "b[i,k] = a[i,k] {id=t}", "c[i,k,l] = b[i,l] {id=r}")
    inner, depth = nest_in_loops(knl, "k") or (knl, 0)
    assert [insn.id for insn in inner.instructions] == ["t", "r"]
    assert set(inner.inames) == {"i", "k", "l"}
    assert depth == 1
    deepest, depth = nest_in_loops(knl, "l") or (knl, 0)
    assert [insn.id for insn in deepest.instructions] == ["r"]
    assert depth == 2
    assert loops_outside(deepest)["l"] == {"i", "k"}
    assert nest_in_loops(knl, "i") is None  # the outermost


def test_loops_with_the_same_instructions_are_one_nest() -> None:
    knl = _nests("a[i,j] = 1 {id=s}", "b[i,k,l] = 1 {id=t}")
    found = [nest_in_loops(knl, iname) for iname in "kl"]
    assert [depth for _, depth in filter(None, found)] == [1, 1]
    assert nest_in_loops(_nests("a[i,j] = 1"), "j") is None


def test_temporaries_that_others_use_are_arguments() -> None:
    between = pg.TemporaryVariable("t", shape="n", address_space=pg.AddressSpace.GLOBAL)
    own = pg.TemporaryVariable("u", address_space=pg.AddressSpace.PRIVATE)
    texts = ("t[i] = b[i]", "u = t[j] {inames=j}", "a[j] = u {inames=j}")
    part = _part(_nests(*texts, kernel_data=(between, own, "...")), "j")
    assert {a.name for a in part.arguments} >= {"a", "t"}
    assert [t.name for t in part.temporaries] == ["u"]


def test_loops_that_hold_nothing_are_no_nests() -> None:
    knl = _nests("a[i] = 1", "b[j] = sum(k, c[k])")
    assert [single_nest(knl, iname) for iname in "kl"] == [None, None]
    assert set(_part(knl, "j").inames) == {"j", "k"}


def test_parts_of_a_nest_have_to_stand_where_it_stood() -> None:
    """Without its loop, s is before r no more: only t is."""
    domains = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"]
    for behind_s, stands in (("t, dep=*s", True), ("t, dep=*", False)):
        text = f"a[i] = 1 {{id=s,dep=*}}\nb[i] = 1 {{id={behind_s}}}\na[j] = 2 {{id=r,dep=*t}}"
        knl = pg.make_kernel(domains, text)
        part = _part(knl, "i")
        assert stands_as_before(knl, part)
        assert stands_as_before(knl, part.copy(tags={"i": GroupTag(0)})) == stands


def _overlapping() -> Kernel:
    return _nests("a[i] = 1", "b[j] = 1", kernel_data=(pg.GlobalArg("a", may_alias=True), "..."))


def _shared() -> Kernel:
    scalar = pg.TemporaryVariable("t", address_space=pg.AddressSpace.PRIVATE)
    return _nests("t = 1 {inames=i}", "b[j] = t {inames=j}", kernel_data=(scalar, "..."))


def _on_an_axis() -> Kernel:
    return pg.tag_inames(_nests("a[i,j] = 1", "b[k] = 1"), {"j": "g.0"})


def _vouched() -> Kernel:
    options = {"unsafe": True}
    return pg.reverse(_nests("a[i] = 1", "b[j] = 1"), "i", **options)


@pytest.mark.parametrize("make", [_overlapping, _shared, _on_an_axis, _vouched])
def test_what_spans_nests(make: object) -> None:
    assert callable(make)
    assert single_nest(make(), "i") is None
