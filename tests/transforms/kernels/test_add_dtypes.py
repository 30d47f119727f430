"""`add_dtypes`: types of arguments and temporaries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, UnknownArgument
from tests.oracle.cases import SIZES, agree, grid, kernel
from tests.transforms.refusals import refused

LINE = kernel("{ [i]: 0<=i<n }", "out[i] = n*a[i]")


@pytest.mark.parametrize("spec", [np.float32, "float32", np.dtype("float32"), "f4"])
def test_types_under_all_their_names(spec: object) -> None:
    knl = pg.add_dtypes(LINE, {"a, out": spec})
    assert [v.dtype for v in (knl.variable("a"), knl.variable("out"))] == [np.dtype("float32")] * 2
    assert pg.add_dtypes(knl, {"a": spec}) is knl
    assert knl.domains == LINE.domains


@pytest.mark.parametrize("dtype", [np.int16, np.int64, np.float32, np.float64])
def test_computed_in_these_types(dtype: type) -> None:
    knl = kernel("{ [i]: 0<=i<n }", "<> t = a[i] + b[i]\nout[i] = t*2 + i")
    knl = pg.add_dtypes(knl, {"a": dtype, "b": np.int16})
    agree(pg.add_dtypes(knl, {"out": np.float64}), SIZES[:4], grid("i", 4))


def test_refused_types() -> None:
    refused(
        UnknownArgument,
        "no argument or temporary 'aa'.*did you mean 'a'",
        pg.add_dtypes,
        LINE,
        {"aa": "float32"},
    )
    for wrong in "float31", object, None, "U5", "datetime64[s]", np.longdouble:
        refused(InvalidArgument, "is no element type", pg.add_dtypes, LINE, {"a": wrong})
    refused(InvalidArgument, "a dictionary from names to types", pg.add_dtypes, LINE, "float32")
    refused(InvalidArgument, "a dictionary from names to types", pg.add_dtypes, LINE, {3: "f4"})
    knl = pg.add_dtypes(LINE, {"a": "float32"})
    refused(
        InvalidArgument,
        "'a' has the type float32; asked for was float64",
        pg.add_dtypes,
        knl,
        {"a": "float64"},
    )


def test_the_type_decides_the_result() -> None:
    """As NumPy does: 32 bits overflow, and a quotient of integers is a float64."""
    knl = kernel("{ [i]: 0<=i<n }", "b[i] = a[i]*a[i]\nc[i] = a[i]/2")
    for dtype in (np.int32, np.float32, np.float64):
        a: Any = np.array([1, 3, 2**20], dtype)
        _, (b, c) = pg.add_dtypes(knl, {"a": dtype}).executor("c")(a=a)
        np.testing.assert_array_equal(b, a * a, strict=True)
        np.testing.assert_array_equal(c, a / np.array(2, dtype), strict=True)


def test_it_is_printed_and_read() -> None:
    knl = pg.add_dtypes(LINE, {"a": "float16", "n": np.int64})
    assert [v.dtype for v in (knl.variable("a"), knl.variable("n"))] == [np.float16, np.int64]
    assert knl.variable("out").dtype is None
    assert pg.parse_kernel(str(knl)) == knl
    assert pg.replay(LINE, knl.history) == knl
