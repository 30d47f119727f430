"""What is said of element types, beside what NumPy says of them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import polygen as pg
from polygen.errors import InternalError, InvalidArgument, WrongArgumentType
from polygen.ir.dtype import (
    FACTS,
    computed_in,
    facts,
    integer_limits,
    is_bfloat16,
    is_exact,
    is_inexact,
    is_integer,
    is_real,
    is_short_float,
    to_dtype,
)

NUMPY = sorted(FACTS.keys() - {"bfloat16"})


@pytest.mark.parametrize("name", NUMPY)
def test_facts_are_those_of_numpy(name: str) -> None:
    dtype = np.dtype(name)
    found = facts(dtype)
    assert (found.kind, found.size, found.computed_in) == (dtype.kind, dtype.itemsize, None)
    if name == "bool":
        assert (found.limits, found.epsilon) == ((0, 1), 0)
    elif np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        assert (found.limits, found.epsilon) == ((info.min, info.max), 0)
    else:
        assert (found.limits, found.epsilon) == (None, np.finfo(dtype).eps)


def test_facts_of_bfloat16() -> None:
    dtype = to_dtype("bfloat16")
    found = facts(dtype)
    one = np.ones(1, dtype)
    after = (one.view(np.uint16) + np.uint16(1)).view(dtype)
    assert (found.size, found.epsilon) == (dtype.itemsize, float(after[0]) - 1)
    assert found.computed_in == computed_in(dtype).name


@pytest.mark.parametrize("name", NUMPY)
def test_predicates(name: str) -> None:
    dtype = np.dtype(name)
    assert is_integer(dtype) == np.issubdtype(dtype, np.integer)
    assert is_inexact(dtype) == np.issubdtype(dtype, np.inexact)
    assert is_exact(dtype) != is_inexact(dtype)
    assert is_real(dtype) != np.issubdtype(dtype, np.complexfloating)
    assert is_short_float(dtype) == (name == "float16")


OF_V = ["V2", "V4", [("a", "u1"), ("b", "u1")], "float8_e4m3", "float8_e5m2"]


@pytest.mark.parametrize("spec", OF_V)
def test_other_types_of_its_letter_are_no_bfloat16(spec: Any) -> None:
    dtype = np.dtype(getattr(ml_dtypes, spec, spec) if isinstance(spec, str) else spec)
    assert dtype.kind in "Vf"
    assert not is_bfloat16(dtype)
    assert is_bfloat16(np.dtype(ml_dtypes.bfloat16))


@pytest.mark.parametrize("spec", ["V2", [("a", "u1"), ("b", "u1")]])
def test_arrays_of_other_types_of_its_letter_are_refused(spec: Any) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<4 }", "b[i] = a[i]")
    with pytest.raises(WrongArgumentType, match="which is no type of numbers"):
        knl.executor("c")(a=np.zeros(4, spec))


def test_predicates_of_bfloat16() -> None:
    """It is no type that anything is computed in."""
    dtype = to_dtype("bfloat16")
    assert is_short_float(dtype)
    assert not [test for test in (is_integer, is_exact, is_inexact, is_real) if test(dtype)]


@pytest.mark.parametrize("name", ["float32", "complex64", "bfloat16"])
def test_other_numbers_have_no_limits(name: str) -> None:
    with pytest.raises(InternalError, match=name):
        integer_limits(to_dtype(name))


@pytest.mark.parametrize("spec", [*"bhilqBHILQ?efdFD", ">i4", "<f8"])
def test_all_that_has_facts_is_an_element_type(spec: str) -> None:
    assert facts(to_dtype(np.dtype(spec))).size == np.dtype(spec).itemsize


@pytest.mark.parametrize(
    "spec", ["longdouble", "clongdouble", "S3", "U2", "O", "M8[s]", "m8", "V2"]
)
def test_what_has_none_is_none(spec: str) -> None:
    with pytest.raises(InvalidArgument, match="is no element type"):
        to_dtype(np.dtype(spec))
