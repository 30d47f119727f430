"""Maps of instances, and whether they are one to one, beside enumeration."""

from __future__ import annotations

import islpy as isl
import pytest

from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.rearrangement.same_instances import not_bijective
from polygen.ir.domain import flatten
from polygen.ir.expression import Expression
from polygen.language.parser import parse_statement
from tests.analysis.flat import points

_PARAM = isl.dim_type.param
SMALL = range(-5, 12)
N = "[n] -> { [i]: 0<=i<n }"
FULL = "[n] -> { [o, r]: 0<=r<4 and 0<=4*o+r<n }"
# old points, new ones, what old inames are, whether the map is one to one
MAPS: list[tuple[str, str, dict[str, str], bool]] = [
    (N, "[n] -> { [p]: 0<=p<n }", {"i": "p"}, True),
    (N, "[n] -> { [p]: 3<=p<n+3 }", {"i": "p - 3"}, True),
    (N, "[n] -> { [p]: 0<=p<n }", {"i": "n - 1 - p"}, True),
    (N, "[n] -> { [p]: 0<=p<n-1 }", {"i": "p"}, False),
    (N, "[n] -> { [p]: 0<=2*p<n }", {"i": "2*p"}, False),
    (N, "[n] -> { [p, q]: 0<=p<n and 0<=q<2 }", {"i": "p"}, False),
    (N, FULL, {"i": "4*o + r"}, True),
    (N, "[n] -> { [o, r]: 0<=r<4 and 0<=o and 4*o+r<n }", {"i": "r + 4*o"}, True),
    (N, "[n] -> { [o, r]: 0<=r<4 and 0<=4*o-r<n }", {"i": "4*o - r"}, True),
    (N, "[n] -> { [o, r]: 0<=r<4 and 0<=n-4*o+r<n }", {"i": "n - 4*o + r"}, True),
    (N, "[n] -> { [o, r]: 0<=r<4 and 0<=4*o+r+1<n }", {"i": "4*o + r + 1"}, True),
    (N, "[n] -> { [o, r]: 0<=r<3 and 0<=4*o+r<n }", {"i": "4*o + r"}, False),
    (N, "[n] -> { [o, r]: 0<=r<5 and 0<=4*o+r<n }", {"i": "4*o + r"}, False),
    (N, "[n] -> { [o, r]: 1<=r<5 and 0<=4*o+r<n }", {"i": "4*o + r"}, True),
    (N, "[n] -> { [o, r]: 0<=r<4 and 0<=4*o+r<n+1 }", {"i": "4*o + r"}, False),
    (N, "[n] -> { [o, r]: 0<=r<4 and 0<=4*o+r<n and o<2 }", {"i": "4*o + r"}, False),
    (N, "[n] -> { [o, r]: 0<=r<2 and 0<=4*o+2*r<n }", {"i": "4*o + 2*r"}, False),
    (N, "[n] -> { [o, r]: 0<=r<3 and 0<=3*o+2*r<n }", {"i": "3*o + 2*r"}, True),
    (N, "[n] -> { [o, r]: 0<=r<2 and 0<=2*o+r+o//2<n }", {"i": "2*o + r + o//2"}, False),
    (
        N,
        "[n] -> { [o, q, r]: 0<=r<3 and 0<=q<2 and 0<=6*o+3*q+r<n }",
        {"i": "6*o + 3*q + r"},
        True,
    ),
    (
        N,
        "[n] -> { [o, q, r]: 0<=r<3 and 0<=q<2 and 0<=7*o+3*q+r<n }",
        {"i": "7*o + 3*q + r"},
        False,
    ),
    (
        "[n] -> { [i, j]: 0<=i<n and i<=j<5 }",
        "[n] -> { [i, o, r]: 0<=i<n and 0<=r<2 and i<=2*o+r<5 }",
        {"i": "i", "j": "2*o + r"},
        True,
    ),
    (
        "[n] -> { [i, j]: 0<=i<n and i<=j<5 }",
        "[n] -> { [i, k]: 0<=i<n and 2*i<=k<5+i }",
        {"i": "i", "j": "k - i"},
        True,
    ),
    (
        "[n] -> { [i, j]: 0<=i,j<n }",
        "[n] -> { [p]: 0<=p<n }",
        {"i": "p", "j": "p"},
        False,
    ),
    (
        "[n] -> { [i, j]: 0<=i<n and 0<=j<2 }",
        "[n] -> { [i, j]: 0<=j<n and 0<=i<2 }",
        {"i": "j", "j": "i"},
        True,
    ),
]


def _value(text: str) -> Expression:
    return parse_statement(f"x = {text}").values[0]


def _points(text: str, n: int) -> list[dict[str, int]]:
    """Return the points of a set for one size, by trying all."""
    names = _names(text)
    of_size = isl.Set(text).fix_val(_PARAM, 0, isl.Val(n)).project_out(_PARAM, 0, 1)
    found = points(flatten(of_size), names, SMALL)
    return [dict(zip(names, point, strict=True)) for point in found]


def _names(text: str) -> list[str]:
    return text.partition("{ [")[2].partition("]")[0].split(", ")


@pytest.mark.parametrize(("before", "after", "values", "is_one"), MAPS)
def test_maps(before: str, after: str, values: dict[str, str], is_one: bool) -> None:
    said = {iname: _value(text) for iname, text in values.items()}
    (old, new) = (flatten(isl.Set(text)) for text in (before, after))
    assert (not_bijective((old, list(said)), (new, _names(after)), said) is None) is is_one
    forms = {iname: linear_form(value) for iname, value in said.items()}
    found: set[bool] = set()
    for n in (0, 1, 9):
        image = [
            {i: f.evaluate({**point, "n": n}) for i, f in forms.items() if f is not None}
            for point in _points(after, n)
        ]
        olds = _points(before, n)
        found.add(len(image) == len(olds) and all(point in image for point in olds))
    assert all(found) is is_one
