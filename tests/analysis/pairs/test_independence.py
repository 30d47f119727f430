"""Instances that touch one element for certain, against a claim that none do."""

from __future__ import annotations

import re
from itertools import product

import pytest

import polygen as pg
from polygen.analysis.pairs.independence import contradiction
from tests.analysis.pair_sets import tagged, unproved
from tests.analysis.python_values import python_value

SUBSCRIPTS = ("i", "i + 1", "2*i", "2*i + 1", "5 - i", "i//2", "i % 3", "7")
IDX = pg.GlobalArg("idx", "int32", "n")


def _element(text: str, i: int) -> int:
    return int(python_value(text, {"i": i}))


@pytest.mark.parametrize("second", SUBSCRIPTS)
@pytest.mark.parametrize("first", SUBSCRIPTS[1:4])
def test_two_instructions(first: str, second: str) -> None:
    """It is found exactly if there are two such instances, and those that it names are such."""
    lines = f"x[{first}] = 1 {{id=s, inames=i}}\nx[{second}] = 2 {{id=u, inames=i}}"
    knl = unproved("{ [i]: 0<=i<4 }", lines, pg.GlobalArg("x", shape="9"))
    touching = {
        (a, b) for a, b in product(range(4), repeat=2) if _element(first, a) == _element(second, b)
    }
    found = contradiction(knl, "s", "u")
    assert (found is not None) is bool(touching)
    if found is not None:
        assert re.search(r"s\[i=\d\] writes the element of 'x' that u\[i=\d\] writes too", found)
        assert tuple(map(int, re.findall(r"i=(\d)", found))) in touching


@pytest.mark.parametrize("text", SUBSCRIPTS)
def test_one_instruction(text: str) -> None:
    """An instance and itself are no pair."""
    knl = unproved(
        "{ [i]: 0<=i<4 }", f"x[{text}] = 1 {{id=s, inames=i}}", pg.GlobalArg("x", shape="9")
    )
    found = contradiction(knl, "s", "s")
    values = [_element(text, i) for i in range(4)]
    assert (found is not None) is (len({*values}) < len(values))
    if found is not None:
        a, b = map(int, re.findall(r"i=(\d)", found))
        assert a != b
        assert values[a] == values[b]


def test_what_two_only_read_is_no_conflict() -> None:
    lines = "x[i] = a[0] {id=s}\ny[i] = a[0] + x[i] {id=u}"
    knl = unproved("{ [i]: 0<=i<4 }", lines)
    assert contradiction(knl, "s", "s") is None
    found = contradiction(knl, "s", "u")
    assert found is not None
    assert re.search(r"s\[i=(\d)\] writes the element of 'x' that u\[i=\1\] reads", found)


def test_data_contradicts_nothing() -> None:
    lines = "x[idx[i]] = 1 {id=s}\nx[i] = 2 {id=u, if=idx[i] > 0}"
    knl = unproved("{ [i]: 0<=i<n }", lines, IDX, pg.GlobalArg("x", shape="n"))
    for pair in product("su", repeat=2):
        assert contradiction(knl, *pair) is None


def test_a_size_for_which_there_are_such_instances_is_named() -> None:
    x = pg.GlobalArg("x", shape="n")
    knl = unproved("{ [i]: 0<=i<n }", "x[0] = 1 {id=s}\nx[n-1] = 2 {id=u}", x)
    assert contradiction(knl, "s", "u") is not None
    knl = unproved("{ [i]: 0<=i<n }", "x[0] = 1 {id=s}\nx[n-1] = 2 {id=u}", x, assumptions="n>=2")
    assert contradiction(knl, "s", "u") is None
    knl = unproved("{ [i]: 0<=i<n }", "x[i//3] = 1 {id=s}", x)
    found = contradiction(knl, "s", "s")
    assert found is not None
    (n,), (a, b) = (map(int, re.findall(rf"{name}=(\d+)", found)) for name in "ni")
    assert 0 <= a < n
    assert 0 <= b < n
    assert a // 3 == b // 3


def test_copies_of_a_temporary_are_no_conflict() -> None:
    """Each work item has its own, a group of them one."""
    lines = "t = a[i] {id=s}\nb[i] = t {id=u, dep=s}"
    for space, is_one in ((pg.AddressSpace.PRIVATE, False), (pg.AddressSpace.LOCAL, True)):
        t = pg.TemporaryVariable("t", "float64", address_space=space)
        knl = tagged(unproved("{ [i]: 0<=i<4 }", lines, t), i="l.0")
        assert (contradiction(knl, "s", "s") is not None) is is_one
    assert contradiction(knl, "u", "u") is None
