"""What is easily lost between the work items of a group, and on the way to the text."""

from __future__ import annotations

import numpy as np

import polygen as pg
from tests.oracle.compare import assert_same, make_arguments

BARRIER = "barrier(CLK_LOCAL_MEM_FENCE);"


def _lines(knl: pg.Kernel, target: str) -> list[str]:
    return [line.strip() for line in str(pg.generate_code(knl, target)).splitlines()]


def test_condition_on_what_a_work_item_keeps() -> None:
    knl = pg.make_kernel(
        ["{ [g]: 0<=g<n }", "{ [i]: 0<=i<4 }"],
        """
        <> mine = a[g,i] > 0 {id=mine, inames=g:i}
        tile[i] = a[g,i] {id=load, inames=g:i}
        out[g,i] = tile[i//2] {inames=g:i, dep=load:mine, if=mine}
        """,
        [
            pg.TemporaryVariable("tile", shape=(4,), address_space=pg.AddressSpace.LOCAL),
            pg.GlobalArg("a", np.float64),
            "...",
        ],
    )
    knl = pg.tag_inames(knl, {"g": "g.0", "i": "l.0"})
    assert "if (mine[i])" in _lines(knl, "c")
    assert_same(knl, make_arguments(knl, {"n": 3}))


def test_all_read_what_one_wrote_for_all() -> None:
    # Both instructions lack the axis of the work items, but only the first has an owner.
    knl = pg.make_kernel(
        ["{ [g]: 0<=g<n }", "{ [i]: 0<=i<4 }"],
        """
        shared = a[g] {id=write, inames=g}
        <> own = 2*shared {id=read, inames=g}
        out[g,i] = own + i
        """,
        [
            pg.TemporaryVariable("shared", np.float64, address_space=pg.AddressSpace.LOCAL),
            pg.GlobalArg("a", np.float64),
            "...",
        ],
    )
    knl = pg.tag_inames(knl, {"g": "g.0", "i": "l.0"})
    lines = _lines(knl, "opencl")
    assert lines.count(BARRIER) == 1
    assert lines.index("shared = a[g];") < lines.index(BARRIER)
    assert lines.index(BARRIER) < lines.index("double const own = 2.0 * shared;")


def test_one_work_item_does_not_wait_for_itself() -> None:
    knl = pg.make_kernel(
        ["{ [g]: 0<=g<n }", "{ [i]: 0<=i<4 }"],
        """
        first = a[g] {id=first, inames=g}
        second = 2*first {id=second, inames=g}
        out[g,i] = second + i
        """,
        [
            pg.TemporaryVariable("first", np.float64, address_space=pg.AddressSpace.LOCAL),
            pg.TemporaryVariable("second", np.float64, address_space=pg.AddressSpace.LOCAL),
            pg.GlobalArg("a", np.float64),
            "...",
        ],
    )
    knl = pg.tag_inames(knl, {"g": "g.0", "i": "l.0"})
    lines = _lines(knl, "opencl")
    assert lines.count(BARRIER) == 1
    assert lines.index("second = 2.0 * first;") < lines.index(BARRIER)


def test_no_guard_where_an_axis_begins() -> None:
    # The axis is longer than i is, but i begins where it does.
    knl = pg.make_kernel(
        ["{ [i]: 1<=i<4 }", "{ [j]: 0<=j<8 }"],
        "x[i] = 1\ny[j] = 2",
        [pg.GlobalArg("x", np.float32, (4,)), pg.GlobalArg("y", np.float32, (8,))],
    )
    knl = pg.tag_inames(knl, {"i": "l.0", "j": "l.0"})
    assert "if (i <= 3)" in _lines(knl, "opencl")
    assert_same(knl, make_arguments(knl, {}))


def test_division_of_what_a_loop_on_the_host_counts() -> None:
    knl = pg.make_kernel(
        "{ [t,i,j]: 0<=t<steps and 0<=i<4 and 0<=j<4 }",
        """
        b[t//2,i] = a[3-i] {id=new, inames=t:i, dep=*}
        a[j] = b[t//2,3-j] {inames=t:j, dep=new}
        """,
        [pg.GlobalArg("a", np.float32, (4,)), pg.GlobalArg("b", np.float32, (9, 4)), "..."],
        assumptions="steps <= 18",
    )
    knl = pg.tag_inames(knl, {"i": "g.0", "j": "g.0"})
    assert "b[4 * (t / 2) + i] = a[3 - i];" in _lines(knl, "opencl")


def test_a_loop_on_the_host_may_begin_anywhere() -> None:
    knl = pg.make_kernel(
        "{ [t,i,j]: first<=t<last and 0<=i<4 and 0<=j<4 }",
        """
        b[i] = a[3-i] + t {id=new, inames=t:i, dep=*}
        a[j] = b[3-j] + t%3 {inames=t:j, dep=new}
        """,
        [pg.GlobalArg("a", np.int32, (4,)), pg.GlobalArg("b", np.int32, (4,)), "..."],
    )
    knl = pg.tag_inames(knl, {"i": "g.0", "j": "g.0"})
    assert_same(knl, make_arguments(knl, {"first": -4, "last": 3}))


def test_one_barrier_serves_all_that_come_after() -> None:
    knl = pg.make_kernel(
        "{ [g,i,j,k]: 0<=g<n and 0<=i,j,k<4 }",
        """
        tile[i] = a[g,i] {id=load, inames=g:i}
        x[g,j] = tile[3-j] {id=x, inames=g:j, dep=load}
        y[g,k] = tile[k//2] {inames=g:k, dep=load:x}
        """,
        [
            pg.TemporaryVariable("tile", shape=(4,), address_space=pg.AddressSpace.LOCAL),
            pg.GlobalArg("a", np.float64),
            "...",
        ],
    )
    knl = pg.tag_inames(knl, {"g": "g.0", "i": "l.0", "j": "l.0", "k": "l.0"})
    assert _lines(knl, "opencl").count(BARRIER) == 1
