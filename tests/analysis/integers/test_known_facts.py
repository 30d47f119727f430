"""What is known of the parameters of a kernel, and which arrays keep their values."""

from __future__ import annotations

from typing import Any

import islpy as isl
import numpy as np
import pytest

import polygen as pg
from polygen.analysis.integers.known_facts import is_never_written, known_parameters
from polygen.ir import expression as ex
from polygen.ir.sizes import DerivedSize
from tests.analysis.flat import points, where
from tests.oracle.cases import kernel

LINE = "{ [i]: 0<=i<n }"

# --- parameters


def test_what_is_known_of_sizes() -> None:
    data = [pg.GlobalArg("a", shape="n - m"), pg.GlobalArg("b", shape="k*k"), "..."]
    with pg.without_proofs():
        knl = kernel("{ [i]: 0<=i<n }", "a[i] = b[i]", *data, assumptions="m >= 3")
    assert known_parameters(knl).is_equal(isl.Set("[m, n] -> { : m >= 3 and n >= m }"))


@pytest.mark.parametrize(
    ("shape", "least"),
    [
        ("n", 0),
        ("n + 2", -2),
        ("n - 3", 3),
        ("4", None),
        ("4, n - 1", 1),
        ("n//2", 0),
        ("n + 1, n", 0),
    ],
)
def test_no_extent_is_negative(shape: str, least: int | None) -> None:
    index = ", ".join("0" for _ in shape.split(","))
    temporary = pg.TemporaryVariable("t", "int32", shape, address_space=pg.AddressSpace.GLOBAL)
    for array in (pg.GlobalArg("t", "int32", shape), temporary):
        with pg.without_proofs():
            knl = kernel("{ [i]: 0<=i<3 }", f"t[{index}] = 1", array, pg.ValueArg("n"))
        if least is None:
            assert known_parameters(knl).plain_is_universe()
        else:
            assert known_parameters(knl).is_equal(isl.Set(f"[n] -> {{ : n >= {least} }}"))


def test_nothing_is_known_without_assumptions_and_arrays() -> None:
    knl = kernel(LINE, "s = n", pg.GlobalArg("s", "int32", ()), pg.ValueArg("n"))
    assert known_parameters(knl).plain_is_universe()


def test_assumptions_hold_beside_extents() -> None:
    data = [pg.GlobalArg("a", shape="n"), "..."]
    knl = kernel(LINE, "a[i] = m", *data, assumptions="n mod 2 = 0 and m <= n")
    found = points(known_parameters(knl), ("n", "m"))
    assert found == where(lambda n, m: n >= 0 and n % 2 == 0 and m <= n, 2)


def test_assumptions_that_nothing_fulfils_leave_nothing() -> None:
    with pg.without_proofs():
        knl = kernel(LINE, "a[i] = 1", pg.GlobalArg("a", shape="n"), assumptions="n < 0")
    assert known_parameters(knl).is_empty()


def test_derived_sizes_are_known_as_far_as_they_are_affine() -> None:
    size = DerivedSize("s", None, (2, ex.Variable("n")))
    knl = kernel(LINE, "a[i] = 1", pg.GlobalArg("a", shape="n")).copy(derived_sizes=(size,))
    found = points(known_parameters(knl), ("n", "s"))
    assert found == where(lambda n, s: n >= 0 and s == 2 * n, 2)


# --- arrays


def test_arrays_that_keep_their_values() -> None:
    def never(name: str, **aliasing: bool) -> bool:
        arrays = [pg.GlobalArg(x, shape="n", may_alias=aliasing.get(x, False)) for x in "abc"]
        knl = kernel("{ [i]: 0<=i<n }", "a[i] = b[i] + c[i]", *arrays)
        return is_never_written(knl, name)

    assert never("b")
    assert not never("a")
    assert not never("n")
    assert not never("b", b=True)
    assert not never("b", a=True)
    assert never("b", c=True)


@pytest.mark.parametrize(
    ("options", "keeps"),
    [({"initializer": np.arange(4, dtype=np.int32), "read_only": True}, True), ({}, False)],
)
def test_only_constant_temporaries_keep_their_values(options: Any, *, keeps: bool) -> None:
    table = pg.TemporaryVariable("t", "int32", 4, **options)
    with pg.without_proofs():
        knl = kernel("{ [i]: 0<=i<4 }", "a[i] = t[i]", pg.GlobalArg("a", "int32", 4), table)
    assert is_never_written(knl, "t") == keeps


def test_what_is_no_array_keeps_no_values() -> None:
    knl = kernel(LINE, "<> t = x\na[i] = t", pg.ValueArg("x", "int32"), "...")
    for name in ("t", "x", "i", "n", "unknown"):
        assert not is_never_written(knl, name)
