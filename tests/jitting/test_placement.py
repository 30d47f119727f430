"""Calls with NumPy arrays on a device: where they run, and what is copied."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import OutOfMemory
from polygen.jitting import compiled_programs, placement
from polygen.jitting import jit as jitting
from polygen.jitting.placement import Accelerator
from polygen.runtime.backends.opencl.opencl_backend import OPENCL

Array = np.ndarray[Any, Any]
FAST = pg.Limits(1e15, 1e15, 100, launch_seconds=1e-12, latency_seconds=1e-12)
SLOW = pg.Limits(1e3, 1e3, 1)
N = 100


def times(x: Array, y: Array, steps: int) -> None:
    for _ in range(steps):
        for i in range(len(x)):
            y[i] += 2 * x[i]


def by_data(x: Array, y: Array, steps: int) -> None:
    while x[0] > steps:
        for i in range(len(x)):
            y[i] += 2 * x[i]
            x[i] -= 1


def _placed(monkeypatch: pytest.MonkeyPatch, device: Accelerator | None, function: Any) -> Any:
    for module in (jitting, compiled_programs):
        monkeypatch.setattr(module, "accelerator", lambda: device)
    compiled = pg.jit(function, target="auto")
    x, y = np.arange(float(N)), np.zeros(N)
    compiled(x, y, 3)
    expected, plain = np.zeros(N), np.arange(float(N))
    function(plain, expected, 3)
    np.testing.assert_array_equal(y, expected)
    return compiled


@pytest.mark.parametrize(
    ("device", "function", "said"),
    [
        (Accelerator("opencl", 1e15, FAST, 0), times, "on the device for sizes like"),
        (Accelerator("opencl", 1e3, FAST, 0), times, "on the processor for sizes like"),
        (Accelerator("opencl", 1e15, SLOW, 0), times, "on the processor for sizes like"),
        (Accelerator("opencl", 1e15, FAST, 0), by_data, "data decides how long it takes"),
        (None, times, ""),
    ],
)
def test_forecasts_choose(
    monkeypatch: pytest.MonkeyPatch, device: Accelerator | None, function: Any, said: str
) -> None:
    compiled = _placed(monkeypatch, device, function)
    text = compiled.explain()
    assert said in text
    is_on_device = "on the device" in said
    (knl,) = compiled.kernels(np.zeros(N), np.zeros(N), 3)
    assert knl.target == ("opencl" if is_on_device else "c")
    # Elements that are updated are copied there and back.
    copies = f"copied by the last call on a device: {2 * 8 * N} bytes there, {8 * N} back"
    assert (copies in text) == is_on_device


def test_what_does_not_fit_runs_on_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> Any:
        raise OutOfMemory("the copy of 'x' needs 800 bytes on the device")

    monkeypatch.setattr(type(OPENCL), "stage", full)
    compiled = _placed(monkeypatch, Accelerator("opencl", 1e15, FAST, 0), times)
    assert "the copy of 'x' needs 800 bytes on the device" in compiled.explain()
    y = np.zeros(N)
    compiled(np.ones(N), y, 1)
    np.testing.assert_array_equal(y, 2)
    with pytest.raises(OutOfMemory, match="needs 800 bytes"):
        pg.jit(times, target="opencl")(np.ones(N), y, 1)


SEEN: list[float] = []


def in_parts(x: Array, y: Array, z: Array, index: Array) -> float:
    for i in range(N):
        y[i] = 2 * x[i]
    print(N)  # noqa: T201
    for i in range(N):
        index[i] = N - 1 - i
        z[i] = y[i] + x[i]
    SEEN.append(z[3])
    for i in range(N):
        x[i] = z[index[i]]
    total = 0.0
    for i in range(N):
        total += x[i]
    return total


def test_copies_stay_between_statements(capsys: pytest.CaptureFixture[str]) -> None:
    compiled = pg.jit(in_parts, target="opencl")
    x, index = np.arange(float(N)), np.zeros(N, np.int64)
    y, z = np.zeros(N), np.zeros(N)
    assert compiled(x, y, z, index) == sum(3 * i for i in range(N))
    np.testing.assert_array_equal(x, 3 * np.arange(float(N))[::-1])
    np.testing.assert_array_equal(y, 2 * np.arange(float(N)))
    np.testing.assert_array_equal(z, 3 * np.arange(float(N)))
    np.testing.assert_array_equal(index, np.arange(N)[::-1])
    assert SEEN == [9]
    assert capsys.readouterr().out == f"{N}\n"
    # x, y, index and z at first; x, z and index again after the list, which may be anything's.
    text = compiled.explain()
    assert f"{7 * 8 * N} bytes there, {4 * 8 * N + 8} back" in text


def overlapping(x: Array, y: Array) -> None:
    for i in range(N - 1):
        x[i] += 1
    print(end="")  # noqa: T201
    for i in range(N - 1):
        y[i] += x[i]


def test_arrays_that_share_memory_are_pythons() -> None:
    compiled = pg.jit(overlapping, target="opencl")
    memory, other = np.arange(N + 1.0), np.arange(N + 1.0)
    compiled(memory[:N], memory[1:])
    overlapping(other[:N], other[1:])
    np.testing.assert_array_equal(memory, other)
    apart = np.arange(float(N)), np.arange(float(N))
    compiled(*apart)
    np.testing.assert_array_equal(apart[1][:-1], 2 * np.arange(N - 1) + 1)


def test_copies_are_timed_in_both_directions(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """On a device that is not there: copies are noted, and the rate is kept."""
    copies: list[tuple[bool, bool]] = []

    class Driver:
        def copy(self, target: int, source: int, size: int, _: int, *, to_host: bool) -> None:
            assert size == 1 << 26
            assert (target == 7) != (source == 7)
            copies.append((target == 7, to_host))

    monkeypatch.setenv("POLYGEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(placement, "has_cuda", lambda: True)
    monkeypatch.setattr(placement, "driver", Driver)

    def found_there(*_: object) -> SimpleNamespace:
        return SimpleNamespace(address=7, identity="none")

    monkeypatch.setattr(placement, "DeviceMemory", found_there)
    monkeypatch.setattr(placement, "measured_device", found_there)
    for _ in range(2):
        placement.copied_per_second.cache_clear()
        found = placement.accelerator()
        assert found is not None
        assert found.target == "cuda"
        assert found.bytes_per_second > 0
    assert copies == [(True, False), (False, True)] * 3
    placement.copied_per_second.cache_clear()
