"""Pointers to arrays in global memory that work items of a group tell each other things through."""

from __future__ import annotations

import re

import numpy as np
import pytest

import polygen as pg
from tests.oracle.cases import kernel


def exchanging() -> pg.Kernel:
    """Return a kernel in which the first work item of a group says something to all."""
    knl = kernel(
        ["{ [g]: 0<=g<n }", "{ [i]: 0<=i<64 }"],
        """
        t[g] = 2*a[g]          {id=tell, inames=g}
        b[g,i] = t[g] + i      {id=hear, inames=g:i, dep=tell}
        """,
        pg.TemporaryVariable("t", np.float32, "n", pg.AddressSpace.GLOBAL),
        pg.GlobalArg("a, b", np.float32),
    )
    return pg.tag_inames(knl, {"g": "g.0", "i": "l.0"})


@pytest.mark.parametrize("target", ["cuda", "opencl"])
def test_what_a_barrier_may_change_is_reached_in_more_than_one_way(target: str) -> None:
    """Compilers load what a restricted pointer leads to ahead of a barrier: nobody else stores."""
    source = pg.generate_code(exchanging(), target).source
    pointers = re.findall(r"\*((?:__)?restrict(?:__)? )?(\w+)[,)\n]", source)
    assert {name for how, name in pointers if how} == {"a", "b"}
    assert {name for how, name in pointers if not how} == {"t"}


def test_others_are_restricted() -> None:
    plain = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = a[i]")
    plain = pg.tag_inames(pg.add_dtypes(plain, {"a": np.float32}), {"i": "g.0"})
    assert pg.generate_code(plain, "cuda").source.count("__restrict__") == 2


def test_it_runs() -> None:
    a = np.arange(5, dtype=np.float32)
    wanted = 2 * a[:, None] + np.arange(64, dtype=np.float32)
    for target in "c", "opencl":
        (b,) = exchanging().executor(target)(a=a)[1]
        np.testing.assert_array_equal(b, wanted)
