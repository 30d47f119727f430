"""When instructions touch what they touch: in a reduction, in the course of its loops."""

from __future__ import annotations

from itertools import product

import pytest

from polygen.analysis.access.accesses import Access
from polygen.analysis.order.access_times import moments
from polygen.analysis.order.instance_order import Piece
from polygen.analysis.pairs.instance_pairs import piece_set
from polygen.errors import DependencyCycle
from polygen.ir.domain import universe
from polygen.ir.kernel import Kernel
from tests.analysis.pair_sets import listed, read_of, unproved, write_of

DOMAINS = ["{ [i]: 0<=i<3 }", "{ [j]: 0<=j<3 }"]
SHARED = "b[i] = 2*a[i] {id=w, dep=*}\nc[0] = sum(i, b[i]) {id=r, dep=*w, inames=}"


def _pairs(knl: Kernel, first: Access, second: Access, names: list[str]) -> set[tuple[int, ...]]:
    pieces = moments(knl).before(first, second)
    sets = [listed(piece_set(universe(), piece), names, range(3)) for piece in pieces]
    assert sum(map(len, sets)) == len(set().union(*sets))
    return set().union(*sets)


def test_a_reduction_reads_in_the_course_of_its_loop() -> None:
    """What stands there with it comes in each iteration before the update, and not before all."""
    knl = unproved(DOMAINS, SHARED)
    write, read, use = write_of(knl, "w", "b"), read_of(knl, "r", "b"), write_of(knl, "r", "c")
    order = moments(knl)
    assert order.statement(write) == "w"
    assert order.statement(use) == "r"
    assert order.statement(read) not in ("w", "r")
    assert order.statements.instruction(order.statement(read)).within_inames == {"i"}
    assert order.loops(write, read) == ("i",)
    assert order.between(write, read) == (("i",), True)
    assert order.between(read, write) == (("i",), False)
    assert order.depends(write, read)
    assert not order.depends(read, write)
    points = list(product(range(3), repeat=2))
    assert _pairs(knl, write, read, ["i", "i'"]) == {(a, b) for a, b in points if a <= b}
    assert _pairs(knl, read, write, ["i", "i'"]) == {(a, b) for a, b in points if a < b}


def test_the_result_comes_after_all_iterations() -> None:
    knl = unproved(DOMAINS, SHARED)
    write, use = write_of(knl, "w", "b"), write_of(knl, "r", "c")
    assert moments(knl).between(write, use) == ((), True)
    assert _pairs(knl, write, use, ["i"]) == {(i,) for i in range(3)}
    assert list(moments(knl).before(use, write)) == []


def test_where_nobody_else_is_in_the_loop_all_is_read_at_once() -> None:
    knl = unproved(DOMAINS, SHARED.replace("b[i] = 2*a[i]", "b[j] = 2*a[j]"))
    write, read = write_of(knl, "w", "b"), read_of(knl, "r", "b")
    order = moments(knl)
    assert order.statements is knl
    assert order.statement(read) == "r"
    assert order.loops(write, read) == ()
    assert list(order.before(write, read)) == [Piece((), None)]
    assert list(order.before(read, write)) == []


def test_one_instance_is_not_before_itself() -> None:
    """Its reduction is complete before it writes, which orders no two of its instances."""
    lines = "b[j, i] = 2*a[i] {id=w, dep=*}\nc[j] = sum(i, b[j, i]) {id=r, dep=*w}"
    knl = unproved(DOMAINS, lines)
    read, use = read_of(knl, "r", "b"), write_of(knl, "r", "c")
    assert moments(knl).depends(read, use)
    assert list(moments(knl).before(read, use)) == [Piece((), "j")]
    alone = unproved(DOMAINS, SHARED)
    read, use = read_of(alone, "r", "b"), write_of(alone, "r", "c")
    assert list(moments(alone).before(read, use)) == []


def test_some_pairs_alone_may_be_in_order() -> None:
    lines = "a[i] = 1 {id=w, dep=*}\nb[j] = a[j] {id=r, dep=w[{ [i] -> [j'] : i = j' }]}"
    knl = unproved(DOMAINS, lines)
    write, read = write_of(knl, "w", "a"), read_of(knl, "r", "a")
    order = moments(knl)
    assert order.between(write, read) == ((), True)
    assert not order.depends(write, read)
    assert _pairs(knl, write, read, ["i", "j'"]) == {(i, i) for i in range(3)}
    assert order.between(read, write) == ((), False)


def test_no_order_at_all() -> None:
    knl = unproved(DOMAINS, SHARED)
    w, r = knl.instructions
    cyclic = knl.copy(instructions=(w.copy(depends_on=frozenset({"r"})), r))
    with pytest.raises(DependencyCycle):
        moments(cyclic)
