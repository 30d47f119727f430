"""Values that guarded statements alone use are computed behind the guards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.lower.guarded_values import with_guarded_values
from polygen.lower.program import (
    Assign,
    Barrier,
    Block,
    Declare,
    If,
    Launch,
    Loop,
    LoopProgram,
    Node,
)
from polygen.pipeline import lower_kernel
from tests.few import few

LOOPS = ["{ [i,j]: 0<=i,j<n }", "{ [r]: 0<=r<n }", "{ [k]: 0<=k<n }"]
MATRICES = pg.GlobalArg("a, c, d", np.float64, "n, n")


def plain(text: str) -> pg.Kernel:
    """Return instructions over `r` beside one over `i` and `j`."""
    text = f"c[i,j] = 2*d[i,j]\n{text}"
    data = [MATRICES, "..."]
    return pg.make_kernel(LOOPS, text, data, assumptions="n >= 1", loop_priority="i, j")


def in_one_launch(text: str) -> pg.Kernel:
    """Return them in one launch: `r` on one axis, `i` and `j` on two."""
    knl = pg.split_iname(plain(text), "i", 4, outer_tag="g.1", inner_tag="l.1")
    knl = pg.split_iname(knl, "j", 8, outer_tag="g.0", inner_tag="l.0")
    return pg.split_iname(knl, "r", 8, outer_tag="g.0", inner_tag="l.0")


def body_of(program: LoopProgram) -> Block:
    (launch,) = program.host
    assert isinstance(launch, Launch)
    return launch.body


def sums_behind(block: Block, *, guarded: bool = False) -> list[bool]:
    """Return of each loop whether it is behind a guard of the missing axis."""
    found: list[bool] = []
    for node in block:
        if isinstance(node, If):
            asked = walk.free_variables(node.condition)
            found += sums_behind(node.body, guarded=guarded or "i_outer" in asked)
        elif isinstance(node, Loop):
            found += [guarded, *sums_behind(node.body, guarded=guarded)]
    return found


@pytest.mark.parametrize(
    ("text", "sums"),
    [
        ("b[r] = sum(k, a[r,k]) + 1", 1),
        ("<> s = sum(k, a[r,k])  {id=s}\nb[r] = s*s  {dep=s}", 1),
        ("b[r] = sum(k, a[r,k])\ne[r] = max(k, a[k,r])", 1),
        ("b[r], e[r] = argmax(k, a[r,k], k)", 1),
    ],
)
@few(2, "n", (1, 9, 8, 33))
def test_sums_of_fewer_axes(text: str, sums: int, n: int) -> None:
    knl = in_one_launch(text)
    body = body_of(lower_kernel(knl, "cuda"))
    assert sums_behind(body) == [True] * sums
    a, d = np.random.default_rng(n).random((2, n, n))
    _, found = knl.executor("c")(a=a, d=d)
    _, expected = plain(text).executor("c")(a=a, d=d)
    np.testing.assert_array_equal(expected[0], 2 * d)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


# --- statements between a sum and what uses it

ACC, OTHER = ex.Variable("acc"), ex.Variable("other")
A_K = ex.Subscript(ex.Variable("a"), (ex.Variable("k"),))
SUM = Loop("k", 0, ex.Variable("n"), (Assign(ACC, ex.sum_of(ACC, A_K), "sum"),))
AT_FIRST = ex.Comparison(ex.Variable("j"), "==", 0)
PADDED = replace(SUM, body=(Assign(ACC, ex.sum_of(ACC, ex.If(AT_FIRST, A_K, 0.0)), "sum"),))
START = Declare("acc", np.dtype(float), initial=0.0)


def guarded(name: str = "j", value: ex.Expression = ACC) -> If:
    at = ex.Comparison(ex.Variable(name), "==", 0)
    return If(at, (Assign(ex.Subscript(ex.Variable("b"), (0,)), value, "store"),))


def after(*nodes: Node) -> Block:
    """Return what becomes of statements."""
    program = lower_kernel(pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 1"))
    (launch,) = program.host
    assert isinstance(launch, Launch)
    changed = replace(program, host=(replace(launch, body=nodes),))
    return body_of(with_guarded_values(changed))


def write(name: str, value: ex.Expression = 1, **options: Any) -> Assign:
    return Assign(ex.Subscript(ex.Variable(name), (0,)), value, "write", **options)


def test_a_sum_goes_behind_the_guard() -> None:
    store = guarded()
    assert after(START, SUM, store) == (replace(store, body=(START, SUM, *store.body)),)


def test_other_statements_stay_where_they_are() -> None:
    between, behind = write("x"), write("y")
    store = guarded()
    expected = (between, replace(store, body=(START, SUM, *store.body)), behind)
    assert after(START, SUM, between, store, behind) == expected


def test_inner_blocks() -> None:
    loop = Loop("t", 0, 5, (START, SUM, guarded()))
    (changed,) = after(loop)
    assert isinstance(changed, Loop)
    assert changed.body == after(START, SUM, guarded())


@pytest.mark.parametrize(
    "nodes",
    [
        (START, SUM, guarded(), write("b", ACC)),  # it is used elsewhere, too: behind
        (START, SUM, write("x", ACC), guarded()),  # or between
        (START, SUM, guarded("acc")),  # or by the condition
        (START, SUM, write("a"), guarded()),  # what it reads is overwritten
        (START, SUM, write("a", atomicity=None, asynchronous=True), guarded()),
        (START, SUM, Barrier(frozenset([AddressSpace.LOCAL])), guarded()),  # by others, perhaps
        (START, replace(SUM, body=(*SUM.body, write("x"))), guarded()),  # it writes something else
        (SUM, guarded()),  # the next iteration of a loop around it goes on with it
        (START, write("a"), guarded()),  # no loop is spared
        (START, replace(SUM, parallel=1), guarded()),
        (replace(START, address_space=AddressSpace.LOCAL), SUM, guarded()),
        (START, PADDED, guarded()),  # what is beyond the end is zero already
        (START, SUM),
    ],
)
def test_what_stays(nodes: tuple[Node, ...]) -> None:
    assert after(*nodes) == nodes


def test_an_unchanged_program_is_the_same_object() -> None:
    program = lower_kernel(plain("b[r] = sum(k, a[r,k])"))
    assert with_guarded_values(program) is program
