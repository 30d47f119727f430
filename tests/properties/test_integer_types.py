"""Data of every type in subscripts, bounds and values, beside NumPy."""

from __future__ import annotations

import pytest

from tests.properties.integer_cases import (
    INTEGERS,
    OTHERS,
    check_bounds,
    check_subscripts,
    check_values,
)

pytestmark = pytest.mark.filterwarnings("ignore::polygen.errors.AmbiguousNesting")


def test_subscripts_in_c() -> None:
    for seed in range(3):
        check_subscripts(seed, "c")


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bounds_in_c(dtype: str) -> None:
    check_bounds(INTEGERS.index(dtype), "c")


@pytest.mark.parametrize("dtype", [*INTEGERS, *OTHERS])
def test_values_in_c(dtype: str) -> None:
    check_values(dtype, "c")


def test_in_opencl() -> None:
    check_subscripts(4, "opencl")
    for dtype in ("uint8", "uint32"):
        check_bounds(INTEGERS.index(dtype), "opencl")
    check_values("uint16", "opencl")


MANY = {"c": range(100, 1_600, 100), "opencl": range(2_000, 2_200, 50)}


@pytest.mark.deep
@pytest.mark.parametrize(("target", "start"), [(t, start) for t in MANY for start in MANY[t]])
def test_many(target: str, start: int) -> None:
    for seed in range(start, start + MANY[target].step):
        check_subscripts(seed, target)
        check_bounds(seed, target)


@pytest.mark.deep
@pytest.mark.parametrize("dtype", [*INTEGERS, *OTHERS])
def test_values_in_opencl(dtype: str) -> None:
    check_values(dtype, "opencl")
