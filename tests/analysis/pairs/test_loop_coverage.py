"""Loops as long as data says, and which of them certainly run as far as others."""

from __future__ import annotations

from itertools import product

import islpy as isl

import polygen as pg
from polygen.analysis.pairs.loop_coverage import in_reach, of_one_value
from polygen.ir.kernel import Kernel
from tests.analysis.pair_sets import listed, read_of, unproved, write_of

DATA = (pg.GlobalArg("rows", "int32", "9"), pg.TemporaryVariable("t", "float64", "9"))
COUNT = "<> count = rows[o] {id=c}"
IN_O = "{ [o]: 0<=o<3 }"


def _found(knl: Kernel) -> isl.Set | None:
    writer = knl.instruction("w")
    return in_reach(knl, writer, write_of(knl, "w", "t"), read_of(knl, "r", "t"))


def _kernel(
    *loops: str, count: str = COUNT, writer: str = "o:x", reader: str = "o:y", deps: str = "w"
) -> Kernel:
    text = f"""
        {count}
        t[x] = a[x] {{id=w, inames={writer}, dep=c}}
        out[o, {reader[-1]}] = t[{reader[-1]}] {{id=r, inames={reader}, dep={deps}}}
        """
    return unproved([IN_O, *loops], text, *DATA)


def test_bounds_that_are_no_data() -> None:
    knl = _kernel("{ [x]: 0<=x<4 }", "{ [y]: 0<=y<n }")
    found = _found(knl)
    assert found is not None
    assert found.is_equal(isl.Set("{ : }"))


def test_the_same_loop() -> None:
    knl = _kernel("{ [x]: 0<=x<count and x<9 }", reader="o:x")
    found = _found(knl)
    assert found is not None
    points = product(range(3), range(4), range(3), range(4))
    same = {(o, x, p, y) for o, x, p, y in points if (o, x) == (p, y)}
    # The same iteration, or an earlier one of the same loop.
    earlier = {(o, x, o, y) for o in range(3) for y in range(4) for x in range(y + 1)}
    assert same <= listed(found, ["o", "x", "o'", "x'"], range(4))
    executed = {p for p in listed(found, ["o", "x", "o'", "x'"], range(4)) if max(p[::2]) < 3}
    assert executed == earlier


def test_another_loop_that_the_same_scalar_bounds() -> None:
    """Whatever the scalar is: where the reader is executed, the writer is."""
    for lower, upper, more in ((0, "count", 0), (0, "count + 1", 1), (1, "count", 0)):
        knl = _kernel(f"{{ [x]: {lower}<=x<{upper} and x<9 }}", "{ [y]: 0<=y<count and y<9 }")
        found = _found(knl)
        assert found is not None
        expected = {
            (o, x, p, y)
            for o, x, p, y in product(range(3), range(6), range(3), range(6))
            if o == p and all(lower <= x < count + more for count in range(12) if 0 <= y < count)
        }
        listed_ones = listed(found, ["o", "x", "o'", "y'"], range(6))
        assert {p for p in listed_ones if max(p[::2]) < 3} == expected


def test_loops_that_other_scalars_bound() -> None:
    two = f"{COUNT}\n<> other = rows[o + 1] {{id=d}}"
    knl = _kernel(
        "{ [x]: 0<=x<count and x<9 }", "{ [y]: 0<=y<other and y<9 }", count=two, deps="w:d"
    )
    found = _found(knl)
    assert found is not None
    points = listed(found, ["o", "x", "o'", "y'"], range(3))
    assert points == set()  # for every y there is data such that no x is executed


def test_a_scalar_that_is_written_twice() -> None:
    twice = f"{COUNT}\ncount = 2 {{id=d, dep=c}}"
    loops = "{ [x]: 0<=x<count and x<9 }", "{ [y]: 0<=y<count and y<9 }"
    assert _found(_kernel(*loops, count=twice, deps="w:d")) is None
    assert _found(_kernel(*loops)) is not None


def test_a_reader_outside_of_the_loop_that_the_scalar_is_written_in() -> None:
    """It comes after all iterations: which value the writer's loop had is not known there."""
    text = f"""
        {COUNT}
        t[x] = a[x] {{id=w, inames=o:x, dep=c}}
        out[i] = t[i] {{id=r, dep=w, inames=i}}
        """
    knl = unproved([IN_O, "{ [x]: 0<=x<count and x<9 }", "{ [i]: 0<=i<4 }"], text, *DATA)
    assert _found(knl) is None


def test_the_inames_in_one_iteration_of_which_a_scalar_has_one_value() -> None:
    loops = "{ [x]: 0<=x<count and x<9 }", "{ [y]: 0<=y<count and y<9 }"
    knl = _kernel(*loops)
    write, read = write_of(knl, "w", "t"), read_of(knl, "r", "t")
    assert of_one_value(knl, "count", write, read) == frozenset({"o"})
    early = unproved(
        [IN_O],
        "b[o] = s {id=r, dep=*}\n<> s = a[o] {id=c}\nd[o] = s {id=v, dep=c}",
        order="o",
    )
    before, after = read_of(early, "r", "s"), read_of(early, "v", "s")
    assert of_one_value(early, "s", after, after) == frozenset({"o"})
    assert of_one_value(early, "s", before, after) is None
    assert of_one_value(early, "s", after, before) is None
