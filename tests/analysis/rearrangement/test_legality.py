"""Dependences that a step keeps or breaks, beside all pairs of instances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, product
from typing import TypeAlias

import pytest

import polygen as pg
from polygen.analysis.access.instance_map import UNMOVED, InstanceMap
from polygen.analysis.rearrangement.legality import (
    MERGED,
    REVERSED,
    SEPARATED,
    UNORDERED,
    violation,
)
from tests.analysis.pair_sets import expression, tagged, unproved
from tests.analysis.python_values import python_value

Point: TypeAlias = tuple[int, ...]
N = 4
X = pg.GlobalArg("x", "float64", "99, 99")
Y = pg.GlobalArg("y", "float64", "99")
PRIVATE = pg.TemporaryVariable("t", "float64")

# --- one instruction in two loops

# What i and j are in terms of p and q, the bounds of these, and which loop is outside.
MAPS = {
    "same": ("p", "q", "0<=p<4 and 0<=q<4", "p, q"),
    "interchanged": ("p", "q", "0<=p<4 and 0<=q<4", "q, p"),
    "renamed": ("q", "p", "0<=p<4 and 0<=q<4", "q, p"),
    "outer reversed": ("3 - p", "q", "0<=p<4 and 0<=q<4", "p, q"),
    "inner reversed": ("p", "3 - q", "0<=p<4 and 0<=q<4", "p, q"),
    "skewed": ("p", "q - p", "0<=p<4 and p<=q<4+p", "p, q"),
    "wavefront": ("p", "q - p", "0<=p<4 and p<=q<4+p", "q, p"),
    "shifted": ("p - 2", "q", "2<=p<6 and 0<=q<4", "p, q"),
}


def _old_points(i: str, j: str, bounds: str, order: str) -> list[Point]:
    """Return the old points in the order in which they are computed now."""
    names = order.split(", ")
    found: list[Point] = []
    for values in product(range(8), repeat=2):
        point = dict(zip(names, values, strict=True))
        within = bounds.replace("and", " and ")
        if python_value(within, dict(point)):
            found.append(tuple(int(python_value(text, dict(point))) for text in (i, j)))
    return found


def _is_broken(order: Sequence[Point], touch: Callable[[Point, Point], bool]) -> bool:
    """Tell whether two points that touch one element came in the other order before."""
    return any(touch(a, b) and a > b for a, b in combinations(order, 2))


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("distance", [(1, 0), (0, 1), (1, -1), (1, 1), (2, -1), (0, 0)])
def test_one_instruction(name: str, distance: tuple[int, int]) -> None:
    i, j, bounds, order = MAPS[name]
    di, dj = distance
    text = "x[{0}+9, {1}+9] = x[{0}+9-{2}, {1}+9-{3}] + 1 {{id=s}}"
    old = unproved(f"{{ [i, j]: 0<=i,j<{N} }}", text.format("i", "j", di, dj), X, order="i, j")
    inner = text.format(f"({i})", f"({j})", di, dj)
    new = unproved(f"{{ [p, q]: {bounds} }}", inner, X, order=order)
    found = violation(old, new, InstanceMap({"i": expression(i), "j": expression(j)}))

    def touch(a: Point, b: Point) -> bool:
        back, forth = ((a[0] - b[0], a[1] - b[1]), (b[0] - a[0], b[1] - a[1]))
        return distance in (back, forth)

    points = _old_points(i, j, bounds, order)
    assert sorted(points) == list(product(range(N), repeat=2))
    assert (found is not None) is _is_broken(points, touch)
    if found is None:
        return
    assert (found.first, found.second, found.name, found.certain) == ("s", "s", "x", True)
    assert (found.now, found.other_name) == (REVERSED, None)
    first, second = ({n: found.point[n + mark] for n in ("p", "q")} for mark in ("", "'"))
    olds = [(python_value(i, dict(p)), python_value(j, dict(p))) for p in (first, second)]
    names = order.split(", ")
    assert olds[0] < olds[1]
    assert [first[n] for n in names] > [second[n] for n in names]
    assert touch(*olds)


# --- two instructions


@pytest.mark.parametrize("distance", [-2, -1, 0, 1, 2])
@pytest.mark.parametrize("is_ordered", [True, False])
def test_two_loops_become_one(distance: int, is_ordered: bool) -> None:
    """What a later iteration writes was there before, and is not now."""
    lines = "x[i+9, 0] = 1 {{id=s, dep=*}}\ny[{0}] = x[{0}+9+{1}, 0] {{id=u, dep=*{2}}}"
    domains = ["{ [i]: 0<=i<4 }", "{ [j]: 0<=j<4 }"]
    old = unproved(domains, lines.format("j", distance, "s"), X, Y)
    new = unproved(domains[0], lines.format("i", distance, "s" if is_ordered else ""), X, Y)
    found = violation(old, new, InstanceMap({}, {"u": {"j": expression("i")}}))
    if distance < 0 or (distance == 0 and is_ordered):
        assert found is None
        return
    assert found is not None
    assert (found.first, found.second, found.name, found.kind) == ("s", "u", "x", "flow")
    assert found.point["i"] == found.point["i'"] + distance
    assert found.now == (UNORDERED if distance == 0 else REVERSED)


def test_an_order_of_instructions_the_other_way() -> None:
    lines = "x[i, 0] = 1 {{id=s, dep=*{}}}\nx[i, 0] = 2 {{id=u, dep=*{}}}"
    old = unproved("{ [i]: 0<=i<4 }", lines.format("", "s"), X)
    for deps, now in ((("u", ""), REVERSED), (("", ""), UNORDERED), (("", "s"), None)):
        new = unproved("{ [i]: 0<=i<4 }", lines.format(*deps), X)
        found = violation(old, new, UNMOVED)
        assert (None if found is None else found.now) == now
        if found is not None:
            assert (found.first, found.second, found.kind) == ("s", "u", "output")
            assert found.point["i"] == found.point["i'"]


@pytest.mark.parametrize(
    ("relation", "left"), [("i' = i", []), ("i' = i != 2", [2]), ("i' = i + 1", [0, 1, 2, 3])]
)
def test_dependencies_on_some_instances(relation: str, left: list[int]) -> None:
    """Those pairs that the relation leaves out are in no order."""
    lines = "x[i, 0] = 1 {{id=s, dep=*}}\nx[i, 0] = 2 {{id=u, dep={}}}"
    old = unproved("{ [i]: 0<=i<4 }", lines.format("*s"), X)
    new = unproved("{ [i]: 0<=i<4 }", lines.format(f"s[{{ [i] -> [i'] : {relation} }}]"), X)
    found = violation(old, new, UNMOVED)
    assert (found is not None) is bool(left)
    if found is not None:
        assert found.now == UNORDERED
        assert found.point["i"] == found.point["i'"]
        assert found.point["i"] in left


def test_temporaries_within_an_iteration() -> None:
    """The iterations may come in any order, unless one finds what another wrote."""
    moved = InstanceMap({"i": expression("3 - i")})
    for first, second, is_broken in (("w", "r", False), ("r", "w", True)):
        lines = {"w": "t = a[{0}] {{id=w, dep=*%s}}", "r": "y[{0}] = t {{id=r, inames=i, dep=*%s}}"}
        text = lines[first] % "" + "\n" + lines[second] % first
        old, new = (unproved("{ [i]: 0<=i<4 }", text.format(i), PRIVATE, Y) for i in ("i", "(3-i)"))
        found = violation(old, new, moved)
        assert (found is not None) is is_broken
        if found is not None:
            assert (found.name, found.now) == ("t", REVERSED)


def test_what_is_assumed_of_sizes() -> None:
    lines = "x[{0}+1, 0] = x[{0}, 0] {{id=s}}"
    for assumptions, is_broken in (("n >= 0", True), ("n <= 1", False)):
        old, new = (
            unproved("{ [i]: 0<=i<n }", lines.format(i), X, assumptions=assumptions)
            for i in ("i", "(n-1-i)")
        )
        found = violation(old, new, InstanceMap({"i": expression("n - 1 - i")}))
        assert (found is not None) is is_broken


def test_an_empty_domain_breaks_nothing() -> None:
    for bound, is_broken in (("n", True), ("n and n <= 0", False), ("n and n <= 1", False)):
        lines = "x[{0}+1, 0] = x[{0}, 0] {{id=s}}"
        old = unproved(f"{{ [i]: 0<=i<{bound} }}", lines.format("i"), X)
        new = unproved(f"{{ [i]: 0<=i<{bound} }}", lines.format("(n-1-i)"), X)
        found = violation(old, new, InstanceMap({"i": expression("n - 1 - i")}))
        assert (found is not None) is is_broken


def test_data_in_subscripts() -> None:
    """Any two may touch one element: that is not certain; if they are told not to, they do not."""
    idx = pg.GlobalArg("idx", "int32", "4")
    lines = "y[idx[{0}]] = y[idx[{0}]] + 1 {{id=s}}"
    old = unproved("{ [i]: 0<=i<4 }", lines.format("i"), idx, Y)
    new = unproved("{ [i]: 0<=i<4 }", lines.format("(3-i)"), idx, Y)
    moved = InstanceMap({"i": expression("3 - i")})
    found = violation(old, new, moved)
    assert found is not None
    assert not found.certain
    with pg.without_proofs():
        old, new = (pg.assume_injective(knl, "idx") for knl in (old, new))
    assert violation(old, new, moved) is None


def test_variables_that_are_not_to_be_looked_at() -> None:
    lines = "x[{0}+1, 0] = x[{0}, 0] {{id=s}}"
    old = unproved("{ [i]: 0<=i<4 }", lines.format("i"), X)
    new = unproved("{ [i]: 0<=i<4 }", lines.format("(3-i)"), X)
    moved = InstanceMap({"i": expression("3 - i")})
    assert violation(old, new, moved) is not None
    assert violation(old, new, moved, frozenset({"y"})) is not None
    assert violation(old, new, moved, frozenset({"x"})) is None


def test_arrays_that_may_overlap() -> None:
    """Nobody knows which elements of two are one; so every order counts."""
    for overlap in (False, True):
        data = [pg.GlobalArg(name, "float64", "4", may_alias=overlap) for name in "ab"]
        old = unproved("{ [i]: 0<=i<4 }", "a[i] = b[i] {id=s}", *data)
        new = unproved("{ [i]: 0<=i<4 }", "a[3-i] = b[3-i] {id=s}", *data)
        moved = InstanceMap({"i": expression("3 - i")})
        for skip in (frozenset[str](), frozenset({"a", "b"})):
            found = violation(old, new, moved, skip)
            assert (found is not None) is overlap
            if found is not None:
                assert {found.name, found.other_name} == {"a", "b"}
                assert not found.certain


# --- hardware axes and copies


def test_an_axis_orders_nothing() -> None:
    lines = "y[{}] = y[{}] + 1 {{id=s}}"
    for write, read, is_broken in (("i", "i", False), ("i + 1", "i", True), ("i//2", "i//2", True)):
        old = unproved("{ [i]: 0<=i<4 }", lines.format(write, read), Y)
        found = violation(old, tagged(old, i="g.0"), UNMOVED)
        assert (found is not None) is is_broken
        if found is not None:
            assert found.now == UNORDERED
            a, b = found.point["i"], found.point["i'"]
            assert a != b
            elements = [
                {python_value(write, {"i": i}), python_value(read, {"i": i})} for i in (a, b)
            ]
            assert elements[0] & elements[1]


def test_an_axis_along_which_the_old_loop_ran_downward() -> None:
    lines = "y[{0} + 1] = y[{0}] + 1 {{id=s}}"
    old, new = (unproved("{ [i]: 0<=i<4 }", lines.format(i), Y) for i in ("i", "(3-i)"))
    found = violation(old, tagged(new, i="g.0"), InstanceMap({"i": expression("3 - i")}))
    assert found is not None
    assert found.now == UNORDERED
    assert found.point["i"] == found.point["i'"] + 1


def test_a_copy_of_its_own_for_each_work_item() -> None:
    """What one wrote, all read before; now each has what he wrote himself, if he wrote."""
    lines = "t = a[i] {id=w, dep=*, inames=i}\ny[j] = t {id=r, dep=*w, inames=j}"
    loops = unproved(["{ [i]: 0<=i<4 }", "{ [j]: 0<=j<4 }"], lines, PRIVATE, Y)
    assert violation(loops, loops, UNMOVED) is None
    found = violation(loops, tagged(loops, i="l.0"), UNMOVED)
    assert found is not None
    assert (found.first, found.second, found.now) == ("w", "r", SEPARATED)
    both = tagged(loops, i="l.0", j="l.0")
    assert violation(both, both, UNMOVED) is None
    # And the other way round: what was several is one.
    found = violation(both, loops, UNMOVED)
    assert found is not None
    assert found.name == "t"
    assert found.now == MERGED


def test_copies_that_nothing_is_passed_through() -> None:
    lines = "t = a[i] {id=w, dep=*}\ny[i] = t {id=r, dep=*w}"
    loop = unproved("{ [i]: 0<=i<4 }", lines, PRIVATE, Y)
    axis = tagged(loop, i="l.0")
    assert violation(loop, axis, UNMOVED) is None
    assert violation(axis, loop, UNMOVED) is None
    shared = pg.TemporaryVariable("t", "float64", address_space=pg.AddressSpace.LOCAL)
    loop = unproved("{ [i]: 0<=i<4 }", lines, shared, Y)
    found = violation(loop, tagged(loop, i="l.0"), UNMOVED)
    assert found is not None
    assert (found.name, found.now) == ("t", UNORDERED)


def test_what_nothing_reads() -> None:
    """Its writes may come in any order, but not at once; what each has for itself, even so."""
    for space, is_broken in ((pg.AddressSpace.LOCAL, True), (pg.AddressSpace.PRIVATE, False)):
        t = pg.TemporaryVariable("t", "float64", address_space=space)
        loop = unproved("{ [i]: 0<=i<4 }", "t = a[i] {id=w}", t)
        back = unproved("{ [i]: 0<=i<4 }", "t = a[3-i] {id=w}", t)
        assert violation(loop, back, InstanceMap({"i": expression("3 - i")})) is None
        found = violation(loop, tagged(loop, i="l.0"), UNMOVED)
        assert (found is not None) is is_broken
        if found is not None:
            assert (found.name, found.kind, found.now) == ("t", "output", UNORDERED)


def test_temporaries_that_are_filled_in_each_iteration() -> None:
    """Only if all that is read is filled, other iterations are met by chance alone."""
    lines = "t[x] = a[{0}, x] {{id=w, dep=*}}\nb[{0}, y] = t[3 - y] {{id=r, dep=*w, inames=o:y}}"
    t = pg.TemporaryVariable("t", "float64", 4)
    for filled, is_broken in ((4, False), (3, True)):
        domains = ["{ [o]: 0<=o<3 }", f"{{ [x]: 0<=x<{filled} }}", "{ [y]: 0<=y<4 }"]
        old, new = (unproved(domains, lines.format(o), t, order="o, x") for o in ("o", "(2-o)"))
        found = violation(old, new, InstanceMap({"o": expression("2 - o")}))
        assert (found is not None) is is_broken
        if found is not None:
            assert (found.name, found.now) == ("t", REVERSED)
