"""What barriers are for: local memory alone, unless work items exchange values in global memory."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from polygen.lower.program import Barrier, Declare, Loop
from tests.oracle.cases import agree, barriers, kernel, launches, lowered, nodes

LOCAL, GLOBAL = pg.AddressSpace.LOCAL, pg.AddressSpace.GLOBAL


def _reversal(space: pg.AddressSpace) -> Kernel:
    knl = kernel(
        "{ [g,i,j]: 0<=g<3 and 0<=i,j<16 }",
        "t[i] = a[g, i]  {id=w, inames=g:i}\nout[g, j] = t[15-j]  {dep=w}",
        pg.TemporaryVariable("t", shape=(16,), address_space=space),
    )
    return pg.tag_inames(knl, {"i": "l.0", "j": "l.0"})


def spaces(knl: Kernel) -> set[frozenset[pg.AddressSpace]]:
    found = {b.address_spaces for b in barriers(lowered(knl))}
    assert found
    return found


def test_local_memory_alone() -> None:
    assert spaces(_reversal(LOCAL)) == {frozenset((LOCAL,))}
    agree(_reversal(LOCAL), [{}])


def test_values_in_global_memory() -> None:
    assert spaces(_reversal(GLOBAL)) == {frozenset((LOCAL, GLOBAL))}


def test_an_element_that_one_item_reads_and_writes_is_its_own() -> None:
    knl = kernel(
        "{ [g,i,j]: 0<=g<3 and 0<=i,j<16 }",
        "t[i] = a[g, i]  {id=w}\nout[g, j] = t[15-j] + 2*out[g, j]  {dep=w}",
        pg.TemporaryVariable("t", shape=(16,), address_space=LOCAL),
    )
    assert spaces(pg.tag_inames(knl, "i: l.0, j: l.0")) == {frozenset((LOCAL,))}


def test_an_element_that_items_write_in_turn_is_not() -> None:
    """In each iteration, another work item writes it."""
    knl = pg.make_kernel(
        "{ [g,i,j]: 0<=g<16 and 0<=i,j<16 }",
        "t[i] = a[g, i]  {id=w, inames=g:i}\nout[g + j] = t[15-j]  {dep=w, inames=g:j}",
        [
            pg.GlobalArg("a", np.float64, (16, 16)),
            pg.TemporaryVariable("t", np.float64, (16,), LOCAL),
            "...",
        ],
        loop_priority="g, j",
    )
    knl = pg.tag_inames(knl, "i: l.0, j: l.0")
    assert spaces(knl) == {frozenset((LOCAL, GLOBAL))}


@pytest.mark.parametrize("kind", ["", ", mem_kind=local", ", mem_kind=global"])
def test_one_that_the_user_asks_for_is_for_both(kind: str) -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<16 }",
        "a[i] = 1 {id=a}\n"
        f"... lbarrier {{id=wait, dep=a, inames=i{kind}}}\n"
        "b[i] = 2 {dep=wait}",
    )
    knl = pg.tag_inames(knl, "i: l.0")
    assert spaces(knl) == {frozenset((LOCAL, GLOBAL))}


# --- arrays of a work item


@pytest.mark.parametrize("fresh", [True, False])
def test_a_private_array_is_declared_in_the_loop_that_fills_it(fresh: bool) -> None:
    start = "" if fresh else "if k == 0\n"
    knl = kernel(
        "{ [o,k,i,j]: 0<=o<8 and 0<=k<4 and 0<=i,j<3 }",
        f"{start}t[i] = a[o, k, i]  {{id=w, inames=o:k:i}}\n{'' if fresh else 'end'}\n"
        "out[o, k, j] = t[2-j]  {dep=w}",
        pg.TemporaryVariable("t", shape=(3,)),
        loop_priority="o, k",
    )
    knl = pg.tag_inames(knl, "o: g.0")
    program = lowered(knl)
    (launch,) = launches(program)
    (loop,) = [n for n in launch.body if isinstance(n, Loop)]
    assert any(isinstance(n, Declare) for n in loop.body) is fresh
    assert not [n for n in nodes(program) if isinstance(n, Barrier)]
    agree(knl, [{}])


def test_a_private_array_stays_outside_of_the_loop_of_a_reduction_that_reads_it() -> None:
    knl = kernel(
        "{ [i,j]: 0<=i<5 and 0<=j<4 }",
        "t[j] = a[i, j]  {id=w}\nout[i] = sum(j, t[j])  {dep=w}",
        pg.TemporaryVariable("t", shape=(4,)),
        loop_priority="i, j",
    )
    (launch,) = launches(lowered(knl))
    (loop,) = [n for n in launch.body if isinstance(n, Loop)]
    assert [n.name for n in loop.body if isinstance(n, Declare)] == ["acc_j", "t"]
    agree(knl, [{}])
