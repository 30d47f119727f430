"""Grids of launches: what comes to nothing."""

from __future__ import annotations

import numpy as np

import polygen as pg
from tests.oracle.compare import assert_same, make_arguments


def test_no_group_is_empty() -> None:
    # OpenCL's compilers refuse reqd_work_group_size(0, 1, 1).
    knl = pg.make_kernel("{ [i]: 0<=i<0 }", "out[i] = 1", [pg.GlobalArg("out", np.int32, (5,))])
    knl = pg.tag_inames(knl, {"i": "l.0"})
    (launch,) = pg.generate_code(knl, "opencl").launches
    assert launch.local_size == (1,)
    assert_same(knl, make_arguments(knl, {}))


def test_a_grid_without_groups_stays_empty() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<0 }", "out[i] = 1", [pg.GlobalArg("out", np.int32, (5,))])
    knl = pg.tag_inames(knl, {"i": "g.0"})
    (launch,) = pg.generate_code(knl, "opencl").launches
    assert launch.group_counts == (0,)


def test_a_group_of_one_waits_for_nobody() -> None:
    # The second launch has groups of several work items; the first, with its sum, has not.
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<4 }", "{ [j]: 0<=j<c }", "{ [k]: 0<=k<c }", "{ [p]: 0<=p<4 }"],
        """
        <> c = count[i] {id=c}
        o[i,j] = a[i,j] {id=o}
        s[i] = sum(k, o[i,k]) {id=s, dep=o}
        t[p] = s[3-p] {dep=s}
        """,
        [
            pg.GlobalArg("count", np.int32, (4,)),
            pg.GlobalArg("a", np.float64, (4, 5)),
            pg.GlobalArg("o", np.float64, (4, 5)),
            "...",
        ],
    )
    knl = pg.tag_inames(knl, {"i": "g.0", "p": "l.0"})
    assert "barrier(" not in str(pg.generate_code(knl, "opencl"))
    assert str(pg.generate_code(knl, "c")).count(" c = ") == 1
    count = np.array([2, 0, 5, 1], np.int32)
    assert_same(knl, make_arguments(knl, {}, count=count))
