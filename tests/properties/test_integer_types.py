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


MANY = {"c": range(100, 1_600, 100), "opencl": range(2_000, 2_200, 50)}


@pytest.mark.deep
@pytest.mark.parametrize(("target", "start"), [(t, start) for t in MANY for start in MANY[t]])
def test_many(target: str, start: int) -> None:
    for seed in range(start, start + MANY[target].step):
        knl, given, wanted = subscripts(seed)
        check(knl, target, given, wanted)
        knl, given, wanted = bounds(INTEGERS[seed % len(INTEGERS)])
        check(rearranged(knl, seed), target, given, wanted)


@pytest.mark.deep
@pytest.mark.parametrize("dtype", [*INTEGERS, *OTHERS])
def test_values_in_opencl(dtype: str) -> None:
    check_values(dtype, "opencl")
