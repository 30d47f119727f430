"""`polygen.optimize` for CUDA on random kernels: NVRTC takes the code, results are as before."""

from __future__ import annotations

from typing import Any

import pytest

from tests.nvidia.host_driver import HostDriver
from tests.schedules.random_schedules import check_programs, check_schedules

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::polygen.errors.{name}")
    for name in ("NotParallel", "NotVectorized", "SeparationIgnored", "PriorityIgnored")
]


def deep(first: int, last: int, step: int) -> list[Any]:
    return [
        pytest.param(range(s, s + step), marks=pytest.mark.deep, id=str(s))
        for s in range(first, last, step)
    ]


@pytest.mark.parametrize(
    "seeds", [pytest.param(range(73_000, 73_002), id="73000"), *deep(73_010, 75_010, 50)]
)
def test_code(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """What tests print in CUDA C++, NVRTC compiles: see `tests/conftest.py`."""
    check_schedules(seeds, "cuda", monkeypatch, run=False)


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(75_100, 75_110), marks=pytest.mark.more, id="75100"),
        *deep(75_110, 75_310, 20),
    ],
)
def test_results(host: HostDriver, seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    check_schedules(seeds, "cuda", monkeypatch, run=True)
    assert host.compiled == 1


@pytest.mark.parametrize("seeds", deep(2_000, 2_400, 20))
def test_programs(host: HostDriver, seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    check_programs(seeds, "cuda", monkeypatch)
    assert host.compiled == 1
