"""Reads of elements that data chooses: a number for each element of data."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl
import pytest

import polygen as pg
from polygen.analysis.dataflow.comparison_context import Context, Frame, Names
from polygen.analysis.dataflow.data_lookups import for_all_values
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from tests.analysis.bounded import enumerated
from tests.oracle.cases import kernel
from tests.proof.patterns import array

KNL = kernel(
    "{ [i]: 0<=i<n }",
    "out[i] = a[i] {id=s}",
    array("out", "n"),
    array("a", "n"),
    array("table", "3, 5"),
    array("kind", "n", dtype="int32"),
    pg.ValueArg("x", "float64"),
)
INAME = ex.Variable("i")
KIND = ex.element(ex.Variable("kind"), (INAME,))
BEFORE = ex.element(ex.Variable("kind"), (ex.sum_of(INAME, -1),))
FRAMES = [Frame(KNL, KNL.assignment("s"), {"i": name}) for name in "pq"]
AT = Context(isl.Set("[n, p, q] -> { : 0 <= p < n and q = p + 1 }"), *FRAMES)


def _table(*index: Expression) -> Expression:
    return ex.element(ex.Variable("table"), index)


def _never(old: Expression, new: Expression, at: Context) -> object:
    return "another"


def _numbers(frame: Frame) -> list[str]:
    return sorted(frame.numbers)


def test_data_that_is_the_same_is_one_number() -> None:
    asked: list[tuple[Expression, Expression]] = []

    def difference(old: Expression, new: Expression, at: Context) -> object:
        assert at is AT
        asked.append((old, new))
        return None

    nodes = _table(2, ex.sum_of(KIND, 1)), _table(2, ex.sum_of(BEFORE, 1))
    found = for_all_values(nodes, AT, Names(), difference)
    assert found is not None
    old, new, at = found
    assert asked == [(KIND, BEFORE)]
    (number,) = _numbers(at.old)
    assert at.new.numbers == {number}
    assert old == new == _table(2, ex.sum_of(ex.Variable(number), 1))
    # The element is in the array: 0 <= number + 1 < 5.
    points = enumerated(at.points, ["p", "q", number], {"n": 2})
    assert points == {(p, p + 1, number) for p in range(2) for number in range(-1, 4)}


def test_data_that_differs_is_another_number() -> None:
    found = for_all_values((_table(0, KIND), _table(0, BEFORE)), AT, Names(), _never)
    assert found is not None
    old, new, at = found
    (was,), (now,) = _numbers(at.old), _numbers(at.new)
    assert was != now
    assert (old, new) == (_table(0, ex.Variable(was)), _table(0, ex.Variable(now)))


def test_each_element_of_data_has_one_number() -> None:
    found = for_all_values((_table(KIND, KIND), _table(KIND, BEFORE)), AT, Names(), _never)
    assert found is not None
    old, new, at = found
    (number,) = _numbers(at.old)
    assert old == _table(ex.Variable(number), ex.Variable(number))
    first, second = ex.index_of(new)
    assert first != second
    assert {str(first), str(second)} == at.new.numbers


def test_data_may_be_in_one_of_the_two() -> None:
    found = for_all_values((_table(0, INAME), _table(0, KIND)), AT, Names(), _never)
    assert found is not None
    old, _, at = found
    assert old == _table(0, INAME)
    assert (len(at.old.numbers), len(at.new.numbers)) == (0, 1)
    # What the old kernel reads is inside: table has five columns.
    assert enumerated(at.points, ["p", "q"], {"n": 9}) == {(p, p + 1) for p in range(5)}


@pytest.mark.parametrize(
    "node",
    [
        _table(0, INAME),  # no data
        ex.Variable("x"),  # no element
        _table(0, ex.product_of(KIND, KIND)),  # its bounds are not affine
    ],
)
def test_other_reads(node: Expression) -> None:
    assert for_all_values((node, node), AT, Names(), _never) is None


def test_frames_that_have_numbers_already() -> None:
    nodes = _table(0, KIND), _table(0, KIND)
    used = replace(FRAMES[0], numbers=frozenset(["v"]))
    assert for_all_values(nodes, replace(AT, old=used), Names(), _never) is None
    assert for_all_values(nodes, replace(AT, new=used), Names(), _never) is None
