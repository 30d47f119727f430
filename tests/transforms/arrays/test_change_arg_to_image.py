"""`change_arg_to_image`: arguments that become OpenCL images."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    InvalidArgument,
    MalformedKernel,
    MalformedLayout,
    VerbatimNotPossible,
)
from tests.transforms.arrays.array_kernels import chain, two_tiles


def test_images() -> None:
    old = pg.make_kernel(
        "{ [i, j]: 0<=i<n and 0<=j<m }",
        "out[j, i] = a[i, j] + a[i, j + 1]",
        [pg.GlobalArg("a", "float32", "n, m + 1"), pg.GlobalArg("out", "float32", "m, n"), "..."],
        loop_priority="i, j",
    )
    new = pg.change_arg_to_image(old, "a")
    assert isinstance(new.array("a"), pg.ImageArg)
    assert pg.parse_kernel(str(new)) == new
    assert "read_imagef(a" in str(pg.generate_code(new, "opencl"))
    for n, m in ((1, 1), (7, 3), (8, 5)):
        a = np.random.default_rng(n).random((n, m + 1)).astype(np.float32)
        _, (out,) = new.executor("opencl")(a=a)
        np.testing.assert_array_equal(out, (a[:, :-1] + a[:, 1:]).T)
    with pytest.raises(MalformedKernel, match="'out', an image"):
        pg.change_arg_to_image(old, "out")
    with pytest.raises(MalformedLayout, match="'a' has a layout, an offset or an alignment"):
        pg.change_arg_to_image(pg.tag_array_axes(old, "a", "F"), "a")
    with pytest.raises(MalformedKernel, match="the image 'a' has 1 axis"):
        pg.change_arg_to_image(chain("out[i] = a[i]"), "a")
    with pytest.raises(InvalidArgument, match="'s' is a temporary"):
        pg.change_arg_to_image(two_tiles(), "s")
    text = pg.make_kernel(
        "{ [i]: 0<=i<4 }",
        '... code(i) "out[i] = a[2*i];" reads(a) writes(out[i])  {inames=i}',
        [pg.GlobalArg("a", "float32", (4, 2)), pg.GlobalArg("out", "float32", 4), "..."],
    )
    with pytest.raises(VerbatimNotPossible, match="touches 'a'"):
        pg.change_arg_to_image(text, "a")
