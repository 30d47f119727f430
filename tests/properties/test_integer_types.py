"""Data of every type in subscripts, bounds and values, beside NumPy."""

from __future__ import annotations

import pytest

from tests.properties.integer_cases import (
    INTEGERS,
    OTHERS,
    bounds,
    check,
    rearranged,
    subscripts,
    values,
)

pytestmark = pytest.mark.filterwarnings("ignore::polygen.errors.AmbiguousNesting")


def test_subscripts_in_c() -> None:
    for seed in range(3):
        knl, given, wanted = subscripts(seed)
        check(knl, "c", given, wanted)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bounds_in_c(dtype: str) -> None:
    knl, given, wanted = bounds(dtype)
    check(rearranged(knl, INTEGERS.index(dtype)), "c", given, wanted)


@pytest.mark.parametrize("dtype", [*INTEGERS, *OTHERS])
def test_values_in_c(dtype: str) -> None:
    check_values(dtype, "c")


def check_values(dtype: str, target: str) -> None:
    knl, given, wanted = values(dtype)
    check(knl, target, given, wanted)


def test_in_opencl() -> None:
    knl, given, wanted = subscripts(4)
    check(knl, "opencl", given, wanted)
    for dtype in ("uint8", "uint32"):
        knl, given, wanted = bounds(dtype)
        check(rearranged(knl, 5), "opencl", given, wanted)
    check_values("uint16", "opencl")


@pytest.mark.deep
@pytest.mark.parametrize("target", ["c", "opencl"])
def test_many(target: str) -> None:
    for seed in range(10, 200 if target == "c" else 60):
        knl, given, wanted = subscripts(seed)
        check(knl, target, given, wanted)
        knl, given, wanted = bounds(INTEGERS[seed % len(INTEGERS)])
        check(rearranged(knl, seed), target, given, wanted)
    for dtype in (*INTEGERS, *OTHERS):
        check_values(dtype, target)
