"""Whether elements of an array that is written lie in places of their own, beside addresses."""

from __future__ import annotations

from itertools import product

import pytest

import polygen as pg
from polygen.analysis.wellformed.element_places import check_distinct
from polygen.errors import OverlappingElements
from polygen.ir.kernel import Kernel
from tests.analysis.wellformed.unproved import unproved

SQUARE = "{ [i, j]: 0<=i<3 and 0<=j<4 }"


def _kernel(shape: str, strides: str, text: str = "a[0, 0] = 1", **options: str) -> Kernel:
    tags = ", ".join(f"stride:{stride}" for stride in strides.split())
    argument = pg.GlobalArg("a", "float64", shape, dim_tags=tags)
    return unproved(SQUARE, text, argument, **options)


def _refusal(knl: Kernel) -> str | None:
    try:
        check_distinct(knl)
    except OverlappingElements as error:
        return error.what
    return None


@pytest.mark.parametrize("strides", list(product((0, 1, 2, 3, 4, 5), repeat=2)))
def test_numbers(strides: tuple[int, int]) -> None:
    """Every two elements of 3 by 4 have other addresses, or it is refused with two that do not."""
    what = _refusal(_kernel("3, 4", "{} {}".format(*strides)))
    places: dict[int, list[tuple[int, int]]] = {}
    for i, j in product(range(3), range(4)):
        places.setdefault(i * strides[0] + j * strides[1], []).append((i, j))
    doubled = [elements for elements in places.values() if len(elements) > 1]
    assert (what is not None) == bool(doubled)
    if what is not None:
        named = {
            (i, j)
            for i, j in product(range(3), range(4))
            if f"a[{i}, {j}] and" in what or f"and a[{i}, {j}] lie" in what
        }
        assert any(named <= set(elements) for elements in doubled)
        assert len(named) == 2


@pytest.mark.parametrize(
    ("shape", "strides", "refused"),
    [
        ("n, m", "n 0", True),
        ("n, m", "m 1", False),
        ("n, m", "1 m", False),  # in place of n: for m < n elements overlap, which a call sees
        ("n, m", "1 1", True),
        ("n, m", "n n", True),
        ("n, m", "n 2*n", False),
        ("n, m", "n auto", False),
        ("1, m", "0 1", False),  # one row
        ("0, 4", "0 0", False),  # no element
    ],
)
def test_sizes(shape: str, strides: str, refused: bool) -> None:
    what = _refusal(_kernel(shape, strides))
    assert (what is not None) == refused
    if what is not None:
        assert "where the sizes are 2" in what


def test_sizes_that_may_be_one() -> None:
    """What is assumed of a size may leave it at 1, where nothing overlaps."""
    assert _refusal(_kernel("n, m", "1 1", assumptions="n <= 1")) is None


def test_what_is_only_read_may_overlap() -> None:
    assert _refusal(_kernel("3, 4", "1 1", text="b[i, j] = a[i, j]")) is None
    assert _refusal(_kernel("3, 4", "1 1", text="a[i, j] = 2")) is not None
