"""Which of two instances comes first, beside all that a loop tree and dependencies say."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product

import islpy as isl
import pytest

from polygen.analysis.order.instance_order import Order, Piece, order_of
from polygen.analysis.pairs.instance_pairs import piece_set
from polygen.errors import DependencyCycle, RelationContradicted
from polygen.ir.kernel import Kernel
from tests.analysis.flat import where
from tests.analysis.pair_sets import listed, tagged, unproved

FEW = range(3)
BOX = "{ [i, j, k]: 0<=i,j,k<3 }"
TREE = """
    a[i, j] = 1 {id=a, dep=*}
    b[i, j] = 2 {id=b, dep=*a}
    c[i] = 3 {id=c, dep=*b}
    d[i, k] = 4 {id=d, dep=*c}
    e[k] = 5 {id=e, dep=*}
    """


def _kernel(lines: str = TREE, **tags: str) -> Kernel:
    domains = [f"{{ [{i}]: 0<={i}<3 }}" for i in "ijk"]
    return tagged(unproved(domains, lines, order="i, j"), **tags)


def _own(lines: str) -> Kernel:
    """Return a kernel of which no two instructions share a loop unless they name it."""
    return unproved([f"{{ [{i}]: 0<={i}<3 }}" for i in "ij"], lines)


def _pairs(order: Order, first: str, second: str, names: list[str]) -> set[tuple[int, ...]]:
    """Return the pairs of which the first comes first; the pieces have none in common."""
    found: set[tuple[int, ...]] = set()
    for piece in order.before(first, second):
        here = listed(piece_set(isl.Set("{ : }"), piece), names, FEW)
        assert here.isdisjoint(found)
        found |= here
    return found


def test_loops_and_places() -> None:
    lines = "\n".join(line for line in TREE.splitlines() if "id=e" not in line)
    order = order_of(_kernel(lines.replace("d[i, k]", "d[k, i]")))
    assert [order.loops(insn) for insn in "abc"] == [("i", "j"), ("i", "j"), ("i",)]
    assert set(order.loops("d")) == {"i", "k"}
    assert order.loops("d")[0] == "i"
    assert order.shared_loops("a", "b") == ("i", "j")
    assert order.shared_loops("a", "c") == ("i",)
    assert order.shared_loops("b", "d") == ("i",)
    assert order.path("a") < order.path("b") < order.path("c") < order.path("d")


@pytest.mark.parametrize(
    ("first", "second", "is_after"),
    [
        ("a", "b", True),
        ("b", "a", False),
        ("b", "c", True),
        ("a", "c", True),  # through b's loop
        ("a", "d", True),
        ("c", "d", True),
        ("d", "c", False),
        ("a", "a", False),
    ],
)
def test_dependencies_through_others(first: str, second: str, is_after: bool) -> None:
    lines = "\n".join(line for line in TREE.splitlines() if "id=e" not in line)
    assert order_of(_kernel(lines)).depends(first, second) is is_after


def test_instances_in_the_order_of_their_loops() -> None:
    order = order_of(_kernel("\n".join(TREE.splitlines()[:4])))
    a, b = (lambda i, j: (i, j, 0)), (lambda i, j: (i, j, 1))
    times: dict[str, Callable[..., tuple[int, ...]]] = {"a": a, "b": b}
    for first, second in product("ab", repeat=2):
        expected = where(
            lambda i, j, k, m, x=times[first], y=times[second]: x(i, j) < y(k, m), 4, FEW
        )
        assert _pairs(order, first, second, ["i", "j", "i'", "j'"]) == expected
    # Of c, there is one instance for each i: those with an earlier i come before.
    names = ["i", "j", "i'"]
    assert _pairs(order, "a", "c", names) == where(lambda i, _j, k: i <= k, 3, FEW)
    assert _pairs(order, "c", "a", ["i", "i'", "j'"]) == where(lambda i, k, _m: i < k, 3, FEW)


def test_what_nothing_orders() -> None:
    order = order_of(_own("a[i] = 1 {id=a, dep=*}\nb[j] = 2 {id=b, dep=*}"))
    assert list(order.before("a", "b")) == list(order.before("b", "a")) == []
    assert order.shared_loops("a", "b") == ()


def test_inames_on_an_axis_order_nothing() -> None:
    knl = _kernel("a[i, j] = 1 {id=a, dep=*}\nb[i, j] = 2 {id=b, dep=*a}", i="l.0")
    order = order_of(knl)
    assert order.loops("a") == ("j",)
    assert list(order.before("a", "a")) == [Piece((), "j")]
    assert list(order.before("a", "b")) == [Piece((), "j"), Piece(("j",), None)]


def test_every_two_instances_of_one_nest_come_in_one_order() -> None:
    order = order_of(_kernel("\n".join(TREE.splitlines()[:4])))
    for first, second in combinations("abc", 2):
        names = ["i", "j", "i'", "j'"][: 3 if second == "c" else 4]
        before = _pairs(order, first, second, names)
        back = ["i'", "j'", "i"] if second == "c" else ["i'", "j'", "i", "j"]
        after = _pairs(order, second, first, back)
        assert before.isdisjoint(after)
        assert len(before | after) == 3 ** len(names)


# --- dependencies on some instances


def test_pairs_that_a_relation_orders() -> None:
    lines = "a[i] = 1 {id=a, dep=*}\nb[j] = 2 {id=b, dep=a[{ [i] -> [j'] : j' = i + 1 }]}"
    order = order_of(_own(lines))
    expected = where(lambda i, j: j == i + 1, 2, FEW)
    assert _pairs(order, "a", "b", ["i", "j'"]) == expected
    assert _pairs(order, "b", "a", ["j", "i'"]) == set()
    assert not order.depends("a", "b")
    assert order.related("b", "a") is None
    related = order.related("a", "b")
    assert related is not None
    assert listed(related, ["i", "j'"], FEW) == expected
    # Asked the other way, the second's instance is the first of the pair.
    for first, second, names in (("a", "b", ["i", "j'"]), ("b", "a", ["i'", "j"])):
        either = order.related_either_way(first, second)
        assert either is not None
        assert listed(either, names, FEW) == expected


def test_pairs_that_loops_order_anyway() -> None:
    lines = "a[i] = 1 {{id=a, dep=*}}\nb[i] = 2 {{id=b, dep=a[{{ [i] -> [i'] : {} }}]}}"
    order = order_of(_own(lines.format("i' = i + 1")))
    assert order.related("a", "b") is None
    assert order.related_either_way("a", "b") is None
    names = ["i", "i'"]
    assert _pairs(order, "a", "b", names) == where(lambda a, b: a < b, 2, FEW)
    order = order_of(_own(lines.format("i <= i' and i != 1")))
    expected = where(lambda a, b: a < b or a == b != 1, 2, FEW)
    assert _pairs(order, "a", "b", names) == expected
    assert _pairs(order, "b", "a", names) == where(lambda a, b: a < b, 2, FEW)


@pytest.mark.parametrize(
    ("of", "relation", "why"),
    [
        ("a", "i' = i - 1", "the loop of 'i' puts the second first"),
        ("a", "i' >= 0", "the loop of 'i' puts the second first"),
        ("b", "i' = i", "no loop orders these"),
    ],
)
def test_relations_against_the_loops_are_refused(of: str, relation: str, why: str) -> None:
    lines = f"a[i] = 1 {{id=a, dep=*}}\nb[i] = 2 {{id=b, dep={of}[{{ [i] -> [i'] : {relation} }}]}}"
    knl = _own(lines)
    with pytest.raises(RelationContradicted, match=why):
        order_of(knl)


def test_no_order_at_all() -> None:
    with pytest.raises(DependencyCycle):
        _own("a[i] = 1 {id=a, dep=*b}\nb[i] = 2 {id=b, dep=*a}")
