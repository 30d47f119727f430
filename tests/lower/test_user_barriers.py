"""Barriers and no-ops that a kernel asks for."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import MalformedInstruction, PrivateAcrossLaunches
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model
from tests.oracle.cases import launches, lowered

LINES = """t[l] = a[g,l]        {id=load, inames=g:l}
... lbarrier         {id=once, inames=g, dep=load}
... lbarrier         {id=twice, inames=g, dep=once}
... nop              {id=ready, inames=g, dep=twice}
b[g,m] = t[15-m]     {id=store, inames=g:m, dep=ready}"""
LOCAL = pg.TemporaryVariable("t", shape="16", address_space=pg.AddressSpace.LOCAL)


def _kernel() -> Kernel:
    knl = pg.make_kernel("{ [g,l,m]: 0<=g<n and 0<=l,m<16 }", LINES, [LOCAL, "..."])
    return pg.tag_inames(knl, {"g": "g.0", "l": "l.0", "m": "l.0"})


def test_the_text_is_read_back() -> None:
    knl = _kernel()
    assert "[g] ... lbarrier  {id=once, dep=load}" in str(knl)
    assert pg.parse_kernel(str(knl)) == knl


@pytest.mark.parametrize("device", ["c", "opencl"])
def test_results(device: str) -> None:
    a = np.arange(48, dtype=np.float32).reshape(3, 16)
    _, (b,) = _kernel().executor(device)(a=a)
    np.testing.assert_array_equal(b, a[:, ::-1])


def test_both_are_in_the_code_and_one_is_not_needed() -> None:
    knl = pg.add_dtypes(_kernel(), {"a": "float32"})
    assert str(pg.generate_code(knl, "opencl")).count("barrier(") == 2
    assert pg.unneeded_barriers(knl) == ("once",)


def test_what_nobody_knows_is_refused() -> None:
    with pytest.raises(MalformedInstruction, match="'wbarrier' is nothing that stands alone"):
        pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = 0 {id=a}\n... wbarrier {dep=a}")


def test_unneeded_ones_beside_reductions_with_sizes_in_subscripts() -> None:
    lines = LINES.replace("a[g,l]", "sum(k, a[g, 16*n - 1 - k])")
    data = [LOCAL, pg.GlobalArg("a", shape="n, 16*n"), "..."]
    domains = ["{ [g,l,m]: 0<=g<n and 0<=l,m<16 }", "{ [k]: 0<=k<16 }"]
    knl = pg.make_kernel(domains, lines, data)
    knl = pg.tag_inames(knl, {"g": "g.0", "l": "l.0", "m": "l.0"})
    assert pg.unneeded_barriers(knl) == ("once",)


ROWS = """<> t = a[g,l]          {id=t}
m[g,l] = 2*t           {id=m, dep=t}
<> u = t + m[g,l]      {id=u, dep=m}
b[g,l] = u*t           {id=b, dep=u}
... gbarrier           {id=over, inames=, dep=b}
c[k,h] = 2*b[k,h]      {id=c, inames=k:h, dep=over}"""


def test_what_is_behind_a_barrier_gives_no_axes_to_what_is_ahead() -> None:
    """No group along g.1 is in the first launch, so that nobody has to wait for 'm' there."""
    knl = pg.make_kernel("{ [g,l,h,k]: 0<=g,k<n and 0<=l,h<16 }", ROWS)
    knl = pg.tag_inames(knl, {"g": "g.0", "l": "l.0", "k": "g.0", "h": "g.1"})
    knl = pg.add_dtypes(knl, {"a": "float64"})
    assert len(launches(lowered(knl, Model.GRID))) == 2
    a = np.arange(48.0).reshape(3, 16)
    for device in ("c", "opencl"):
        _, (b, c, m) = knl.executor(device)(a=a)
        np.testing.assert_array_equal(m, 2 * a)
        np.testing.assert_array_equal(b, 3 * a * a)
        np.testing.assert_array_equal(c, 6 * a * a)


def test_what_no_barrier_keeps_apart_has_all_axes() -> None:
    """Groups along g.1 execute 'u', too, after the first of them has written 'm'."""
    lines = ROWS.replace("... gbarrier           {id=over, inames=, dep=b}\n", "")
    lines = lines.replace("2*b[k,h]", "2*a[k,h]").replace(", dep=over", "")
    knl = pg.make_kernel("{ [g,l,h,k]: 0<=g,k<n and 0<=l,h<16 }", lines)
    knl = pg.tag_inames(knl, {"g": "g.0", "l": "l.0", "k": "g.0", "h": "g.1"})
    with pytest.raises(PrivateAcrossLaunches, match="'t' is private"):
        lowered(pg.add_dtypes(knl, {"a": "float64"}), Model.GRID)
