"""Data of every type in subscripts, bounds and values, in CUDA C++ on the host's processor."""

from __future__ import annotations

import pytest

from tests.nvidia.host_driver import HostDriver
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


def test_some(host: HostDriver) -> None:
    for made in (subscripts(6), bounds("uint16"), values("uint32")):
        check(made[0], "cuda", *made[1:])
    assert host.compiled == 3


@pytest.mark.deep
@pytest.mark.parametrize("start", range(3_000, 3_150, 30))
def test_many(host: HostDriver, start: int) -> None:
    for seed in range(start, start + 30):
        knl, given, wanted = subscripts(seed)
        check(knl, "cuda", given, wanted)
        knl, given, wanted = bounds(INTEGERS[seed % len(INTEGERS)])
        check(rearranged(knl, seed), "cuda", given, wanted)
    assert host.compiled


@pytest.mark.deep
@pytest.mark.parametrize("dtype", [*INTEGERS, *OTHERS])
def test_values(host: HostDriver, dtype: str) -> None:
    knl, given, wanted = values(dtype)
    check(knl, "cuda", given, wanted)
    assert host.compiled == 1
