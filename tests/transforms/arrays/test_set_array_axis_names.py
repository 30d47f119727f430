"""`set_array_axis_names`: axes get names, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    InvalidArgument,
    MalformedLayout,
    UnknownArgument,
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


def test_nothing_but_names_is_another() -> None:
    old = pg.tag_array_axes(transposed(), "a", "N0, N1(pad_to=4)")
    new = pg.set_array_axis_names(old, "a", "row, column")
    assert replace(new.array("a"), dim_names=None) == old.array("a")
    assert new.array("out") is old.array("out")
    assert (new.instructions, new.domains) == (old.instructions, old.domains)
    assert pg.set_array_axis_names(new, ["a"], ["row", "column"]) is new
    assert pg.replay(old, new.history) == new
    again = pg.set_array_axis_names(new, "a", "column, row")
    assert again.array("a").dim_names == ("column", "row")
    codes = [pg.generate_code(knl, "c").source for knl in (old, new, again)]
    assert codes[0] == codes[1] == codes[2]


def test_named_axes_of_temporaries_and_images() -> None:
    knl = pg.make_kernel(
        "{ [i, j, k, l]: 0<=i,j,k,l<4 }",
        "t[i, j] = a[j, i] \n out[k, l] = t[k, l]",
        [
            pg.TemporaryVariable("t", "float32", (4, 4)),
            pg.ImageArg("a", "float32", (4, 4)),
            "...",
        ],
        loop_priority=("i, j", "k, l"),
    )
    new = pg.set_array_axis_names(knl, "t", "p, q")
    assert [new.array(name).dim_names for name in ("t", "out")] == [("p", "q"), None]
    with pytest.raises(UnknownArgument, match="no argument or temporary 'b'"):
        pg.set_array_axis_names(knl, "b", "p, q")
    with pytest.raises(InvalidArgument, match="which is not arrays"):
        pg.set_array_axis_names(transposed(), "n", "p")
