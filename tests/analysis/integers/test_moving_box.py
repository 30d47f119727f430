"""Boxes of constant size around what is needed, against enumeration."""

from __future__ import annotations

from itertools import product
from typing import Any

import islpy as isl
import pytest

from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.integers.moving_box import (
    along_axis,
    bounding_box,
    determined,
    in_places,
    independent_of,
    simplified,
    tile_axis,
)
from polygen.ir import expression as ex
from polygen.ir.domain import flat_names
from polygen.language.parser import parse_expression

PARAM, SET = isl.dim_type.param, isl.dim_type.set
Point = tuple[int, ...]


def points(isl_set: isl.Set, **values: int) -> set[Point]:
    """Return the elements for these values of the parameters."""
    for name, value in values.items():
        position = isl_set.find_dim_by_name(PARAM, name)
        if position >= 0:
            isl_set = isl_set.fix_val(PARAM, position, isl.Val(value))
    assert isl_set.is_bounded()
    found: set[Point] = set()

    def note(point: isl.Point) -> None:
        count = isl_set.dim(SET)
        found.add(tuple(point.get_coordinate_val(SET, p).to_python() for p in range(count)))

    isl_set.project_out(PARAM, 0, isl_set.dim(PARAM)).foreach_point(note)
    return found


def value(form: LinearForm, values: dict[str, int]) -> int:
    return form.evaluate(values)


@pytest.mark.parametrize(
    ("text", "base", "stride", "extent"),
    [
        # a tile that the end of the array cuts
        ("exists ii: 0<=ii<4 and v = 4*io + ii and v < n", "4*io", 1, 4),
        # with a halo, which the beginning of the loop cuts too
        ("exists i: 4io<=i<4io+4 and 1<=i<n-1 and i-1<=v<=i+1", "4*io - 1", 1, 6),
        # every other element, or pairs of neighbours
        ("exists ii: 0<=ii<4 and v = 2*(4io + ii) and v < n", "8*io", 2, 4),
        ("exists ii: 0<=ii<4 and 2*(4io+ii) <= v <= 2*(4io+ii) + 1 and v < n", "8*io", 1, 8),
        ("exists ii: 0<=ii<4 and (v = 2*(4io+ii) + 3 or v = 2*(4io+ii) + 7)", "8*io + 3", 2, 6),
        ("exists ii: 0<=ii<4 and v = 3*ii - io", "-io", 3, 4),
        # rounded
        ("exists ii: 0<=ii<4 and v = floor((4io + ii)/2) and v < n", "2*io", 1, 2),
        # backwards
        ("exists ii: 0<=ii<4 and v = n - 1 - 4io - ii and v >= 0", "n - 4*io - 4", 1, 4),
        # one element
        ("v = io", "io", 1, 1),
        ("v = 3 and n > io", "3", 1, 1),
        ("v = floor(n/3) and io = 0", None, 1, 1),
        # a triangle
        ("0 <= v <= io < 5", "0", 1, 5),
    ],
)
def test_an_axis(text: str, base: str | None, stride: int, extent: int) -> None:
    values = isl.Set(f"[io, n] -> {{ [v] : {text} }}")
    axis = tile_axis(values)
    assert axis is not None
    assert (axis.stride, axis.extent) == (stride, extent)
    if base is not None:
        assert axis.base == linear_form(parse_expression(base))
    reached: set[int] = set()
    for io, n in product(range(5), range(14)):
        first = value(axis.base, {"io": io, "n": n})
        for (v,) in points(values, io=io, n=n):
            place, rest = divmod(v - first, stride)
            assert rest == 0
            assert 0 <= place < extent
            reached.add(place)
            assert axis.place(LinearForm(v) + axis.base - first) == place
    assert {0, extent - 1} <= reached
    at = linear_form(axis.value(ex.Variable("place")))
    assert at is not None
    assert at == axis.base + LinearForm.of_name("place") * stride


@pytest.mark.parametrize(
    "text", ["v < n", "v >= io", "0 <= v < n", "0 <= v < io + n", "(v = 0 or v = n) and n > io"]
)
def test_no_box_of_constant_size(text: str) -> None:
    assert tile_axis(isl.Set(f"[io, n] -> {{ [v] : {text} }}")) is None


SHAPES = [
    # a cross, a triangle, two that are apart, a grid
    "1 <= x < n-1 and 1 <= y < n-1 and 4io <= x < 4io+4 and 0<=io<2",
    "0 <= y <= x < n and 4io <= x < 4io+4",
    "((0 <= x < 2 and 0 <= y < 2) or (4 <= x < n and 4 <= y < 6)) and n <= 8 and io = 0",
    "exists a, b: x = 2a and y = 3b and 0 <= x < n and 0 <= y < 9 and io = 0 and n < 9",
]


@pytest.mark.parametrize("text", SHAPES)
def test_elements_and_their_places(text: str) -> None:
    elements = isl.Set(f"[io, n] -> {{ [x, y] : {text} }}")
    if text is SHAPES[0]:
        shifts = ("[x+1,y]", "[x-1,y]", "[x,y+1]", "[x,y-1]")
        for shift in shifts:
            elements = elements.union(elements.apply(isl.Map(f"{{ [x,y] -> {shift} }}")))
        elements = elements.intersect(isl.Set("[n] -> { [x, y] : n < 9 }"))
    bounded = elements.intersect(isl.Set("[io, n] -> { [x, y] : n < 9 and 0 <= io < 3 }"))
    axes = [tile_axis(along_axis(bounded, axis)) for axis in range(2)]
    assert axes[0] is not None
    assert axes[1] is not None
    places = in_places(elements, [axes[0], axes[1]], ["p", "q"])
    assert [places.get_dim_name(SET, d) for d in range(2)] == ["p", "q"]
    rows = in_places(elements, [axes[0], axes[1]], ["p", None])
    for io, n in product(range(3), range(9)):
        at = {"io": io, "n": n}
        expected = {
            tuple(
                (v - value(a.base, at)) // a.stride for v, a in zip(point, axes, strict=True) if a
            )
            for point in points(elements, **at)
        }
        assert points(places, **at) == expected
        assert points(simplified(places), **at) == expected
        assert points(rows, **at) == {(p,) for p, _ in expected}
        found = points(bounding_box(places), **at)
        if not expected:
            assert not found
            continue
        (p0, p1), (q0, q1) = ((min(c), max(c)) for c in zip(*expected, strict=True))
        assert found == set(product(range(p0, p1 + 1), range(q0, q1 + 1)))


def test_a_convex_set_is_one_piece() -> None:
    parts = isl.Set("[n] -> { [x] : 0 <= x < n or 1 <= x <= n or x = 2 and n > 2 }")
    assert simplified(parts).n_basic_set() == 1
    assert simplified(parts).is_equal(parts)


@pytest.mark.parametrize(
    ("text", "axis", "others", "expected"),
    [
        ("x = io + 2*y + 1", 0, [1], {"io": 1, "__value1": 2, 1: 1}),
        ("x = io and 0 <= y < 3", 0, [1], {"io": 1}),
        ("x = io and 0 <= y < 3", 0, [], {"io": 1}),
        ("0 <= x < 2", 0, [1], None),
        ("(x = y and y < 5) or (x = y + 1 and y >= 5)", 0, [1], None),
        ("x = y", 0, [], None),
    ],
)
def test_what_follows(text: str, axis: int, others: list[int], expected: Any) -> None:
    elements = isl.Set(f"[io] -> {{ [x, y] : {text} and 0 <= y < 10 }}")
    found = determined(elements, axis, others)
    if expected is None:
        assert found is None
        return
    assert found is not None
    terms = dict(expected)
    assert found == LinearForm(terms.pop(1, 0), terms)


def test_names_that_decide_no_element_are_left_out() -> None:
    elements = isl.Set("[i, j, n] -> { [x] : 4i <= x < 4i + 4 and 0 <= j < n and x < n }")
    left = independent_of(elements, ("j", "i", "m"))
    assert set(flat_names(left.params())) == {"i", "n"}
    assert points(left, i=1, n=6) == {(4,), (5,)}
    # of two that are equal, one is enough, and one is needed
    elements = isl.Set("[i, j] -> { [x] : i <= x < i + 4 and i = j }")
    assert flat_names(independent_of(elements, ("j", "i")).params()) == ("i",)
