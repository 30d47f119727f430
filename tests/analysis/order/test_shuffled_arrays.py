"""Arrays in registers: who executes what, and whether he is in the reader's sub-group."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import polygen as pg
from polygen.analysis.order.shuffled_arrays import (
    GroupShape,
    group_shape,
    segment_length,
    shuffles_of,
)
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from tests.analysis.pair_sets import tagged, unproved
from tests.analysis.python_values import python_value

LOCAL = pg.AddressSpace.LOCAL
SIZE = 16  # of a group
SUB_GROUP = 4


def _shared(shape: Any = SIZE, **options: Any) -> pg.TemporaryVariable:
    return pg.TemporaryVariable("t", "float32", shape, LOCAL, **{"shuffled": True, **options})


def _exchange(
    reader: str, *, writer: str = "t[j] = 2*a[i, j]", t: Any = None, sub_group: int = SUB_GROUP
) -> Kernel:
    """Return a kernel whose work items read what others have written."""
    within = reader.replace("{id=", "{inames=i:k, id=")
    lines = f"{writer} {{id=w, dep=*, inames=i:j}}\n{within}"
    data = [_shared() if t is None else t, pg.GlobalArg("a, b", "float32", f"n, {SIZE}")]
    knl = unproved(f"{{ [i, j, k]: 0<=i<n and 0<=j,k<{SIZE} }}", lines, *data)
    with pg.without_proofs():
        knl = pg.set_options(knl, sub_group_size=sub_group)
    return tagged(knl, i="g.0", j="l.0", k="l.0")


# --- groups


def test_strides_count_the_first_axis_fastest() -> None:
    shape = GroupShape({1: 8, 0: 4, 2: 2}, {})
    items = list(product(range(2), range(8), range(4)))  # the last axis slowest
    at = {item: n for n, item in enumerate(items)}
    assert [shape.stride(axis) for axis in range(3)] == [
        at[0, 0, 1] - at[0, 0, 0],
        at[0, 1, 0] - at[0, 0, 0],
        at[1, 0, 0] - at[0, 0, 0],
    ]


def test_the_shape_of_all_groups() -> None:
    domains = ["{ [i]: 0<=i<n }", "{ [j]: 2<=j<6 }", "{ [k]: 0<=k<3 }", "{ [q]: 0<=q<4 }"]
    knl = unproved(domains, "b[i, j, k] = 1 {id=s}\nc[i, q] = 2 {id=u}")
    found = group_shape(tagged(knl, i="g.0", j="l.0", k="l.1"), "s")
    assert found == GroupShape({0: 4, 1: 3}, {"j": 2, "k": 0})
    assert group_shape(tagged(knl, j="l.0", q="l.0", k="l.1"), "s") == GroupShape(
        {0: 4, 1: 3}, {"j": 2, "k": 0, "q": 0}
    )
    # Another number along the first axis moves all that are further on; along the last, nobody.
    assert group_shape(tagged(knl, k="l.0", q="l.0", j="l.1"), "s") is None
    assert group_shape(tagged(knl, j="l.0", k="l.1", q="l.1"), "s") == GroupShape(
        {0: 4, 1: 4}, {"j": 2, "k": 0, "q": 0}
    )
    assert group_shape(tagged(knl, i="l.0"), "s") is None  # as long as n says
    assert group_shape(knl, "s") == GroupShape({}, {})
    # An instruction that is not there yet may be in any of them.
    assert group_shape(tagged(knl, k="l.0", q="l.0", j="l.1"), "not_yet") is None


def test_launches_have_groups_of_their_own() -> None:
    lines = """
        b[j, k] = 1 {id=s, dep=*}
        ... gbarrier {id=end, dep=*s}
        c[q, k] = 2 {id=u, dep=*end}
        """
    domains = ["{ [j]: 0<=j<8 }", "{ [k]: 0<=k<2 }", "{ [q]: 0<=q<4 }"]
    knl = tagged(unproved(domains, lines), j="l.0", q="l.0", k="l.1")
    assert group_shape(knl, "s") == GroupShape({0: 8, 1: 2}, {"j": 0, "k": 0})
    assert group_shape(knl, "u") == GroupShape({0: 4, 1: 2}, {"q": 0, "k": 0})
    # Nobody knows where this one is.
    loose = tagged(unproved(domains, lines.replace("dep=*end", "dep=*")), j="l.0", q="l.0", k="l.1")
    assert group_shape(loose, "u") is None


# --- registers


READS = ["k", "k + 1", "k - 2", "k + 3", "k + 4", "k - 1"]
CONDITIONS = [
    "k < 15",
    "k % 4 < 3",
    "k % 4 >= 2",
    "k < 3",
    "k % 4 < 1",
    "2 <= k and k < 4",
    "k < 1",
]


@pytest.mark.parametrize("read", READS)
def test_reads_within_a_sub_group(read: str) -> None:
    for condition in CONDITIONS:
        knl = _exchange(f"b[i, k] = t[{read}] {{id=r, dep=*w, if={condition}}}")
        executed = [k for k in range(SIZE) if python_value(condition, {"k": k})]
        others = {k: int(python_value(read, {"k": k})) for k in executed}
        is_near = all(0 <= o < SIZE and o // SUB_GROUP == k // SUB_GROUP for k, o in others.items())
        found = shuffles_of(knl)
        assert found.names == ({"t"} if is_near else set()), condition
        shown = {show_expression(node): far for node, far in found.of("r").items()}
        assert shown == (
            {f"t[{read}]": python_value(read, {"k": 0})} if is_near and read != "k" else {}
        )
        assert found.of("w") == {}


def test_along_a_slower_axis() -> None:
    """The next row is as many work items further on as a row has."""
    domains = "{ [x, y, p, q]: 0<=x,p<4 and 0<=y,q<4 }"
    lines = """
        t[y, x] = a[y, x] {{id=w, dep=*}}
        b[q, p] = t[{}] {{id=r, dep=*w, if={}}}
        """
    for read, condition, expected in (
        ("q + 1, p", "q % 2 < 1", 4),
        ("q + 1, p", "q % 2 > 0 and q < 3", None),  # in the next sub-group
        ("q, p + 1", "p < 3", 1),
        ("q, p + 1", "p < 4", None),  # there is nobody
        ("q, p - 1", "q % 2 > 0", None),  # the one before is in another row
        ("q + 1, p + 1", "q % 2 < 1 and p < 3", None),  # along two axes
        ("p, q", "p < 4", None),
    ):
        knl = unproved(domains, lines.format(read, condition), _shared("4, 4"))
        with pg.without_proofs():
            knl = pg.set_options(knl, sub_group_size=8)
        found = shuffles_of(tagged(knl, x="l.0", p="l.0", y="l.1", q="l.1"))
        assert [*found.of("r").values()] == ([] if expected is None else [expected])
        assert found.names == (set() if expected is None else {"t"})


NEXT = "b[i, k] = t[k + 1] {id=r, dep=*w, if=k % 4 < 3}"


@pytest.mark.parametrize(
    ("reader", "options"),
    [
        (NEXT, {"sub_group": 0}),
        (NEXT, {"t": _shared(shuffled=False)}),
        (NEXT, {"t": pg.TemporaryVariable("t", "float32", SIZE, shuffled=True)}),
        (NEXT, {"writer": "t[15 - j] = a[i, j]"}),
        (NEXT, {"writer": "t[j - 1] = a[i, j]"}),
        (NEXT, {"writer": "t[3] = a[i, j]"}),
        ("b[i, k] = t[15 - k] {id=r, dep=*w}", {}),
        ("b[i, k] = t[3] {id=r, dep=*w}", {}),
        ("b[i, k] = a[i, k] {id=r, dep=*w, if=t[k] > 0}", {}),
        ("t[k] = t[k] + 1 {id=r, dep=*w, atomic}", {}),
    ],
)
def test_what_has_to_be_in_memory(reader: str, options: dict[str, Any]) -> None:
    knl = _exchange(reader, **options)
    assert shuffles_of(knl).names == set()
    assert shuffles_of(knl).of("r") == {}


def test_all_users_count() -> None:
    """One of them that reads from afar keeps the array in memory for the other."""
    assert shuffles_of(_exchange(NEXT)).names == {"t"}
    both = f"{NEXT}\nb[i, k] = t[15 - k] {{id=far, dep=*r}}"
    assert shuffles_of(_exchange(both)).names == set()


def test_one_element_for_several_work_items_is_in_memory() -> None:
    lines = "t[j] = a[j] {id=w, dep=*, inames=j:y}\nb[j, y] = t[j] {id=r, dep=*w}"
    for rows, names in ((1, {"t"}), (2, set[str]())):
        knl = unproved(f"{{ [j, y]: 0<=j<16 and 0<=y<{rows} }}", lines, _shared())
        with pg.without_proofs():
            knl = pg.set_options(knl, sub_group_size=SUB_GROUP)
        assert shuffles_of(tagged(knl, j="l.0", y="l.1")).names == names


# --- segments


@pytest.mark.parametrize("sizes", [(16, 4), (4, 16), (3, 8), (8, 3), (6, 4), (12, 2)])
def test_places_in_a_row_in_one_sub_group(sizes: tuple[int, int]) -> None:
    x, y = sizes
    knl = unproved(f"{{ [x, y]: 0<=x<{x} and 0<=y<{y} }}", "b[x, y] = 1 {id=s}")
    knl = tagged(knl, x="l.0", y="l.1")
    for axis, size in product(range(2), (1, 2, 4, 8, 32)):
        length = segment_length(knl, "s", axis, sizes[axis], size)

        def is_whole(count: int, axis: int = axis, size: int = size) -> bool:
            """Tell whether segments of so many places are in one sub-group each."""
            segments: dict[tuple[int, int], set[int]] = {}
            for place in product(range(x), range(y)):
                key = (place[axis] // count, place[1 - axis])
                segments.setdefault(key, set()).add((place[0] + x * place[1]) // size)
            return all(len(groups) == 1 for groups in segments.values())

        assert is_whole(length)
        assert length & (length - 1) == 0
        if all(n & (n - 1) == 0 for n in sizes):
            assert length >= sizes[axis] or not is_whole(2 * length)


def test_no_more_places_than_there_are() -> None:
    knl = tagged(unproved("{ [x]: 0<=x<64 }", "b[x] = 1 {id=s}"), x="l.0")
    for extent, expected in ((1, 1), (2, 2), (3, 4), (5, 8), (32, 32), (64, 32)):
        assert segment_length(knl, "s", 0, extent, 32) == expected
    assert segment_length(knl, "s", 1, 8, 32) == 1  # no such axis
    unknown = tagged(unproved("{ [x]: 0<=x<n }", "b[x] = 1 {id=s}"), x="l.0")
    assert segment_length(unknown, "s", 0, 8, 32) == 1
