"""Inames tagged ``l.auto``: which axis of the group each gets, and what becomes of the rest."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import MalformedTag, TagConflict
from polygen.ir.kernel import Kernel
from polygen.ir.tags import AutoLocalTag, parse_tag
from polygen.lower.automatic import assign_axes
from tests.oracle.cases import agree_in_arrays, guards, kernel, loops, lowered, same
from tests.oracle.compare import assert_same, make_arguments

LOCAL = pg.AddressSpace.LOCAL


def tile(
    rows: int = 16,
    columns: int = 16,
    group: dict[str, int] | None = None,
    subscripts: str = "16*g + p, q",
    **data: Any,
) -> Kernel:
    """Return a kernel whose group copies ``rows`` x ``columns`` elements and then uses some."""
    sizes = {"l.1": 16, "l.0": 16} if group is None else group
    names = {tag: f"x{position}" for position, tag in enumerate(sizes)}
    domains = ["{ [g]: 0<=g<n }", f"{{ [p]: 0<=p<{rows} }}", f"{{ [q]: 0<=q<{columns} }}"]
    domains += [f"{{ [{names[t]}]: 0<={names[t]}<{size} }}" for t, size in sizes.items()]
    where = [f"{name} % {min(rows, columns)}" for name in names.values()] + ["0", "0"]
    used = ", ".join(["g", *names.values()])
    knl = kernel(
        domains,
        f"""
        t[p, q] = a[{subscripts}]  {{id=load, inames=g:p:q}}
        out[{used}] = t[{where[0]}, {where[1]}]  {{id=use, dep=load}}
        """,
        pg.TemporaryVariable("t", shape=(rows, columns), address_space=LOCAL),
        pg.GlobalArg("a", np.float32, shape="16*n + 64, 64", **data),
    )
    return pg.tag_inames(
        knl, {"g": "g.0", "p": "l.auto", "q": "l.auto", **{names[t]: t for t in sizes}}
    )


def _tags(knl: Kernel) -> dict[str, str]:
    assigned = assign_axes(knl)
    return {i: str(assigned.tags.get(i)) for i in assigned.inames if i[0] in "pq"}


def test_the_tag_is_text() -> None:
    assert parse_tag("l.auto") == AutoLocalTag()
    assert str(AutoLocalTag()) == "l.auto"
    knl = tile()
    assert "p: l.auto\nq: l.auto\n" in str(knl)
    assert pg.parse_kernel(str(knl)) == knl
    with pytest.raises(MalformedTag, match=r"'l\.aut' is no iname tag(?s:.*)l\.auto"):
        parse_tag("l.aut")


def test_what_is_loaded_side_by_side_is_on_axis_0() -> None:
    assert _tags(tile()) == {"p": "l.1", "q": "l.0"}
    assert _tags(tile(subscripts="16*g + q, p")) == {"p": "l.0", "q": "l.1"}
    assert _tags(tile(strides="1, 16*n + 64")) == {"p": "l.0", "q": "l.1"}
    # a stride of 2 is more than one of 1
    assert _tags(tile(subscripts="g, 2*q + p")) == {"p": "l.0", "q": "l.1"}


def test_what_loads_nothing_goes_by_what_it_stores() -> None:
    knl = kernel(
        ["{ [g]: 0<=g<n }", "{ [p,q]: 0<=p,q<4 }", "{ [x,y]: 0<=x,y<4 }"],
        "t[q, p] = 4*p + q  {id=load, inames=g:p:q}\nout[g, x, y] = t[x, y]  {dep=load}",
        pg.TemporaryVariable("t", shape=(4, 4), address_space=LOCAL),
    )
    tags = {"g": "g.0", "p": "l.auto", "q": "l.auto", "x": "l.1", "y": "l.0"}
    assert _tags(pg.tag_inames(knl, tags)) == {"p": "l.0", "q": "l.1"}


def test_a_longer_iname_is_split() -> None:
    knl = tile(18, 20)
    assert _tags(knl) == {"p_outer": "None", "p_inner": "l.1", "q_outer": "None", "q_inner": "l.0"}
    program = lowered(knl)
    assert [(loop.lower, loop.upper) for loop in loops(program)] == [(0, 2), (0, 2)]
    text = str(pg.generate_code(pg.add_dtypes(knl, {"out": "float32"}), "opencl"))
    assert "if (16 * p_outer + p_inner <= 17)" in text
    assert "if (16 * q_outer + q_inner <= 19)" in text
    for n in (0, 1, 3):
        assert_same(knl, make_arguments(knl, {"n": n}))


def test_multiples_of_the_group_need_no_guards() -> None:
    knl = tile(16, 48)
    assert _tags(knl) == {"p": "l.1", "q_outer": "None", "q_inner": "l.0"}
    assert guards(lowered(knl)) == []
    assert_same(knl, make_arguments(knl, {"n": 2}))


def test_a_shorter_iname_leaves_work_items_idle() -> None:
    knl = tile(4, 16, {"l.0": 32})
    assert _tags(knl) == {"p": "for", "q": "l.0"}
    assert "(q <= 15)" in str(pg.generate_code(knl, "opencl"))
    small = tile(16, 8, {"l.1": 2, "l.0": 16})
    assert _tags(small) == {"p_outer": "None", "p_inner": "l.1", "q": "l.0"}
    assert_same(small, make_arguments(small, {"n": 2}))


def test_a_group_of_one_axis_leaves_loops() -> None:
    knl = tile(8, 20, {"l.0": 8})
    assert _tags(knl) == {"p": "for", "q_outer": "None", "q_inner": "l.0"}
    assigned = assign_axes(knl)
    assert assigned.priorities == (("p", "q_outer"),)
    # the group may have axis 1 only
    assert _tags(tile(8, 20, {"l.1": 8})) == {"p": "for", "q_outer": "None", "q_inner": "l.1"}


def test_without_a_group_there_are_loops() -> None:
    knl = tile(3, 4, {})
    assert _tags(knl) == {"p": "for", "q": "for"}
    assert_same(knl, make_arguments(knl, {"n": 2}))


@pytest.mark.parametrize("priorities", [("q", "p"), ("q", "g", "p")])
def test_loops_are_nested_as_was_asked_for(priorities: tuple[str, ...]) -> None:
    knl = kernel(
        ["{ [g]: 0<=g<4 }", "{ [p,q]: 0<=p,q<4 }"],
        "t[p, q] = a[p, q]  {id=load, inames=p:q}\nout[g] = t[g, g]  {dep=load}",
        pg.TemporaryVariable("t", shape=(4, 4), address_space=LOCAL),
    )
    knl = pg.tag_inames(knl, {"p": "l.auto", "q": "l.auto"})
    assert [loop.iname for loop in loops(lowered(knl))] == ["p", "q", "g"]
    knl = pg.prioritize_loops(knl, priorities)
    assert [loop.iname for loop in loops(lowered(knl))] == ["q", "p", "g"]
    assert_same(knl, make_arguments(knl, {}))


def test_an_axis_that_the_instruction_has_is_not_chosen() -> None:
    knl = kernel(
        ["{ [g]: 0<=g<n }", "{ [p]: 0<=p<4 }", "{ [x,y]: 0<=x,y<4 }"],
        "t[x, p] = a[g, x, p]  {id=load, inames=g:p:x}\nout[g, x, y] = t[x, y]  {dep=load}",
        pg.TemporaryVariable("t", shape=(4, 4), address_space=LOCAL),
    )
    knl = pg.tag_inames(knl, {"g": "g.0", "p": "l.auto", "x": "l.0", "y": "l.1"})
    assert _tags(knl) == {"p": "l.1"}
    assert_same(knl, make_arguments(knl, {"n": 2}))


def test_other_groups_do_not_matter() -> None:
    knl = kernel(
        ["{ [g]: 0<=g<n }", "{ [p]: 0<=p<8 }", "{ [x]: 0<=x<4 }", "{ [h,y]: 0<=h<n and 0<=y<64 }"],
        """
        t[p] = a[g, p]  {id=load, inames=g:p}
        out[g, x] = t[x] + t[x + 4]  {dep=load}
        other[h, y] = 1  {id=other}
        """,
        pg.TemporaryVariable("t", shape=(8,), address_space=LOCAL),
    )
    tags = {"g": "g.0", "p": "l.auto", "x": "l.0", "h": "g.0", "y": "l.0"}
    assert _tags(pg.tag_inames(knl, tags)) == {"p_outer": "None", "p_inner": "l.0"}


PRIVATE = "within 'p', tagged l.auto, and uses 't', which each work item has for itself"


def test_what_each_work_item_has_for_itself_is_refused() -> None:
    knl = kernel(["{ [g]: 0<=g<n }", "{ [p]: 0<=p<8 }"], "<> t = a[g, p]\nout[g, p] = t")
    with pytest.raises(TagConflict, match=re.escape(PRIVATE)):
        pg.tag_inames(knl, {"g": "g.0", "p": "l.auto"})


def test_what_other_work_items_have_for_themselves_is_refused() -> None:
    knl = kernel(
        ["{ [g]: 0<=g<n }", "{ [x]: 0<=x<8 }", "{ [p]: 0<=p<8 }"],
        """
        t = a[g, x]        {id=t, inames=g:x}
        s[p] = t           {id=s, inames=g:p:x}
        """,
        pg.TemporaryVariable("t"),
        pg.TemporaryVariable("s", shape=(8,), address_space=LOCAL),
    )
    with pg.without_proofs(), pytest.raises(TagConflict, match=re.escape(PRIVATE)):
        pg.tag_inames(knl, {"g": "g.0", "p": "l.auto", "x": "l.0"})


def test_what_all_work_items_have_alike_may_be_read() -> None:
    knl = kernel(
        ["{ [g]: 0<=g<n }", "{ [x]: 0<=x<8 }", "{ [p]: 0<=p<8 }"],
        """
        <> u = b[g]        {id=u}
        t[p] = u*a[g, p]   {id=t, inames=g:p}
        out[g, x] = t[x]   {dep=t}
        """,
        pg.TemporaryVariable("t", shape=(8,), address_space=LOCAL),
    )
    knl = pg.tag_inames(knl, {"g": "g.0", "p": "l.auto", "x": "l.0"})
    assert _tags(knl) == {"p": "l.0"}
    assert_same(knl, make_arguments(knl, {"n": 2}))


def test_one_that_is_in_no_subscript_of_what_is_written() -> None:
    knl = kernel(["{ [g]: 0<=g<n }", "{ [p]: 0<=p<8 }"], "out[g] = sum(p, a[g, p])")
    knl = pg.tag_inames(knl, {"g": "g.0", "p": "l.auto"})
    assert _tags(knl) == {"p": "for"}
    assert_same(knl, make_arguments(knl, {"n": 2}))


@pytest.mark.parametrize("target", ["c", "opencl"])
@pytest.mark.parametrize("n", [0, 1, 5])
def test_it_runs(target: str, n: int) -> None:
    knl = tile(18, 20)
    a = np.random.default_rng(n).random((16 * n + 64, 64), np.float32)
    _, (out,) = knl.executor(target)(a=a, n=n)
    expected = np.stack([a[16 * g : 16 * g + 16, :16] for g in range(n)]) if n else out
    np.testing.assert_array_equal(out, expected)
    assert out.shape == (n, 16, 16)


@pytest.mark.parametrize(
    ("rows", "columns", "items", "expected"),
    [
        # Of a box of (64, 3), 3 of 64 work items would have something to do.
        (64, 3, 64, {"p": "l.0", "q": "for"}),
        (3, 64, 64, {"p": "for", "q": "l.0"}),
        (64, 8, 64, {"p": "l.0", "q": "for"}),
        # More than an eighth of them take neighbours.
        (64, 9, 64, {"p": "for", "q": "l.0"}),
        (16, 16, 16, {"p": "for", "q": "l.0"}),
        (1, 1, 16, {"p": "for", "q": "l.0"}),
    ],
)
def test_few_neighbours_leave_no_axis_idle(
    rows: int, columns: int, items: int, expected: dict[str, str]
) -> None:
    knl = tile(rows, columns, group={"l.0": items})
    found = _tags(knl)
    assert {name: found[name] for name in expected} == expected
    agree_in_arrays(knl, [{"n": 0}, {"n": 2}], same)


def test_where_all_get_an_axis_neighbours_come_first() -> None:
    assert _tags(tile(64, 3, group={"l.1": 8, "l.0": 16}))["q"] == "l.0"
