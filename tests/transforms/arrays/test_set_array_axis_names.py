"""`set_array_axis_names`: axes get names, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    InvalidArgument,
    MalformedLayout,
)
from tests.transforms.arrays.array_kernels import transposed


def test_names_of_axes() -> None:
    knl = pg.set_array_axis_names(transposed(), "a, out", ["x", "y"])
    assert knl.array("a").dim_names == knl.array("out").dim_names == ("x", "y")
    assert "dim_names: (x, y)" in str(knl)
    assert pg.parse_kernel(str(knl)) == knl
    _, (out,) = knl(a=np.ones((2, 3)))
    np.testing.assert_array_equal(out, 2 + np.arange(3.0)[:, np.newaxis] * np.ones(2))
    with pytest.raises(MalformedLayout, match="names for 3 axes"):
        pg.set_array_axis_names(knl, "a", "x, y, z")
    with pytest.raises(InvalidArgument, match="'x' is there twice"):
        pg.set_array_axis_names(knl, "a", "x, x")
    with pytest.raises(InvalidArgument, match="'2y' is no name"):
        pg.set_array_axis_names(knl, "a", "x, 2y")
