"""Data of every type in subscripts, bounds and values, in CUDA C++ on the host's processor."""

from __future__ import annotations

import pytest

from tests.nvidia.host_driver import HostDriver
from tests.properties import integer_cases as cases

pytestmark = [
    pytest.mark.more,
    pytest.mark.filterwarnings("ignore::polygen.errors.AmbiguousNesting"),
]


def test_some(host: HostDriver) -> None:
    cases.check_subscripts(6, "cuda")
    cases.check_bounds(cases.INTEGERS.index("uint16"), "cuda")
    cases.check_values("uint32", "cuda")
    assert host.compiled == 3


@pytest.mark.deep
@pytest.mark.parametrize("start", range(3_000, 3_150, 30))
def test_many(host: HostDriver, start: int) -> None:
    for seed in range(start, start + 30):
        cases.check_subscripts(seed, "cuda")
        cases.check_bounds(seed, "cuda")
    assert host.compiled


@pytest.mark.deep
@pytest.mark.parametrize("dtype", [*cases.INTEGERS, *cases.OTHERS])
def test_values(host: HostDriver, dtype: str) -> None:
    cases.check_values(dtype, "cuda")
    assert host.compiled == 1
