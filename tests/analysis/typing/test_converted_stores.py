"""`polygen.analysis.typing.converted_stores`."""

from __future__ import annotations

import numpy as np

import polygen as pg
from polygen.analysis.typing.converted_stores import with_converted_stores


def stored(dtype: str, value: str, **options: bool) -> pg.Kernel:
    """Return a kernel that stores a value of the type of `a` in an array."""
    data = [pg.GlobalArg("a", "float64", "n"), pg.GlobalArg("x", dtype, "n"), "..."]
    knl = pg.make_kernel("{ [i]: 0<=i<n }", f"x[i] = {value}", data)
    return pg.infer_unknown_types(pg.set_options(knl, **options))


def test_numbers_and_truth_values_are_converted() -> None:
    for dtype, text in (("int32", "int32(2.5*a[i])"), ("bool", "2.5*a[i] != 0")):
        new = with_converted_stores(stored(dtype, "2.5*a[i]", convert_stores=True))
        assert f"x[i] = {text}" in str(new)


def test_what_fits_stays() -> None:
    for dtype, value in (("float64", "a[i]"), ("float64", "3*i"), ("int64", "2*i")):
        knl = stored(dtype, value, convert_stores=True)
        assert with_converted_stores(knl) is knl


def test_without_the_option_nothing_is_looked_at() -> None:
    knl = stored("float64", "a[i]")
    assert with_converted_stores(knl) is knl


def test_values_are_those_of_c() -> None:
    a = np.array([-1.5, -0.25, 0.0, 0.3, 7.9])
    _, (x,) = stored("int32", "2.5*a[i]", convert_stores=True).executor("c")(a=a)
    np.testing.assert_array_equal(x, np.trunc(2.5 * a).astype(np.int32))
    _, (x,) = stored("bool", "2.5*a[i]", convert_stores=True).executor("c")(a=a)
    np.testing.assert_array_equal(x, a != 0)
