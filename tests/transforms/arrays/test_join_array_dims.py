"""`join_array_dims`: two axes become one."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    AxisNotPossible,
)
from tests.transforms.arrays.array_kernels import plane, tagged


def test_joined_arguments() -> None:
    new = pg.join_array_dims(plane(), ("a", 0))
    assert "a[6*b + i, j]" in str(new)
    again = pg.join_array_dims(new, ("a", 0))
    for n in (0, 1, 5):
        a = np.random.default_rng(n).random((n, 6, 4))
        wanted = (a[:, ::-1, :] + a[:, :, ::-1]).transpose(0, 2, 1)
        for target in ("c", "opencl"):
            _, (out,) = new.executor(target)(a=a.reshape(-1, 4), n=n)
            np.testing.assert_array_equal(out, wanted)
            _, (out,) = again.executor(target)(a=a.reshape(-1), n=n)
            np.testing.assert_array_equal(out, wanted)


def test_joins_that_are_refused() -> None:
    square = pg.make_kernel(
        "{ [i, j]: 0<=i,j<n }",
        "a[i, j] = 1",
        [pg.GlobalArg("a", "float32", "n, n"), "..."],
        loop_priority="i, j",
    )
    with pytest.raises(AxisNotPossible, match="axis 1 of 'a' has the extent n, which is no number"):
        pg.join_array_dims(square, ("a", 0))
    with pytest.raises(AxisNotPossible, match="axis 0 of 'a' has the extent n"):
        pg.join_array_dims(square, ("a", 0, "F"))
    for tags in ("stride:8, stride:1", "N1, N0(pad_to=4)"):
        with pytest.raises(AxisNotPossible, match="do not follow each other evenly"):
            pg.join_array_dims(tagged(tags), ("a", 0))


def test_one_subscript_of_two() -> None:
    knl = pg.make_kernel(
        "{ [i, j, k]: 0<=i<n and 0<=j<4 and 0<=k<3 }",
        "out[i, j, k] = a[i, 3 - j, k] + a[n - 1 - i, j, 0]",
        [pg.GlobalArg(name, "float64", "n, 4, 3") for name in ("a", "out")] + ["..."],
        loop_priority="i, j, k",
    )
    outer = pg.join_array_dims(knl, ("a", 0))
    assert "a[4*i + 3 - j, k] + a[4*n + j - 4 - 4*i, 0]" in str(outer)
    inner = pg.join_array_dims(knl, [("a", 1, "F"), ("out", 0)])
    assert "out[4*i + j, k] = a[i, 4*k + 3 - j] + a[n - 1 - i, j]" in str(inner)
    assert inner.array("a").shape == (*(knl.array("a").shape or ())[:1], 12)
    assert outer.array("out") is knl.array("out")
    for n in (0, 1, 5):
        a = np.random.default_rng(n).random((n, 4, 3))
        wanted = a[:, ::-1] + a[::-1, :, :1]
        _, (out,) = inner.executor("c")(a=a.transpose(0, 2, 1).reshape(n, 12), n=n)
        np.testing.assert_array_equal(out, wanted.reshape(-1, 3))
