"""What a work item, or everyone, still needs after others have been waited for."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import PrivateAcrossLaunches
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model
from tests.oracle.cases import agree, grid, host_loops, kernel, launches, lowered, steps, tag

SIZES = ({"n": 1, "m": 1}, {"n": 2, "m": 3})
TILE = pg.TemporaryVariable("tile", np.float64, (4,), pg.AddressSpace.LOCAL)


def _total(inames: str, j: str, total: pg.TemporaryVariable) -> Kernel:
    """Return a kernel in which a loop with barriers carries a private variable."""
    inames = f"inames={inames}"
    with pg.without_proofs():
        knl = kernel(
            ["{ [g]: 0<=g<n }", "{ [t]: 0<=t<m }", "{ [i]: 0<=i<4 }", "{ [j]: 0<=j<2 }"],
            f"""
            tile[i] = a[g,t,i] {{id=load, inames=g:t:i}}
            s{j} = 0 {{id=start, dep=*load, if=t == 0, {inames}}}
            s{j} = s{j} + tile[3-i] {{id=add, dep=*load:start, {inames}}}
            out[g,i] = s{j} {{dep=*add, if=t == m - 1, {inames}}}
            """,
            TILE,
            total,
        )
        return tag(g="g.0", i="l.0")(knl)


def test_what_a_loop_with_barriers_carries_is_kept_for_each_item() -> None:
    """All that touches it is in one stretch without a barrier, and that is in the loop."""
    knl = _total("g:t:i", "", pg.TemporaryVariable("s", np.float64))
    assert "float64 s[4]" in str(lowered(knl, Model.LOOPS, np.float64))
    agree(knl, SIZES)


def test_an_array_that_a_loop_with_barriers_carries() -> None:
    knl = _total("g:t:i", "[1]", pg.TemporaryVariable("s", np.float64, (2,)))
    assert "float64 s[8]" in str(lowered(knl, Model.LOOPS, np.float64))
    agree(knl, SIZES)


def test_what_is_set_anew_in_each_iteration_is_not_kept() -> None:
    knl = kernel(
        ["{ [g]: 0<=g<n }", "{ [t]: 0<=t<m }", "{ [i]: 0<=i<4 }", "{ [k]: 0<=k<4 }"],
        """
        tile[i] = a[g,t,i] {id=load, inames=g:t:i}
        <> twice = 2*tile[3-k] {id=twice, inames=g:t:k, dep=load}
        out[g,t,k] = twice
        """,
        TILE,
    )
    knl = tag(g="g.0", i="l.0", k="l.0")(knl)
    text = str(lowered(knl, Model.LOOPS, np.float64))
    assert "const float64 twice = 2*tile[3 - k]" in text
    agree(knl, SIZES)


def _steps(if_: str) -> Kernel:
    """Return a kernel with a loop on the host, and a private variable in one of its launches."""
    knl = kernel(
        ["{ [t]: 0<=t<m }", "{ [i]: 1<=i<n-1 }", "{ [j]: 1<=j<n-1 }"],
        f"""
        b[i] = a[i-1] + a[i+1] {{id=new, inames=t:i, dep=*}}
        s = 1 + 0*j {{id=start, inames=t:j, dep=*new{if_}}}
        s = s + b[j] {{id=add, inames=t:j, dep=*new:start}}
        a[j] = s {{id=old, inames=t:j, dep=*add}}
        """,
        *(pg.GlobalArg(name, shape="n") for name in "ab"),
        pg.TemporaryVariable("s", np.float64),
    )
    return steps(grid("i", 4), grid("j", 4))(knl)


def test_a_private_variable_that_a_loop_on_the_host_carries() -> None:
    with pg.without_proofs():
        knl = _steps(", if=t == 0")
    for model in Model:
        with pytest.raises(PrivateAcrossLaunches, match="'s' is private, but its value is needed"):
            lowered(knl, model)


def test_a_private_variable_that_a_loop_on_the_host_does_not_carry() -> None:
    program = lowered(_steps(""), Model.GRID)
    assert [loop.iname for loop in host_loops(program)] == ["t"]
    assert len(launches(program)) == 2


def _copies(*, may_alias: bool) -> Kernel:
    """Return a kernel in which one array is written, and then another is read, all over."""
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"],
        "b[i] = c[i] {id=write}\nd[j] = a[n-1-j] {dep=write}",
        pg.GlobalArg("a", shape="n", may_alias=may_alias),
        pg.GlobalArg("b", shape="n"),
    )
    with pg.without_proofs():  # of d, too, it is not known that it does not overlap a
        return steps(grid("i", 4), grid("j", 4))(knl)


def test_everyone_waits_for_what_may_overlap() -> None:
    assert len(launches(lowered(_copies(may_alias=True)))) == 2


def test_nobody_waits_for_what_does_not_overlap() -> None:
    assert len(launches(lowered(_copies(may_alias=False)))) == 1
