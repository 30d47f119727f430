"""Sets of pairs of instances, and the pairs that touch one element, beside enumeration."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import islpy as isl
import pytest

import polygen as pg
from polygen.analysis.access.accesses import touched
from polygen.analysis.order.instance_order import Piece
from polygen.analysis.pairs.instance_pairs import (
    conflicts,
    element_witness,
    equal,
    greater,
    in_conflict,
    is_read,
    is_shared,
    less,
    piece_set,
    renamed,
    users,
    witness,
)
from polygen.errors import InternalError
from polygen.ir.domain import flatten
from tests.analysis.flat import points, where
from tests.analysis.pair_sets import listed, read_of, unproved, write_of
from tests.analysis.python_values import python_value

FEW = range(3)
PAIR = ["i", "j", "i'", "j'"]


def test_comparisons() -> None:
    names = ["i", "i'"]
    assert points(equal("i"), names, FEW) == where(lambda a, b: a == b, 2, FEW)
    assert points(less("i"), names, FEW) == where(lambda a, b: a < b, 2, FEW)
    assert points(greater("i"), names, FEW) == where(lambda a, b: a > b, 2, FEW)


@pytest.mark.parametrize(
    ("piece", "holds"),
    [
        (Piece((), None), lambda i, j, k, m: True),
        (Piece(("i",), None), lambda i, j, k, m: i == k),
        (Piece((), "i"), lambda i, j, k, m: i < k),
        (Piece(("i",), "j"), lambda i, j, k, m: i == k and j < m),
        (Piece(("i", "j"), None), lambda i, j, k, m: i == k and j == m),
        (Piece(("i",), None, less("j")), lambda i, j, k, m: i == k and j < m),
        (Piece((), "i", equal("j")), lambda i, j, k, m: i < k and j == m),
    ],
)
def test_pieces_of_the_order(piece: Piece, holds: Callable[..., bool]) -> None:
    box = flatten(isl.Set("{ [i, j] : 0 <= i, j < 3 }"))
    pairs = box.intersect(renamed(box, ["i", "j"]))
    assert listed(piece_set(pairs, piece), PAIR) == where(holds, 4, FEW)


def test_names_in_the_second_instance() -> None:
    flat = flatten(isl.Set("[n] -> { [i, j] : i < j and j < n }"))
    found = renamed(flat, ["i", "k"])
    expected = where(lambda i, j, n: i < j < n, 3, FEW)
    assert points(found, ["i'", "j", "n"], FEW) == expected


# --- who touches what


def test_users_and_readers() -> None:
    data = [pg.TemporaryVariable("t", "float64"), pg.TemporaryVariable("u", "float64")]
    lines = "t = a[i] {id=s}\nu = a[i] {id=v}\nb[i] = t {id=r, dep=s}"
    knl = unproved("{ [i]: 0<=i<n }", lines, *data)
    assert users(knl, "a") == ("s", "v")
    assert users(knl, "t") == ("s", "r")
    assert users(knl, "n") == ()
    assert [is_read(knl, name) for name in ("t", "u", "a", "b")] == [True, False, True, True]


@pytest.mark.parametrize(
    ("space", "shared"),
    [
        (pg.AddressSpace.PRIVATE, False),
        (pg.AddressSpace.LOCAL, True),
        (pg.AddressSpace.GLOBAL, True),
    ],
)
def test_variables_that_work_items_share(space: pg.AddressSpace, shared: bool) -> None:
    t = pg.TemporaryVariable("t", "float64", address_space=space)
    knl = unproved("{ [i]: 0<=i<n }", "t = a[i] {id=s}\nb[i] = t {id=r, dep=s}", t)
    assert is_shared(knl, "t") is shared
    assert is_shared(knl, "a")


def test_two_reads_are_no_conflict() -> None:
    knl = unproved("{ [i]: 0<=i<n }", "x[i] = x[i] + x[i+1] {id=s}")
    read, other = (a for a in touched(knl, "s")["x"] if not a.is_write)
    write = write_of(knl, "s", "x")
    assert not in_conflict(knl, read, other)
    assert in_conflict(knl, read, write)
    assert in_conflict(knl, write, read)
    assert in_conflict(knl, write, write)


@pytest.mark.parametrize(
    ("first", "second", "dtype", "matters"),
    [
        ("x[0] = x[0] + a[i] {id=s, atomic}", "x[0] = x[0] + 2 {id=u, atomic}", "int32", False),
        ("x[0] = x[0] + a[i] {id=s, atomic}", "x[0] = x[0] + 2 {id=u, atomic}", "float32", True),
        ("x[0] = x[0] + a[i] {id=s, atomic}", "x[0] = x[0] * 2 {id=u, atomic}", "int32", True),
        ("x[0] = x[0] + a[i] {id=s, atomic}", "x[0] = x[0] + 2 {id=u}", "int32", True),
        (
            "x[0] = max(x[0], a[i]) {id=s, atomic}",
            "x[0] = max(x[0], 2) {id=u, atomic}",
            "float32",
            False,
        ),
    ],
)
def test_atomic_updates_with_one_operation(
    first: str, second: str, dtype: str, matters: bool
) -> None:
    """They come in any order; of floating-point sums, that may be seen, unless it is allowed."""
    data = [pg.GlobalArg("x", dtype, "1"), pg.GlobalArg("a", dtype, "n")]
    same_operation = "*" not in second and "atomic" in second
    for is_allowed in (False, True):
        knl = unproved("{ [i]: 0<=i<n }", f"{first}\n{second}", *data)
        with pg.without_proofs():
            knl = pg.set_options(knl, allow_reassociation=is_allowed)
        pair = write_of(knl, "s", "x"), write_of(knl, "u", "x")
        assert in_conflict(knl, *pair) is (not same_operation if is_allowed else matters)


# --- pairs that touch one element


@pytest.mark.parametrize("right", ["i, j", "i - 1, j", "j, i", "i, 2*j"])
@pytest.mark.parametrize("left", ["i, j", "i, j + 1", "i + j, 0"])
def test_pairs_that_touch_one_element(left: str, right: str) -> None:
    knl = unproved("{ [i, j]: 0<=i,j<3 }", f"x[{left}] = x[{right}] {{id=s}}")
    found = list(conflicts(knl, "s", "s", "x"))
    assert sorted(c.kind for c in found) == ["anti", "flow", "output"]
    assert all(c.certain and c.name == "x" for c in found)

    def element(text: str, i: int, j: int) -> tuple[int, int]:
        found: tuple[int, int] = python_value(text, {"i": i, "j": j})
        return found

    sides = {"flow": (left, right), "anti": (right, left), "output": (left, left)}
    for conflict in found:
        first, second = sides[conflict.kind]
        expected = where(
            lambda i, j, k, m, a=first, b=second: element(a, i, j) == element(b, k, m), 4, FEW
        )
        assert listed(conflict.pairs, PAIR) == expected


def test_an_empty_domain_has_no_pairs() -> None:
    knl = unproved("{ [i]: 0<=i<n and n<=0 }", "x[i] = 1 {id=s}")
    (found,) = conflicts(knl, "s", "s", "x")
    assert found.pairs.is_empty()
    assert not list(conflicts(knl, "s", "s", "nobody_touches_it"))


def test_what_data_says_is_not_certain() -> None:
    """Two subscripts that are data may be equal; one claim and one condition say that none are."""
    idx = pg.GlobalArg("idx", "int32", "3")
    lines = (
        "x[idx[i]] = 1 {id=s}\nx[i] = 2 {id=u, if=not (idx[i] > 0)}\nx[i] = 3 {id=v, if=idx[i] > 0}"
    )
    knl = unproved("{ [i]: 0<=i<3 }", lines, idx, pg.GlobalArg("x", shape="3"))
    names = ["i", "i'"]

    def pairs(knl: pg.Kernel, first: str, second: str) -> set[tuple[int, ...]]:
        (found,) = conflicts(knl, first, second, "x")
        assert not found.certain
        return listed(found.pairs, names)

    anything = where(lambda *_: True, 2, FEW)
    same = where(lambda a, b: a == b, 2, FEW)
    assert pairs(knl, "s", "s") == anything
    assert pairs(knl, "s", "u") == anything
    assert pairs(knl, "u", "u") == same
    assert pairs(knl, "u", "v") == set()  # one of the conditions does not hold
    with pg.without_proofs():
        assert pairs(pg.assume_injective(knl, "idx"), "s", "s") == same
        assert pairs(pg.assume_independent(knl, "id:s", "id:s"), "s", "s") == same
        assert pairs(pg.assume_independent(knl, "id:s", "id:u"), "s", "u") == set()


def test_arrays_that_may_overlap() -> None:
    """Any element of one may be any of the other; certain it never is."""
    data = [pg.GlobalArg("x", shape="3", may_alias=True), pg.GlobalArg("y", shape="3")]
    knl = unproved("{ [i]: 0<=i<3 }", "x[i] = y[i] {id=s}", *data)
    (found,) = conflicts(knl, "s", "s", "x", "y")
    assert (found.name, found.kind, found.certain) == ("x", "flow", False)
    assert listed(found.pairs, ["i", "i'"]) == where(lambda *_: True, 2, FEW)
    assert not list(conflicts(knl, "s", "s", "y", "y"))


# --- one point of a set


def test_witnesses_are_small_where_they_can_be() -> None:
    found = witness(flatten(isl.Set("[n] -> { [i] : 0 <= i < n }")))
    assert 0 <= found["i"] < found["n"] <= 4
    assert witness(flatten(isl.Set("{ [i] : i = 1000 }"))) == {"i": 1000}
    assert witness(flatten(isl.Set("{ [i] : i >= 9 and i mod 7 = 0 }"))) == {"i": 14}
    with pytest.raises(InternalError, match="no point"):
        witness(flatten(isl.Set("{ [i] : 0 <= i < 0 }")))


def test_an_instance_and_the_element_it_touches() -> None:
    knl = unproved("{ [i, j]: 2<=i<4 and 5<=j<6 }", "x[2*i, j - i] = a[0] {id=s}")
    point, element = element_witness(write_of(knl, "s", "x").relation)
    assert (point["i"], point["j"]) in product((2, 3), (5,))
    assert element == [2 * point["i"], 5 - point["i"]]
    point, element = element_witness(read_of(knl, "s", "a").relation)
    assert element == [0]
