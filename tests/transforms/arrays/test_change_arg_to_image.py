"""`change_arg_to_image`: arguments that become OpenCL images."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    InvalidArgument,
    MalformedKernel,
    MalformedLayout,
    UnknownArgument,
    VerbatimNotPossible,
)
from polygen.ir.kernel import Kernel
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


def volume(**options: Any) -> Kernel:
    """Return a kernel that reads an array of three axes."""
    return pg.make_kernel(
        "{ [i, j, k]: 0<=i<n and 0<=j<3 and 0<=k<m }",
        "out[i, j, k] = a[i, 2 - j, k] + b[i, j]",
        [
            pg.GlobalArg("a", "float32", "n, 3, m", **options),
            pg.GlobalArg("b", "float32", "n, 3"),
            "...",
        ],
        loop_priority="i, j, k",
    )


def test_only_the_declaration_is_another() -> None:
    old = volume()
    new = pg.change_arg_to_image(old, "a")
    image = new.array("a")
    assert type(image) is pg.ImageArg
    assert (image.dtype, image.shape) == (np.dtype("float32"), old.array("a").shape)
    assert pg.change_arg_to_image(new, "a") is new
    assert (new.instructions, new.domains) == (old.instructions, old.domains)
    assert new.array("b") is old.array("b")
    assert [x.name for x in new.arguments] == [x.name for x in old.arguments]
    assert pg.replay(old, new.history) == new


def test_three_axes() -> None:
    run = pg.change_arg_to_image(volume(), "a").executor("opencl")
    for n, m in ((1, 1), (4, 7)):
        a = np.random.default_rng(n).random((n, 3, m)).astype(np.float32)
        b = np.arange(3 * n, dtype=np.float32).reshape(n, 3)
        _, (out,) = run(a=a, b=b)
        np.testing.assert_array_equal(out, a[:, ::-1] + b[:, :, None])


@pytest.mark.parametrize(
    "options", [{"offset": 2}, {"alignment": 64}, {"may_alias": True}, {"strides": "3*m, m, 1"}]
)
def test_declarations_that_an_image_cannot_have(options: dict[str, Any]) -> None:
    with pytest.raises(MalformedLayout, match="'a' has a layout, an offset or an alignment"):
        pg.change_arg_to_image(volume(**options), "a")


def test_names_of_no_array() -> None:
    with pytest.raises(UnknownArgument, match="no argument or temporary 'c'"):
        pg.change_arg_to_image(volume(), "c")
    with pytest.raises(InvalidArgument, match="'n', which is not"):
        pg.change_arg_to_image(volume(), "n")
