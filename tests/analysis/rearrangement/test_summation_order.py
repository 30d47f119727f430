"""In which order reductions are added up, before a step and after it, beside enumeration."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest

import polygen as pg
from polygen.analysis.access.instance_map import UNMOVED, InstanceMap
from polygen.analysis.rearrangement.summation_order import Reordered, may_reorder, reordered
from polygen.ir.kernel import Kernel
from tests.analysis.pair_sets import expression, tagged, unproved
from tests.analysis.python_values import python_value

COUNT = 8
A = pg.GlobalArg("a", "float32", COUNT)


def _old(operation: str = "sum", a: pg.GlobalArg = A) -> Kernel:
    return unproved(f"{{ [j]: 0<=j<{COUNT} }}", f"c[0] = {operation}(j, a[j]) {{id=r, inames=}}", a)


def _new(
    domain: str, value: str, inames: str, *, operation: str = "sum", a: pg.GlobalArg = A
) -> Kernel:
    """Return a kernel whose reduction runs over these inames, the first outermost."""
    order = inames if "," in inames else ""
    text = f"c[0] = {operation}(({inames},), a[{value}]) {{id=r, inames=}}"
    return unproved(domain, text, a, order=order)


def _moved(value: str) -> InstanceMap:
    return InstanceMap({"j": expression(value)})


def _sequence(domain: Sequence[range], value: str, names: Sequence[str]) -> list[int]:
    """Return the old values in the order in which they are added up now."""
    return [
        int(python_value(value, dict(zip(names, point, strict=True)))) for point in product(*domain)
    ]


CASES = [
    ("p", [range(8)], "p"),
    ("p - 3", [range(3, 11)], "p"),
    ("7 - p", [range(8)], "p"),
    ("4*p + q", [range(2), range(4)], "p, q"),
    ("p + 2*q", [range(2), range(4)], "p, q"),
    ("4*p + 3 - q", [range(2), range(4)], "p, q"),
    ("4*(1 - p) + q", [range(2), range(4)], "p, q"),
    ("9*p + q", [range(1), range(8)], "p, q"),
]


@pytest.mark.parametrize(("value", "domain", "inames"), CASES)
def test_sums_over_other_inames(value: str, domain: list[range], inames: str) -> None:
    """Both loops run upward: it is the same order if the old values count up."""
    names = inames.split(", ")
    bounds = [f"{values.start}<={n}<{values.stop}" for n, values in zip(names, domain, strict=True)]
    new = _new(f"{{ [{inames}]: {' and '.join(bounds)} }}", value, inames)
    found = reordered(_old(), new, _moved(value), rounding=True)
    sequence = _sequence(domain, value, names)
    assert sorted(sequence) == list(range(COUNT))
    assert (found is None) is (sequence == sorted(sequence))
    assert reordered(_old(), new, _moved(value), rounding=False) is None
    if found is None:
        return
    assert (found.insn_id, found.inames) == ("r", tuple(names))
    assert found.reduction.inames == ("j",)
    assert found.point is not None
    first, second = ([found.point[n + mark] for n in names] for mark in ("", "'"))
    assert first < second  # now, in the order of the loops
    old = [python_value(value, dict(zip(names, p, strict=True))) for p in (first, second)]
    assert old[0] > old[1]


@pytest.mark.parametrize(
    ("operation", "dtype", "is_free"),
    [
        ("sum", "float32", False),
        ("product", "float64", False),
        ("sum", "int32", True),
        ("sum", "complex64", False),
        ("max", "float32", True),
        ("min", "int64", True),
        ("any", "bool", True),
    ],
)
def test_what_is_the_same_in_any_order(operation: str, dtype: str, is_free: bool) -> None:
    a = pg.GlobalArg("a", dtype, COUNT)
    new = _new("{ [p]: 0<=p<8 }", "7 - p", "p", operation=operation, a=a)
    old = _old(operation, a)
    assert (reordered(old, new, _moved("7 - p"), rounding=True) is None) is is_free
    (reduction,) = old.instruction("r").reductions
    assert may_reorder(old, reduction)  # by default, rounding may change
    with pg.without_proofs():
        strict = pg.set_options(old, allow_reassociation=False)
    assert may_reorder(strict, reduction) is is_free


def test_a_type_that_is_not_known() -> None:
    """Extrema are the same in any order, whatever they are of; a sum may be one of floats."""
    untyped = pg.GlobalArg("a", shape=COUNT)
    for operation, is_free in (("sum", False), ("max", True)):
        with pg.without_proofs():
            old = pg.set_options(_old(operation, untyped), allow_reassociation=False)
        (reduction,) = old.instruction("r").reductions
        assert may_reorder(old, reduction) is is_free
        new = _new("{ [p]: 0<=p<8 }", "7 - p", "p", operation=operation, a=untyped)
        assert (reordered(old, new, _moved("7 - p"), rounding=True) is None) is is_free


def test_what_no_order_but_one_gives() -> None:
    """Of a sum that starts anew at flags, the order is part of what it means."""
    text = "c[0], d[0] = segmented(sum)(j, a[{0}], f[{0}]) {{id=r, inames=}}"
    data = [pg.GlobalArg("a", "int32", COUNT), pg.GlobalArg("f", "bool", COUNT)]
    old, new = (unproved("{ [j]: 0<=j<8 }", text.format(j), *data) for j in ("j", "7 - j"))
    assert not may_reorder(old, old.instruction("r").reductions[0])
    for rounding in (False, True):
        assert reordered(old, new, _moved("7 - j"), rounding=rounding) is not None
        assert reordered(old, old, UNMOVED, rounding=rounding) is None


def test_on_an_axis_there_is_no_order() -> None:
    """What gets none is another order; what had none, any order is."""
    old = _old()
    parallel = tagged(old, j="l.0")
    found = reordered(old, parallel, UNMOVED, rounding=True)
    assert found is not None
    assert found.point is not None
    assert found.point["j"] < found.point["j'"]
    assert reordered(parallel, old, UNMOVED, rounding=True) is None
    assert reordered(parallel, parallel, UNMOVED, rounding=True) is None


def test_a_sum_that_is_there_no_more() -> None:
    old = _old()
    without = unproved("{ [j]: 0<=j<8 }", "c[0] = a[0] {id=r, inames=}", A)
    other = unproved("{ [j]: 0<=j<8 }", "c[0] = product(j, a[j]) {id=r, inames=}", A)
    nothing = unproved("{ [j]: 0<=j<8 }", "c[0] = a[0] {id=other, inames=}", A)
    for new in (without, other, nothing):
        found = reordered(old, new, UNMOVED, rounding=True)
        assert found == Reordered("r", old.instruction("r").reductions[0])
        assert reordered(old, new, UNMOVED, rounding=False) is None
    assert reordered(without, old, UNMOVED, rounding=True) is None  # there was none


def test_the_order_of_two_loops_in_the_kernel_counts() -> None:
    text = "c[0] = sum((i, j), a[i, j]) {id=r, inames=}"
    a = pg.GlobalArg("a", "float32", "4, n")
    rows, columns = (
        unproved("{ [i, j]: 0<=i<4 and 0<=j<n }", text, a, order=order)
        for order in ("i, j", "j, i")
    )
    assert reordered(rows, rows, UNMOVED, rounding=True) is None
    found = reordered(rows, columns, UNMOVED, rounding=True)
    assert found is not None
    assert found.point is not None
    p = found.point
    assert (p["j"], p["i"]) < (p["j'"], p["i'"])
    assert (p["i"], p["j"]) > (p["i'"], p["j'"])
    one = unproved("{ [i, j]: 0<=i<4 and 0<=j<n }", text, a, order="j, i", assumptions="n <= 1")
    assert reordered(rows, one, UNMOVED, rounding=True) is None


def test_sums_in_sums_are_looked_at_one_by_one() -> None:
    text = "c[0] = sum(i, b[i]*sum(j, a[{}])) {{id=r, inames=}}"
    old, new = (unproved("{ [i, j]: 0<=i,j<8 }", text.format(j), A) for j in ("j", "7 - j"))
    found = reordered(old, new, _moved("7 - j"), rounding=True)
    assert found is not None
    assert found.reduction.inames == ("j",)
    assert found.inames == ("j",)


def test_each_sum_has_an_order_of_its_own() -> None:
    """Values of different sums may come in any order."""
    old = unproved("{ [i, j]: 0<=i<4 and 0<=j<8 }", "c[i] = sum(j, a[j]) {id=r}", A)
    new = unproved("{ [i, p]: 0<=i<4 and i<=p<i+8 }", "c[i] = sum(p, a[p - i]) {id=r}", A)
    back = unproved("{ [i, p]: 0<=i<4 and i<=p<i+8 }", "c[i] = sum(p, a[7 + i - p]) {id=r}", A)
    assert reordered(old, new, _moved("p - i"), rounding=True) is None
    found = reordered(old, back, _moved("7 + i - p"), rounding=True)
    assert found is not None
    assert found.point is not None
    assert found.point["i"] == found.point["i'"]
