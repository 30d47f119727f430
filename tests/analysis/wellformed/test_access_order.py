"""Whether conflicting instances come in an order, beside executions in several orders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.values.sound_accesses import NOTHING, Unchanged
from polygen.analysis.wellformed.access_order import check_order, check_pairs, deciding_nests
from polygen.analysis.wellformed.obligations import ORDERED
from polygen.errors import NestingDecides, UnorderedAccess, WrittenTwice
from polygen.ir.kernel import Kernel
from tests.analysis.wellformed.unproved import LINE, SQUARE, array, unproved
from tests.oracle.compare import make_arguments
from tests.oracle.interpreter import interpret

LINES = [LINE, "{ [j]: 0<=j<n }", "{ [k]: 0<=k<n }"]
DATA = tuple(array(name, "2*n + 1") for name in "abc")

# Instructions, the iname on an axis, and whether there is one result.
CASES: dict[str, tuple[str, str | None, bool]] = {
    "a dependency": ("a[i] = b[i] {id=s}\nc[i] = a[i] {id=t, dep=s}", None, True),
    "none": ("a[i] = b[i] {id=s, dep=}\nc[i] = a[i] {id=t, dep=*}", None, False),
    "other elements": ("a[2*i] = 1 {id=s}\na[2*i+1] = 2 {id=t}", None, True),
    "two writes": ("a[i] = 1 {id=s}\na[j] = 2 {id=t}\nc[k] = a[k] {dep=s:t}", None, False),
    "two writes in order": (
        "a[i] = 1 {id=s}\na[j] = 2 {id=t, dep=s}\nc[k] = a[k] {dep=s:t}",
        None,
        True,
    ),
    "a loop that carries": ("a[i+1] = a[i] + b[i] {id=s}", None, True),
    "work items that carry": ("a[i+1] = a[i] + b[i] {id=s}", "i", False),
    "work items apart": ("a[2*i+1] = a[2*i] + b[i] {id=s}", "i", True),
    "work items of one element": ("a[i//2] = b[i] {id=s}\nc[j] = a[j] {id=t, dep=s}", "i", False),
    "a loop of one element": ("a[i//2] = b[i] {id=s}\nc[j] = a[j] {id=t, dep=s}", None, True),
    "constants apart": ("a[0] = b[i] {id=s}\na[1] = a[0] {id=t, dep=s}", None, True),
    "only reads": ("b[i] = a[0] + a[i//2] {id=s}", "i", True),
}


def _kernel(text: str, parallel: str | None = None) -> Kernel:
    space = pg.AddressSpace.GLOBAL
    unread = [pg.TemporaryVariable("t", "float64", shape="n", address_space=space)]
    knl = unproved(LINES, text, *DATA, *(unread if "t[" in text else []))
    with pg.without_proofs():
        return pg.tag_inames(knl, {parallel: "g.0"}) if parallel else knl


def _has_one_result(knl: Kernel) -> bool:
    """Execute a kernel in several of the permitted orders."""
    arguments = make_arguments(knl, {"n": 4})
    runs = [interpret(knl, arguments, seed).arrays for seed in range(8)]
    return all(np.array_equal(runs[0][name], run[name]) for run in runs for name in runs[0])


@pytest.mark.parametrize("case", CASES)
def test_one_result(case: str) -> None:
    text, parallel, ordered = CASES[case]
    knl = _kernel(text, parallel)
    assert _has_one_result(knl) == ordered
    if ordered:
        assert list(check_order(knl, NOTHING)) == []
        return
    with pytest.raises(UnorderedAccess, match="leaves open which of two instances comes first"):
        list(check_order(knl, NOTHING))


@pytest.mark.parametrize(
    ("text", "parallel", "remedy"),
    [
        ("a[i] = 1 {id=s}\nc[i] = a[i] {id=t, dep=*}", None, "{dep=s} with 't'"),
        ("a[i+1] = a[i] {id=s}", "i", "leave 'i' in a loop"),
        ("t[i//2] = b[i] {id=s}", "i", "leave 's' out"),  # nothing reads it
    ],
)
def test_what_would_help(text: str, parallel: str | None, remedy: str) -> None:
    with pytest.raises(UnorderedAccess) as caught:
        list(check_pairs(_kernel(text, parallel), NOTHING))
    assert remedy in str(caught.value.remedy)


def test_variables_that_a_step_left_are_not_looked_at() -> None:
    knl = _kernel(CASES["none"][0])
    known = Unchanged(frozenset({"a"}), frozenset())
    assert list(check_order(knl, known)) == []
    with pytest.raises(UnorderedAccess):
        list(check_order(knl, Unchanged(frozenset({"b", "c"}), frozenset())))


def test_assignees_of_one_instruction() -> None:
    knl = _kernel("a[i], a[i//2] = 1, 2 {id=s}")
    assert list(check_pairs(knl, NOTHING)) == []
    with pytest.raises(WrittenTwice):
        list(check_order(knl, NOTHING))


def test_arrays_that_may_overlap() -> None:
    knl = unproved(
        LINE,
        "a[i] = b[i] {id=s}\nc[i] = b[i] {id=t}",
        *(array(name, "n", may_alias=name in "ab") for name in "abc"),
    )
    # The loop orders what s reads and writes in its iterations.
    assert {tuple(owed.instructions) for owed in check_order(knl, NOTHING)} == {("s", "t")}
    apart = unproved(LINE, "a[i] = b[i] {id=s}\nc[i] = b[i] {id=t}", *DATA)
    assert list(check_order(apart, NOTHING)) == []


# --- data


@pytest.mark.parametrize(
    ("text", "parallel", "what"),
    [
        (
            "a[p[i]] = 1 {id=s}\na[q[i]] = 2 {id=t}\nc[j] = a[j] {dep=s:t}",
            None,
            "s and t: a[p[i]] and a[q[i]] are never one element in the same iteration of i",
        ),
        (
            "a[p[i]] = b[i] {id=s}\nc[j] = a[j] {dep=s}",
            "i",
            "s: no two instances with different i touch one element, a[p[i]]",
        ),
    ],
)
def test_data_decides(text: str, parallel: str | None, what: str) -> None:
    data = (array(name, "n", dtype="int32") for name in "pq")
    knl = unproved(LINES, text, *DATA, *data)
    with pg.without_proofs():
        knl = pg.tag_inames(knl, {parallel: "g.0"}) if parallel else knl
    (owed,) = check_order(knl, NOTHING)
    assert str(owed) == what
    assert (owed.kind, owed.array) == (ORDERED, "a")
    assert owed.loose is not None


# --- nests

DIAGONALS = "a[i + j] = 2*a[i + j] + i {id=s}"
NEIGHBOURS = "a[i + 1, j] = a[i, j + 1] {id=s}"


def _square(text: str, **options: str) -> Kernel:
    shape = ("n + m",) if "+ j]" in text else ("n + 1", "m + 1")
    return unproved(SQUARE, text, array("a", *shape), **options)


@pytest.mark.parametrize("text", [DIAGONALS, NEIGHBOURS])
def test_which_loop_is_outside(text: str) -> None:
    """The result is another in another nest: by priorities it is one."""
    results: list[Any] = []
    for order in ("i, j", "j, i"):
        knl = _square(text, loop_priority=order)
        assert list(check_order(knl, NOTHING)) == []
        assert deciding_nests(knl) == ()
        arguments = make_arguments(knl, {"n": 3, "m": 3})
        results.append(interpret(knl, arguments).arrays["a"])
    assert not np.array_equal(results[0], results[1])
    knl = _square(text)
    with pytest.raises(NestingDecides, match="that over 'i' or that over 'j'"):
        list(check_order(knl, NOTHING))
    (nest,) = deciding_nests(knl)
    assert sorted(nest) == ["i", "j"]


def test_where_no_nest_decides() -> None:
    for text in ("a[i + 1, j] = a[i, j] {id=s}", "a[i + 1, j + 1] = a[i, j] {id=s}"):
        knl = unproved(SQUARE, text, array("a", "n + 1", "m + 1"))
        assert list(check_order(knl, NOTHING)) == []
        assert deciding_nests(knl) == ()


def test_nests_do_not_matter_for_what_is_overwritten() -> None:
    text = "a[i + j] = b[i, j] {id=s}\na[p] = 1 {dep=s}"
    data = array("a", "n + m"), array("b", "n", "m")
    knl = unproved([SQUARE, "{ [p]: 0<=p<n+m }"], text, *data)
    assert list(check_order(knl, NOTHING)) == []
    with pytest.raises(NestingDecides):
        list(check_order(unproved(SQUARE, text.partition("\n")[0], *data), NOTHING))


def test_writes_that_nothing_reads_may_come_in_any_order() -> None:
    space = pg.AddressSpace.GLOBAL
    unread = pg.TemporaryVariable("t", "float64", shape="n + m", address_space=space)
    knl = unproved(SQUARE, "t[i + j] = b[i, j] {id=s}", unread, array("b", "n", "m"))
    assert list(check_order(knl, NOTHING)) == []
