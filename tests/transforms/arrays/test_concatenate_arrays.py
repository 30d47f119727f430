"""`concatenate_arrays`: several arrays become one, one after the other along an axis."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    AxisNotPossible,
    InvalidArgument,
    NotConcatenable,
)
from tests.oracle.cases import Step
from tests.transforms.arrays.array_kernels import tiles_become_one, two_tiles

STEPS: dict[str, Step] = {
    "one after the other": lambda k: pg.concatenate_arrays(k, "s, t"),
    "the longer first": lambda k: pg.concatenate_arrays(k, ["t", "s"], "u"),
    "columns": lambda k: pg.concatenate_arrays(
        pg.split_array_dim(pg.split_array_dim(k, ("s", 0), 2, False), ("t", 0), 3, False),
        "s, t",
        axis_nr=1,
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_temporaries_that_become_one(name: str) -> None:
    tiles_become_one(STEPS[name])


def test_the_one_is_as_large_as_all() -> None:
    (both,) = pg.concatenate_arrays(two_tiles(), "s, t").temporaries
    assert (both.name, both.shape) == ("s_t", (10,))


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_arguments_one_after_the_other(target: str) -> None:
    old = pg.make_kernel(
        "{ [i, j]: 0<=i<n and 0<=j<m }",
        ["f(x, y) := a[x, y] + i", "out[i, j] = f(i, j)*b[n - 1 - i, j] + c[i, j]"],
        [pg.GlobalArg(name, "float64", "n, m") for name in ("a", "b", "c", "out")] + ["..."],
        loop_priority="i, j",
    )
    rows = pg.concatenate_arrays(old, "a, b, c", "abc")
    columns = pg.concatenate_arrays(pg.tag_array_axes(old, "a, b", "F"), ["b", "a"], axis_nr=1)
    assert [x.name for x in rows.arguments if isinstance(x, pg.GlobalArg)] == ["abc", "out"]
    for n, m in ((0, 2), (1, 1), (7, 3), (8, 5)):
        a, b, c = np.random.default_rng(n).random((3, n, m))
        wanted = (a + np.arange(n)[:, np.newaxis]) * b[::-1] + c
        _, (out,) = rows.executor(target)(abc=np.concatenate((a, b, c)), n=n, m=m)
        np.testing.assert_allclose(out, wanted, rtol=1e-14)
        both = np.asfortranarray(np.concatenate((b, a), axis=1))
        _, (out,) = columns.executor(target)(b_a=both, c=c, n=n, m=m)
        np.testing.assert_allclose(out, wanted, rtol=1e-14)


def test_what_is_not_alike() -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "out[i] = a[i]*b[i]*c[i, 0]*d[i]*e[i, 0]",
        [
            pg.GlobalArg("a", "float32", "n"),
            pg.GlobalArg("b", "float64", "n"),
            pg.GlobalArg("c", "float32", "n, 2"),
            pg.GlobalArg("d", "float32", "n"),
            pg.GlobalArg("e", "float32", "n, 3"),
            "...",
        ],
    )
    with pytest.raises(NotConcatenable, match="'a' and 'b' are not declared alike"):
        pg.concatenate_arrays(knl, "a, b")
    with pytest.raises(NotConcatenable, match="'a' and 'c' have other extents along another axis"):
        pg.concatenate_arrays(knl, "a, c")
    with pytest.raises(NotConcatenable, match="'c' and 'e' have other extents"):
        pg.concatenate_arrays(knl, "c, e")
    with pytest.raises(AxisNotPossible, match="'a' has 1 axis, and none of number 1"):
        pg.concatenate_arrays(knl, "a, d", axis_nr=1)
    with pytest.raises(NotConcatenable, match="have strides that are given"):
        pg.concatenate_arrays(pg.tag_array_axes(knl, "a, d", "stride:2"), "a, d")
    with pytest.raises(NotConcatenable, match="cannot be one: a claim says something of 'd'"):
        pg.concatenate_arrays(pg.assume_injective(knl, "d"), "a, d")
    overlapping = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "out[i] = a[i] + b[i]",
        [pg.GlobalArg(x, "float32", "n", may_alias=True) for x in ("a", "b")] + ["..."],
    )
    with pytest.raises(NotConcatenable, match="may overlap"):
        pg.concatenate_arrays(overlapping, "a, b")
    for few in ("a", "a, a"):
        with pytest.raises(InvalidArgument, match="is not several arrays, each once"):
            pg.concatenate_arrays(knl, few)
    with pytest.raises(pg.errors.NameTaken):
        pg.concatenate_arrays(knl, "a, d", "i")
