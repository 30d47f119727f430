"""Elements of which it is not proved that two kernels leave the same, beside executions."""

from __future__ import annotations

import pytest

from polygen.analysis.equality.prove import unproved
from polygen.ir.kernel import Kernel
from tests.analysis.equality.small_kernels import LINE, agreeing, at_sizes, numbers, ordered

SIZES = [{"n": n} for n in (2, 3, 6)]
DATA = tuple(numbers(name, "float64", "n") for name in ("a", "b", "out"))
KNOWN = {"assumptions": "n >= 2"}

PAIRS = {
    "nothing": ("out[i] = a[i]", "<> t = a[i]\nout[i] = t"),
    "all": ("out[i] = a[i]", "out[i] = b[i]"),
    "one element": ("out[i] = a[i]", "out[i] = a[i]\nout[n-1] = b[0] {inames=i}"),
    "where one writes": ("out[i] = a[i] {if=i > 1}", "out[i] = a[i]"),
    "an array that is not written": ("out[i] = a[i]", "a[i] = b[i]"),
    "a condition that is data": (
        "out[i] = a[i] {if=b[i] > 0}",
        "out[i] = if(b[i] > 0, a[i], out[i])",
    ),
}


def _left(first: Kernel, second: Kernel) -> dict[str, set[tuple[int, ...]]]:
    """Return the sizes and elements, by array."""
    return {
        each.name: at_sizes(each.points, each.axes, SIZES)
        for each in unproved(first, second, reorders=False)
    }


@pytest.mark.parametrize("case", PAIRS)
def test_what_executions_leave_different(case: str) -> None:
    first, second = (ordered(LINE, text, *DATA, **KNOWN) for text in PAIRS[case])
    wanted: dict[str, set[tuple[int, ...]]] = {}
    for name in ("a", "b", "out"):
        everything: set[tuple[int, ...]] = {(s["n"], e) for s in SIZES for e in range(s["n"])}
        differ = everything.difference(agreeing(first, second, name, SIZES))
        if differ:
            wanted[name] = differ
    assert _left(first, second) == wanted


def test_assumptions_of_both_hold() -> None:
    """Where one of them may not be called, nothing is compared."""
    first = ordered(LINE, "out[i] = a[i]", *DATA, assumptions="n <= 2")
    second = ordered(LINE, "out[i] = if(i < 2, a[i], b[i])", *DATA)
    assert unproved(first, second, reorders=False) == ()
    assert unproved(second, first, reorders=False) == ()
    (left,) = unproved(second.copy(), ordered(LINE, "out[i] = a[i]", *DATA), reorders=False)
    assert at_sizes(left.points, left.axes, SIZES) == {(3, 2), (6, 2), (6, 3), (6, 4), (6, 5)}


def test_temporaries_do_not_count() -> None:
    first = ordered(LINE, "<> t = a[i]\nout[i] = b[i]", *DATA)
    second = ordered(LINE, "<> u = 2*a[i]\nout[i] = b[i]", *DATA)
    assert unproved(first, second, reorders=False) == ()


def test_obstacles_are_those_of_the_array() -> None:
    data = (*DATA, numbers("other", "float64", "n"), numbers("idx", "int32", "n"))
    first = ordered(LINE, "out[idx[i]] = a[i]\nother[i] = a[i]", *data, name="first")
    second = ordered(LINE, "out[idx[i]] = a[i]\nother[i] = b[i]", *data, name="second")
    other, out = unproved(first, second, reorders=False)
    assert (other.name, other.obstacles) == ("other", ())
    assert out.name == "out"
    inside = {(s["n"], e) for s in SIZES for e in range(s["n"])}
    assert at_sizes(out.points, out.axes, SIZES) == inside
    assert "data decides which write of 'out' is seen in kernel 'first'" in out.obstacles


def test_sums_in_another_order() -> None:
    first = ordered(LINE, "out[i] = a[i] + (b[i] + 1)", *DATA)
    second = ordered(LINE, "out[i] = (a[i] + b[i]) + 1", *DATA)
    assert [each.name for each in unproved(first, second, reorders=False)] == ["out"]
    assert unproved(first, second, reorders=True) == ()


def test_two_axes() -> None:
    data = [numbers(name, "float64", "n", "m") for name in ("a", "out")]
    square = ["{ [i, j]: 0<=i<n and 0<=j<m }"]
    first = ordered(square, "out[i, j] = a[i, j]", *data)
    second = ordered(square, "out[i, j] = if(i + j < 3, a[i, j], 2*a[i, j])", *data)
    (left,) = unproved(first, second, reorders=False)
    found = at_sizes(left.points, left.axes, [{"n": 3, "m": 4}])
    assert found == {(3, 4, i, j) for i in range(3) for j in range(4) if i + j >= 3}
