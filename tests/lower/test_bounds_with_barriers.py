"""Loops that hold barriers, or come after them, with bounds that the kernel computes."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import BarrierNotPossible
from tests.oracle.compare import assert_same, make_arguments

BARRIER = "barrier(CLK_LOCAL_MEM_FENCE);"


def _rows(count: str, *, space: pg.AddressSpace = pg.AddressSpace.PRIVATE) -> pg.Kernel:
    """Return a kernel in which a group uses a tile `count` times."""
    knl = pg.make_kernel(
        ["{ [g]: 0<=g<n }", "{ [t]: 0<=t<count }", "{ [i]: 0<=i<4 }", "{ [j]: 0<=j<4 }"],
        f"""
        count = {count} {{id=count}}
        tile[i] = a[g,i] + t {{id=load, inames=g:t:i}}
        out[g,t,j] = tile[3-j] {{inames=g:t:j, dep=load}}
        """,
        [
            pg.TemporaryVariable("count", np.int32, address_space=space),
            pg.TemporaryVariable("tile", shape=(4,), address_space=pg.AddressSpace.LOCAL),
            pg.GlobalArg("a", np.float64),
            pg.GlobalArg("counts", np.int32),
            pg.GlobalArg("out", shape="n, 5, 4"),
            "...",
        ],
    )
    return pg.tag_inames(knl, {"g": "g.0", "i": "l.0", "j": "l.0"})


@pytest.mark.parametrize("space", [pg.AddressSpace.PRIVATE, pg.AddressSpace.LOCAL])
def test_bound_of_the_group(space: pg.AddressSpace) -> None:
    knl = _rows("counts[g]", space=space)
    counts = np.array([2, 0, 5], np.int32)
    assert_same(knl, make_arguments(knl, {"n": 3}, counts=counts))


def test_loops_over_work_items_end_at_a_bound() -> None:
    # Each work item has its own count; any of them will do.
    lines = [line.strip() for line in str(pg.generate_code(_rows("counts[g]"), "c")).splitlines()]
    at = lines.index("for (int t = 0; t < count[0]; ++t) {")
    assert lines.index("count[i] = counts[g];") < at
    assert lines[at + 1 : at + 3] == ["#pragma omp simd", "for (int i = 0; i < 4; ++i)"]


@pytest.mark.parametrize("count", ["counts[i]", "mine + 1"])
def test_bound_of_the_work_item(count: str) -> None:
    knl = pg.make_kernel(
        ["{ [g]: 0<=g<n }", "{ [t]: 0<=t<count }", "{ [i]: 0<=i<4 }"],
        f"""
        <> mine = counts[i]
        <> count = {count}
        tile[i] = a[g,i] + t {{id=load, inames=g:t:i}}
        out[g,t,i] = tile[3-i] {{inames=g:t:i, dep=load}}
        """,
        [
            pg.TemporaryVariable("tile", shape=(4,), address_space=pg.AddressSpace.LOCAL),
            pg.GlobalArg("a", np.float64),
            pg.GlobalArg("counts", np.int32),
            pg.GlobalArg("out", shape="n, 5, 4"),
            "...",
        ],
    )
    with pg.without_proofs():  # tile[3-i] is read before it is written, as it stands
        knl = pg.tag_inames(knl, {"g": "g.0", "i": "l.0"})
    with pytest.raises(BarrierNotPossible, match=r"'t'.*'count'"):
        pg.generate_code(knl, "opencl")


def test_bound_of_the_work_item_without_barrier() -> None:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<4 }", "{ [t]: 0<=t<count }"],
        "<> count = counts[i]\nout[i,t] = t",
        [pg.GlobalArg("counts", np.int32), pg.GlobalArg("out", shape=(4, 5))],
    )
    knl = pg.tag_inames(knl, {"i": "l.0"})
    counts = np.array([2, 0, 5, 1], np.int32)
    assert_same(knl, make_arguments(knl, {}, counts=counts))


def test_barrier_before_a_bound_is_read() -> None:
    knl = pg.make_kernel(
        ["{ [g]: 0<=g<n }", "{ [t]: 0<=t<count }", "{ [j]: 0<=j<4 }"],
        "count = counts[g] {id=count, inames=g}\nout[g,t,j] = t {inames=g:t:j}",
        [
            pg.TemporaryVariable("count", np.int32, address_space=pg.AddressSpace.LOCAL),
            pg.GlobalArg("counts", np.int32),
            pg.GlobalArg("out", shape="n, 5, 4"),
            "...",
        ],
    )
    knl = pg.tag_inames(knl, {"g": "g.0", "j": "l.0"})
    lines = [line.strip() for line in str(pg.generate_code(knl, "opencl")).splitlines()]
    at = lines.index(BARRIER)
    assert lines[at - 1] == "count = counts[g];"
    assert lines[at + 1] == "for (int t = 0; t < count; ++t)"
