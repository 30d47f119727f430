"""Digits of a loop that runs to a product of sizes tell extents."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen import errors
from polygen.analysis.access.digit_extents import counted, digit_extent
from polygen.analysis.integers.affine_forms import LinearForm
from polygen.ir.show_expression import show_expression
from polygen.language.parser import parse_expression

PRODUCT = "{ [i]: 0<=i<n*m*k }"


def _shape(knl: pg.Kernel, name: str) -> list[str]:
    shape: Any = knl.array(name).shape
    return [show_expression(extent) for extent in shape]


@pytest.mark.parametrize(
    ("domain", "index", "shape"),
    [
        ("{ [i]: 0<=i<n*m }", "i//m, i % m", ["n", "m"]),
        ("{ [i]: 0<=i<n*m }", "i % n, i//n", ["n", "m"]),
        ("{ [i]: 0<=i<3*n*m }", "i//(3*m), i//m % 3, i % m", ["n", "3", "m"]),
        ("{ [i]: 0<=i<(n + 1)*m }", "i//m, i % m", ["n + 1", "m"]),
        (PRODUCT, "i//(m*k), i//k % m, i % k", ["n", "m", "k"]),
        (PRODUCT, "i//m//k, i//k % m, i % k", ["n", "m", "k"]),
        ("{ [i]: 0<=i<n*n }", "i//n, i % n", ["n", "n"]),
    ],
)
def test_shapes(domain: str, index: str, shape: list[str]) -> None:
    read = pg.make_kernel(domain, f"y[i] = a[{index}]")
    written = pg.make_kernel(domain, f"a[{index}] = y[i]")
    assert _shape(read, "a") == _shape(written, "a") == shape


@pytest.mark.parametrize("sizes", [(2, 3, 4), (1, 5, 1), (0, 2, 3), (3, 0, 2)])
def test_a_loop_over_all_elements(sizes: tuple[int, int, int]) -> None:
    knl = pg.make_kernel(PRODUCT, "y[i] = a[i//(m*k), i//k % m, i % k]")
    values = np.arange(float(math.prod(sizes))).reshape(sizes)
    _, (result,) = knl.executor("c")(a=values)
    assert (result == values.ravel()).all()


def test_other_accesses_count_too() -> None:
    lines = ["y[i] = a[i//m, i % m]", "z[r] = a[r + 1, 0]"]
    knl = pg.make_kernel(["{ [i]: 0<=i<n*m }", "{ [r]: 0<=r<n }"], lines, assumptions="m >= 1")
    assert _shape(knl, "a") == ["n + 1", "m"]


@pytest.mark.parametrize(
    ("domain", "index"),
    [
        ("{ [i]: 0<=i<n }", "i//m, i % m"),  # perhaps less than m values
        ("{ [i]: 0<=i<n*m }", "i//k, i % k"),
        ("{ [i]: 0<=i<n*m + 1 }", "0, i % m"),
        ("{ [i]: 0<=i<n*m }", "0, i % (m + 1)"),
        ("{ [i]: 0<=i<n*m }", "0, p[i] % m"),
        ("{ [i]: 0<=i<n*m }", "0, -i // m"),
    ],
)
def test_what_tells_nothing(domain: str, index: str) -> None:
    with pytest.raises(errors.ShapeNotFound, match=r"cannot be guessed: subscript \d is"):
        pg.make_kernel(domain, f"y[i] = a[{index}]")


def test_extents_of_digits() -> None:
    knl = pg.make_kernel(PRODUCT, "y[i] = 1")
    assert knl.derived_sizes[-1].name == "n_m_k"
    for text, extent in (("i//k", "n*m"), ("i", "n*m*k"), ("i // (n*n)", None)):
        node = parse_expression(text)
        assert counted(knl, node) == "i"
        found = digit_extent(knl, node, LinearForm.of_name("n_m_k"))
        assert (None if found is None else show_expression(found)) == extent
    assert counted(knl, parse_expression("i + 1")) is None
    assert digit_extent(knl, parse_expression("n // m"), LinearForm.of_name("n_m_k")) is None
