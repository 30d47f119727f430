"""Predicates, temporaries and scalars: what is asked when, and where values are kept."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.lower.lower import Model
from polygen.lower.program import Declare
from tests.oracle.cases import SIZES, agree, grid, kernel, lowered, nodes, split, steps, tag

STEPS = (split("i", 4), split("i", 4, inner_tag="unr"), grid("i", 4))
ROWS = "{ [i,j]: 0<=i,j<n }"
LINE = "{ [i]: 0<=i<n }"


def test_a_predicate_on_what_a_neighbour_writes_is_asked_again() -> None:
    knl = kernel(
        LINE,
        """
        a[i] = b[i]       {id=s, dep=*, if=c[i] > 0}
        c[i] = 0 - c[i]   {id=t, dep=*s}
        d[i] = 1.5        {id=u, dep=*t, if=c[i] > 0}
        """,
    )
    agree(knl, SIZES, *STEPS)


def test_a_predicate_on_what_the_loop_writes_is_not_moved_out_of_it() -> None:
    knl = kernel(ROWS, "s[i] = s[i] + a[j]  {if=s[i] < 5}")
    agree(knl, SIZES[:4], split("j", 4), split("j", 4, inner_tag="unr"), grid("i", 4))
    knl = kernel(
        ROWS,
        """
        s[i] = s[i] + a[j]  {id=s, dep=*, if=b[0] < 5}
        b[0] = b[0] + 1     {dep=*s, inames=i}
        """,
        pg.GlobalArg("b", shape=(1,)),
    )
    agree(knl, SIZES[:4], split("j", 4), split("j", 4, inner_tag="unr"), split("i", 2))


def test_a_temporary_in_one_guard_and_used_in_another() -> None:
    knl = kernel(
        LINE,
        """
        <> t = a[i]         {id=t, if=a[i] > 0}
        out[i] = t*2        {dep=t, if=a[i] > 0}
        other[i] = a[i]
        last[i] = t + 1     {dep=t, if=a[i] > 0 and i < 5}
        """,
    )
    agree(knl, SIZES, *STEPS)


def test_a_temporary_that_is_written_twice() -> None:
    knl = kernel(
        LINE,
        """
        <> t = 1.0       {id=t0, inames=i}
        t = a[i]         {id=t1, dep=t0, if=a[i] > 0}
        out[i] = t*2     {dep=t1}
        """,
    )
    agree(knl, SIZES, *STEPS)


def test_a_temporary_that_a_loop_carries() -> None:
    knl = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<m }",
        """
        <float64> t = 0    {id=t0, inames=i}
        t = t + a[i,j]     {id=t1, dep=*t0}
        out[i] = t*2       {dep=t1}
        """,
    )
    sizes = [{"n": 7, "m": 5}, {"n": 0, "m": 5}, {"n": 3, "m": 0}]
    agree(knl, sizes, *STEPS, split("j", 4), split("j", 4, inner_tag="unr"))


def test_a_temporary_array() -> None:
    knl = kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j,k<4 }",
        """
        t[j] = a[i,j]*(j+1)   {id=t}
        out[i] = sum(k, t[3-k]*a[i,k])   {dep=t}
        """,
        pg.TemporaryVariable("t", shape=(4,)),
    )
    agree(knl, SIZES[:4], *STEPS, tag(j="unr", k="unr"), steps(grid("i", 2), split("j", 2)))


def test_scalars() -> None:
    """An instruction without any iname is executed once, whatever grid its launch has."""
    scalars = pg.GlobalArg("out", shape=()), pg.GlobalArg("a", shape=())
    agree(kernel("{ : }", "out = 2*a", *scalars), [{}])
    knl = kernel(LINE, "out = 2*a  {id=s}\nb[i] = out + i  {dep=s}", *scalars)
    agree(knl, SIZES, grid("i", 4), tag(i="g.0"))
    knl = kernel(LINE, "<> t = 2*a  {id=s}\nb[i] = t + i  {dep=s}", scalars[1])
    agree(knl, SIZES, grid("i", 4), tag(i="g.0"))


@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.float32])
def test_types_are_numpys(dtype: type) -> None:
    knl = kernel(
        LINE,
        """
        <> t = 2*a[i] - i
        <> u = a[i] // 3
        <> v = a[i] % 3 + (i - 3) // 2 - (i - 3) % 2
        out[i] = t / 2 + u*v + if(i > 2, a[i], 0.5)
        """,
    )
    agree(pg.add_dtypes(knl, {"a": dtype, "out": np.float64}), SIZES[:4], *STEPS)


def test_declared_where_it_is_first_assigned() -> None:
    program = lowered(kernel(LINE, "<> t = 2*a[i]\nout[i] = t*t"))
    (declared,) = [n for n in nodes(program) if isinstance(n, Declare)]
    assert declared.initial is not None
    assert declared.constant


@pytest.mark.parametrize("model", Model)
def test_the_kernels_own_names_are_kept(model: Model) -> None:
    knl = kernel(LINE, "<> acc_i = 2*a[i]\nout[i] = acc_i + 1")
    program = lowered(grid("i", 4)(knl), model)
    assert [n.name for n in nodes(program) if isinstance(n, Declare)] == ["acc_i"]
