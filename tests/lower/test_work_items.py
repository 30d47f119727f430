"""On a grid, and as loops, with work items that wait for each other: no race, the same result."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model
from polygen.lower.program import Declare
from tests.oracle.cases import (
    SIZES,
    Step,
    agree,
    grid,
    kernel,
    launches,
    lowered,
    split,
    steps,
    tag,
)

LOCAL, GLOBAL = pg.AddressSpace.LOCAL, pg.AddressSpace.GLOBAL
BOTH = steps(grid("i", 4), grid("j", 4))


def _temporary(name: str, *shape: int, space: pg.AddressSpace = LOCAL) -> pg.TemporaryVariable:
    return pg.TemporaryVariable(name, shape=shape, address_space=space)


@pytest.mark.parametrize(
    "step",
    [
        tag(i="g.0", j="g.0"),
        tag(i="g.0"),
        BOTH,
        steps(grid("i", 4), grid("j", 2)),
        steps(grid("i", 4), split("j", 3, inner_tag="unr")),
    ],
)
def test_time_steps(step: Step) -> None:
    knl = kernel(
        "{ [t,i,j]: 0<=t<m and 1<=i<n-1 and 1<=j<n-1 }",
        """
        b[i] = a[i-1] + a[i+1]  {id=s, dep=*, inames=t:i}
        a[j] = b[j]             {dep=s, inames=t:j}
        """,
    )
    agree(knl, [{"n": 9, "m": 3}, {"n": 9, "m": 0}, {"n": 3, "m": 2}], step)


@pytest.mark.parametrize("jj", [grid("jj", 4), grid("jj", 2), tag(jj="g.0")])
def test_transpose_then_double(jj: Step) -> None:
    knl = kernel(
        "{ [i,j,ii,jj]: 0<=i,j,ii,jj<n }",
        "out[j,i] = a[i,j]  {id=t}\nout[ii,jj] = 2*out[ii,jj]  {dep=t}",
    )
    agree(knl, SIZES[:4], steps(grid("j", 4), jj, tag(i="g.1", ii="g.1")))


@pytest.mark.parametrize("tags", [{"i": "l.0", "j": "l.0"}, {"i": "l.0"}, {"j": "l.0"}])
def test_reversal_through_local_memory(tags: dict[str, str]) -> None:
    knl = kernel(
        "{ [i,j]: 0<=i,j<16 }",
        "t[i] = a[i]  {id=w}\nout[j] = t[15-j]  {dep=w}",
        _temporary("t", 16),
    )
    agree(knl, [{}], tag(**tags))


def test_shift_through_local_memory_in_a_loop() -> None:
    knl = kernel(
        "{ [t,i,j]: 0<=t<m and 0<=i,j<8 }",
        """
        s[i] = a[i] + t  {id=w, inames=t:i, dep=*}
        a[j] = s[7-j]    {dep=w, inames=t:j}
        """,
        _temporary("s", 8),
    )
    agree(knl, [{"m": m} for m in (0, 1, 3)], tag(i="l.0", j="l.0"), tag(i="l.0"))


def test_transposition_through_a_tile() -> None:
    knl = kernel(
        """{ [io,jo,ii,ji,iw,jw]: 0<=4*io+ii<n and 0<=4*jo+ji<n and 0<=ii,ji,iw,jw<4
             and 0<=4*io+iw<n and 0<=4*jo+jw<n }""",
        """
        t[ii,ji] = a[4*io+ii, 4*jo+ji]      {id=w}
        out[4*jo+jw, 4*io+iw] = t[iw,jw]    {dep=w, inames=io:jo:iw:jw}
        """,
        _temporary("t", 4, 4),
    )
    tags = {"io": "g.1", "jo": "g.0", "ii": "l.1", "ji": "l.0", "iw": "l.0", "jw": "l.1"}
    agree(knl, SIZES[:4], tag(**tags))


@pytest.mark.parametrize("step", [tag(i="g.0", j="g.0"), BOTH, tag(i="g.0")])
def test_a_global_temporary(step: Step) -> None:
    knl = kernel(
        "{ [i,j]: 0<=i,j<16 }",
        "t[i] = a[i]  {id=w}\nout[j] = t[15-j]  {dep=w}",
        _temporary("t", 16, space=GLOBAL),
    )
    agree(knl, [{}], step)


@pytest.mark.parametrize("unrolled", [False, True])
def test_private_values_across_a_barrier(unrolled: bool) -> None:
    knl = kernel(
        "{ [o,i,k,kk]: 0<=o<m and 0<=i<16 and 0<=k,kk<3 }",
        """
        p[k] = a[i]*k + o                {id=p, inames=o:i:k}
        <> q = a[i]*2                    {id=q, inames=o:i}
        t[i] = a[i] + p[2]               {id=w, dep=p:q, inames=o:i}
        out[o,i,kk] = t[i//2] + p[kk]+q  {dep=w:p:q, inames=o:i:kk}
        """,
        _temporary("t", 16),
        _temporary("p", 3, space=pg.AddressSpace.PRIVATE),
    )
    tags = {"i": "l.0"} | ({"k": "unr", "kk": "unr"} if unrolled else {})
    agree(knl, [{"m": m} for m in (0, 1, 2)], tag(**tags), tag(**tags, o="g.0"))


def test_a_local_scalar() -> None:
    knl = kernel(
        "{ [i,o]: 0<=i<16 and 0<=o<n }",
        "s = a[o]  {id=w}\nout[o,i] = s + i  {dep=w}",
        _temporary("s"),
    )
    agree(knl, SIZES[:4], tag(i="l.0"), tag(i="l.0", o="g.0"))


@pytest.mark.parametrize(
    "step",
    [
        tag(i="g.0", j="g.0"),
        steps(grid("i", 4), grid("j", 4)),
        steps(grid("i", 4), grid("j", 8)),
    ],
)
def test_inames_of_different_ranges_on_one_axis(step: Step) -> None:
    knl = kernel("{ [i,j]: 0<=i<n and 2<=j<n+4 }", "out[i] = a[i]\nother[j-2] = b[j-2]")
    agree(knl, SIZES, step)


def test_several_axes_with_several_inames_each() -> None:
    knl = kernel(
        "{ [i,j,k,l]: 0<=i,k<n and 2<=j,l<n+4 }",
        "out[i,k] = a[i]\nother[j-2,l-2] = b[j-2]",
    )
    agree(knl, SIZES[:3], tag(i="g.0", j="g.0", k="g.1", l="g.1"))


def _smoothed(passes: int) -> Kernel:
    names = [f"i{p}" for p in range(passes)]
    lines = [f"b{p + 1}[i{p}] = b{p}[i{p}] + b{p}[n-1-i{p}]  {{id=s{p}}}" for p in range(passes)]
    return kernel(f"{{ [{', '.join(names)}]: 0<={', '.join(names)}<n }}", "\n".join(lines))


@pytest.mark.parametrize("passes", [2, 3])
def test_a_chain_of_launches(passes: int) -> None:
    agree(_smoothed(passes), SIZES[:4], steps(*(grid(f"i{p}", 4) for p in range(passes))))


def test_no_group_is_of_nobody() -> None:
    """Drivers refuse groups without work items: one item does nothing instead."""
    a = pg.GlobalArg("a", shape=(8,))
    knl = kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]", a, assumptions="n <= 8")
    empty = tag(i="l.0")(pg.fix_parameters(knl, n=0))
    (axis,) = launches(lowered(empty))[0].axes
    assert axis.size == 1
    agree(empty, [{}])


@pytest.mark.parametrize("step", [grid("j", 2), grid("j", 3), tag(j="g.0")])
def test_red_and_black(step: Step) -> None:
    """Which work items have something to do depends on the loop around the launch."""
    knl = kernel(
        "{ [t,j]: 0<=t<m and 1<=j<n-1 and (t+j) mod 2 = 0 }",
        "a[j] = a[j-1] + a[j+1]  {inames=t:j}",
        pg.GlobalArg("a", shape=("n",)),
        loop_priority="t, j",
    )
    agree(knl, [{"n": 8, "m": 3}, {"n": 3, "m": 2}, {"n": 9, "m": 1}], step)


def test_what_a_group_shares_is_declared_outside_of_the_loop_over_its_items() -> None:
    knl = kernel("{ [i,j]: 0<=i<n and 0<=j<3 }", "t[j] = a[i,j]  {id=w}", _temporary("t", 3))
    knl = pg.add_dtypes(tag(j="l.0")(knl), {"a": "float64"})
    (launch,) = launches(lowered(knl, Model.LOOPS))
    assert isinstance(launch.body[0], Declare)
    assert launch.body[0].name == "t"
    assert "double t[3];\n    for (int j = 0;" in str(pg.generate_code(knl, "c"))
