"""Loops whose bounds are data: which of two kernels' bounds have one name."""

from __future__ import annotations

import islpy as isl

from polygen.analysis.dataflow.comparison_context import Frame, Names
from polygen.analysis.equality.compared_values import Value, own_names
from polygen.analysis.equality.data_bounds import Bounds
from polygen.ir.domain import flat_names, project_out
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from tests.analysis.equality.small_kernels import at_sizes, numbers, ordered, value

ROWS = ["{ [i]: 0<=i<n }", "{ [k]: 0<=k<count }"]
TEXT = "for i\n<> count = c[i] {{id=c}}\n{more}out[i] = sum(k, a[k]) {{id=s}}\nend"
INSIDE = isl.Set("[n, __i] -> { : 0 <= __i < n }")
SIZES = [{"n": n} for n in (0, 1, 3)]


def _kernel(more: str = "") -> Kernel:
    data = [numbers("c", "int32", "n"), numbers("a", "float64", "100")]
    assumed = {"name": "rows"}
    return ordered(ROWS, TEXT.format(more=more), *data, **assumed)


def _none(_a: Value, _b: Value, points: isl.Set) -> isl.Set:
    return points.subtract(points)


def _iterations(bounds: Bounds, knl: Kernel, i: str = "__i", k: str = "__k") -> isl.Set:
    around = value(knl, "s", i=i).frame
    inner = Frame(knl, knl.assignment("s"), {"i": i, "k": k})
    return bounds.executed(around, inner, INSIDE)


def _named(found: isl.Set) -> list[str]:
    """Return the names of bounds in a set."""
    return [name for name in own_names(found) if name.endswith("bound")]


def test_iterations_for_each_value_of_a_bound() -> None:
    knl = _kernel()
    found = _iterations(Bounds(knl, _none, Names()), knl)
    (bound,) = _named(found)
    assert set(flat_names(found)) == {"n", "__i", "__k", bound}
    for count in range(4):
        there = found.intersect(isl.Set(f"[{bound}] -> {{ : {bound} = {count} }}"))
        pairs = at_sizes(project_out(there, [bound]), ["__i", "__k"], SIZES)
        assert pairs == {(n, i, k) for n in (1, 3) for i in range(n) for k in range(count)}


def test_other_bounds_have_no_name() -> None:
    knl = ordered(["{ [i]: 0<=i<n }", "{ [k]: 0<=k<=i }"], "out[i] = sum(k, a[k]) {id=s}")
    found = _iterations(Bounds(knl, _none, Names()), knl)
    assert _named(found) == []
    pairs = at_sizes(found, ["__i", "__k"], SIZES)
    assert pairs == {(n, i, k) for n in (1, 3) for i in range(n) for k in range(i + 1)}


def test_one_bound_has_one_name() -> None:
    knl = _kernel()
    bounds = Bounds(knl, _none, Names())
    (bound,) = _named(_iterations(bounds, knl))
    assert _named(_iterations(bounds, knl, k="__l")) == [bound]
    assert _named(_iterations(bounds, knl, i="__j")) != [bound]  # of another iteration


def test_bounds_of_two_kernels() -> None:
    """They have one name if they are the same at all points; the first kernel's is asked first."""
    first, second = _kernel(), _kernel("out[i] = 1\n")
    asked: list[tuple[Kernel, Kernel, str]] = []

    def same(a: Value, b: Value, points: isl.Set) -> isl.Set:
        asked.append((a.kernel, b.kernel, show_expression(a.node)))
        return points

    bounds = Bounds(first, same, Names())
    names = [_named(_iterations(bounds, knl)) for knl in (first, second)]
    assert names[0] == names[1]
    turned = Bounds(first, same, Names())
    names = [_named(_iterations(turned, knl)) for knl in (second, first)]
    assert names[0] == names[1]
    assert asked == [(first, second, "count")] * 2

    apart = Bounds(first, _none, Names())
    names = [_named(_iterations(apart, knl)) for knl in (first, second)]
    assert names[0] != names[1]


def test_bounds_that_are_the_same_somewhere_are_two() -> None:
    first, second = _kernel(), _kernel("out[i] = 1\n")

    def at_the_start(_a: Value, _b: Value, points: isl.Set) -> isl.Set:
        return points.intersect(isl.Set("[__i] -> { : __i = 0 }"))

    bounds = Bounds(first, at_the_start, Names())
    names = [_named(_iterations(bounds, knl)) for knl in (first, second)]
    assert names[0] != names[1]
