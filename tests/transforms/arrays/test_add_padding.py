"""`add_padding`: room between neighbours along an axis."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    AxisNotPossible,
    InvalidArgument,
)
from polygen.ir.layout import element_strides
from tests.transforms.arrays.array_kernels import tagged


def test_padding() -> None:
    for tags, axis, align, wanted in (
        ("N1, N0", 0, 32, (8, 1)),
        ("N1, N0", 0, 12, (6, 1)),
        ("N1, N0(pad_to=3)", 0, 16, (12, 1)),
        ("stride:6, stride:1", 0, 16, (8, 1)),
        ("C", 0, 2, (6, 1)),
    ):
        new = pg.add_padding(tagged(tags), "a", axis, align)
        assert element_strides(new.array("a")) == wanted
        for target in ("c", "opencl"):
            _, (out,) = new.executor(target)(n=5)
            np.testing.assert_array_equal(out, np.add.outer(np.arange(5), np.arange(6)))
            assert tuple(s // 4 for s in out.strides) == wanted
    outer = pg.add_padding(tagged("N0, N1"), "a", 1, 16)
    _, (out,) = outer(n=5)
    assert out.strides == (4, 32)


def test_padding_that_is_refused() -> None:
    with pytest.raises(AxisNotPossible, match="neighbours are side by side: no room is left"):
        pg.add_padding(tagged("C"), "a", 1, 32)
    with pytest.raises(
        AxisNotPossible, match="cannot grow: it is no number, or there is a greater"
    ):
        pg.add_padding(tagged("stride:1, stride:n"), "a", 1, 32)
    with pytest.raises(AxisNotPossible, match="cannot grow"):
        pg.add_padding(tagged("stride:6, stride:1"), "a", 1, 32)
    with pytest.raises(AxisNotPossible, match="the type of 'a' is not known"):
        untyped = pg.make_kernel("{ [i]: 0<=i<4 }", "a[i, 0] = x[i]")
        pg.add_padding(untyped, "a", 0, 32)


def test_blocks_with_little_waste() -> None:
    knl = tagged("C")
    for align, waste in ((32, 0.1), (64, 0.1), (64, 0.0), (24, 0.1), (128, 0.05), (7, 0.2)):
        taken = 6 * 4
        wasted = [(-(m * taken) % align) / (m * taken) for m in range(1, 200)]
        assert pg.find_padding_multiple(knl, "a", 0, align, waste) == next(
            m for m, w in enumerate(wasted, 1) if w <= waste
        )
    blocked = pg.split_array_dim(knl, ("a", 0), pg.find_padding_multiple(knl, "a", 0, 64))
    aligned = pg.add_padding(blocked, "a", 0, 64)
    stride, *_ = element_strides(aligned.array("a")) or (None,)
    assert isinstance(stride, int)
    assert stride * 4 % 64 == 0
    for name, number, part in (("n", 8, 0.1), ("a", 0, 0.1), ("a", 8, -1.0)):
        with pytest.raises(InvalidArgument, match="find_padding_multiple was given"):
            pg.find_padding_multiple(knl, name, 0, number, part)
    with pytest.raises(AxisNotPossible, match="are apart is not known"):
        pg.find_padding_multiple(tagged("N0, N1"), "a", 1, 64)
    with pytest.raises(AxisNotPossible, match="none of number 2"):
        pg.find_padding_multiple(knl, "a", 2, 64)
