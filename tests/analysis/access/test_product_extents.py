"""Loops that fill an axis together tell its extent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen import errors
from polygen.ir.show_expression import show_expression

BOX = "{ [i,j,l]: 0<=i<n and 0<=j<m and 0<=l<k }"


def shape_of(knl: pg.Kernel, name: str) -> list[str]:
    shape: Any = knl.array(name).shape
    return [show_expression(extent) for extent in shape]


def written(domain: str, index: str, **options: Any) -> pg.Kernel:
    return pg.make_kernel(
        domain, f"b[{index}] = x[i,j] {{id=w}}", silenced_warnings=["AmbiguousNesting"], **options
    )


@pytest.mark.parametrize(
    ("index", "extent"),
    [
        ("i*m + j", "m*n"),
        ("j*n + i", "m*n"),
        ("j + m*i", "m*n"),
        ("2*(i*m + j) + 1", "2*m*n"),
        ("(i + 1)*m + j", "m*n + m"),
        ("i*(m + 2) + j + 2", "m*n + 2*n"),
    ],
)
def test_two_loops(index: str, extent: str) -> None:
    knl = written("{ [i,j]: 0<=i<n and 0<=j<m }", index)
    assert shape_of(knl, "b") == [extent]


def test_three_loops() -> None:
    knl = pg.make_kernel(
        BOX, "b[(i*m + j)*k + l] = x[i,j,l]", silenced_warnings=["AmbiguousNesting"], target="c"
    )
    assert shape_of(knl, "b") == ["k*m*n"]
    for sizes in ((2, 3, 4), (1, 1, 5), (0, 3, 2), (3, 0, 2), (7, 1, 1)):
        x = np.random.default_rng(1).random(sizes)
        _, (b,) = knl(x=x)
        np.testing.assert_array_equal(b, x.ravel())


def test_a_loop_to_a_product() -> None:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<n*m and 0<=j<k }",
        "b[i*k + j] = 2*a[i*k + j]",
        silenced_warnings=["AmbiguousNesting"],
        target="c",
    )
    assert shape_of(knl, "a") == shape_of(knl, "b") == ["k*m*n"]
    _, (b,) = knl(a=np.arange(24.0), n=2, m=3, k=4)
    np.testing.assert_array_equal(b, 2 * np.arange(24.0))


def test_constants_beside_sizes() -> None:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<n and 0<=j<3 }", "b[i*3 + j] = x[i,j]", loop_priority="i, j"
    )
    assert shape_of(knl, "b") == ["3*n"]  # affine


@pytest.mark.parametrize(
    ("domain", "index"),
    [
        ("{ [i,j]: 0<=i<n and 0<=j<n - i }", "i*n + j"),  # the last ones do not meet
        ("{ [i,j]: 0<=i<n and 0<=j<m }", "n*m - 1 - (i*m + j)"),  # it falls
        ("{ [i,j]: 0<=i<n and 0<=j<m }", "i*j"),
        ("{ [i,j]: 0<=i<n and 0<=j<m }", "i*m - m + j"),  # below 0
    ],
)
def test_what_tells_nothing(domain: str, index: str) -> None:
    assert shape_of(written(domain, index), "b") == ["b_len"]


def test_other_subscripts_decide_where_they_are_beside_products() -> None:
    knl = pg.make_kernel(
        ["{ [i,j]: 0<=i<n and 0<=j<m }", "{ [r]: 0<=r<q }"],
        ["b[i*m + j] = x[i,j]", "y[r] = b[r]"],
        silenced_warnings=["AmbiguousNesting"],
        seq_dependencies=True,
    )
    assert shape_of(knl, "b") == ["q"]  # that n*m is no more is for the data to show
    x = np.arange(6.0).reshape(2, 3)
    _, (b, y) = knl.executor("c")(x=x, b=np.zeros(7), check_assumptions=True)
    np.testing.assert_array_equal(b, [0, 1, 2, 3, 4, 5, 0])
    np.testing.assert_array_equal(y, b)
    with pytest.raises(errors.ObligationViolated, match="outside of its array"):
        knl.executor("c")(x=x, b=np.zeros(5), check_assumptions=True)
