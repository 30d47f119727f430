"""`measure_limits`: what its kernels compute, and what is kept."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument
from polygen.inspection.devices import limit_kernels as kernels
from polygen.inspection.devices import measure_limits as module
from polygen.inspection.devices.limits import Limits
from polygen.inspection.devices.measured_device import measured_device
from polygen.runtime.calls.call_recording import RECORDERS, unheard
from polygen.runtime.disk.cache_contents import contents


@pytest.mark.parametrize("kind", ["gpu", "cpu"])
def test_what_is_timed_is_right(kind: str) -> None:
    rng = np.random.default_rng(2)
    a = rng.random(kernels.CHUNK, np.float32)
    _, (b,) = kernels.copying(kind).executor("c")(a=a)
    np.testing.assert_array_equal(b, a)
    n, m = 2 * kernels.lanes_of(kind, "float64"), 3
    x = rng.random(n)
    run = kernels.multiplying(kind, "float64").executor("c")
    _, (found,) = run(a=x, f=0.5, g=2.0, m=m)
    expected = x + np.arange(kernels.CHAINS[kind])[:, None]
    for _ in range(m):
        expected = expected * 0.5 + 2
    np.testing.assert_allclose(found, expected)
    width = kernels.WIDTHS[kind]
    a, b = rng.integers(0, 9, (2, width)).astype(np.float32)
    expected = a + 3
    kernels.stepping(kind).executor("c")(a=a, b=b, m=3)
    np.testing.assert_array_equal(a, expected)
    whole = rng.integers(0, 9, kernels.ITEMS * 2).astype(np.float32)
    _, (total,) = kernels.adding(kind).executor("c")(a=whole, total=np.ones(1, np.float32))
    assert total[0] == whole.sum() + 1


def test_reads_of_memory_are_right() -> None:
    rng = np.random.default_rng(3)
    a = rng.integers(0, 9, (kernels.ROWS, kernels.ITEMS)).astype(np.float32)
    _, (b,) = kernels.reading_local().executor("c")(a=a, h=8, m=3, n=2)
    np.testing.assert_array_equal(b, np.tile(3 * a[:8].sum(axis=0), (2, 1)))
    place = rng.permutation(50).astype(np.int32)
    at = 7
    last = np.array([at], np.int32)
    run = kernels.following().executor("c")
    for _ in range(2):  # the second call goes on
        for _ in range(5):
            at = place[at]
        run(place=place, last=last, m=5)
    assert last[0] == at


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Measure badly, and keep it in a folder of the test's own."""
    monkeypatch.setenv("POLYGEN_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(module, "_LONG", 1e-6)
    monkeypatch.setattr(module, "_BATCHES", 1)
    monkeypatch.setattr("polygen.inspection.devices.measured_device._LEAST_COPIED", 2**21)
    monkeypatch.setattr("polygen.inspection.devices.measured_device._MOST_COPIED", 2**21)


@pytest.mark.parametrize(("seconds", "parts"), [(1e-6, 2048), (1e-3, 200), (1e-2, 20), (3.0, 1)])
def test_slow_devices_have_less_to_do(
    monkeypatch: pytest.MonkeyPatch, seconds: float, parts: int
) -> None:
    """Calls stay short, whatever a device says of itself; a fast one gets all of it."""
    tried: list[int] = []

    def once(_: object, count: Any) -> float:
        tried.append(count["count"])
        return seconds * tried[-1]

    monkeypatch.setattr(module, "_once", once)
    measuring = module._Measuring(measured_device("c"))
    found = measuring._most(kernels.copying("cpu"), lambda count: {"count": count}, 2048)
    assert abs(found - parts) <= 1
    assert seconds * tried[-1] < 0.8 or tried == [1]  # eight times what is not enough


@pytest.mark.usefixtures("quick")
def test_less_is_copied_on_slow_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polygen.inspection.devices.measured_device._LEAST_COPIED", 2**24)
    monkeypatch.setattr("polygen.inspection.devices.measured_device._MOST_COPIED", 2**24)
    copied: list[int] = []

    def seconds(_self: object, _kernel: object, args: Any) -> float:
        copied.append(args["a"].nbytes + args["b"].nbytes)
        return 0.5

    monkeypatch.setattr(module._Measuring, "_seconds", seconds)
    for each in (1e-9, 1.0):
        monkeypatch.setattr(module, "_once", lambda *_, each=each: each)
        assert module._Measuring(measured_device("c"))._copied(2**24) == copied[-1] / 0.5
    assert copied == [2**24, 8 * kernels.CHUNK]


@pytest.mark.usefixtures("quick")
def test_what_was_measured_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    first = pg.measure_limits("c")
    rates = first.operations_per_second
    assert not isinstance(rates, float | int)
    assert list(rates) == ["float32", "float64", "int32"]
    for rate in (first.bytes_per_second, *rates.values()):
        assert 1e6 < rate < 1e15
    for seconds in (first.launch_seconds, first.latency_seconds, first.atomic_seconds):
        assert 1e-10 < seconds < 1
    assert first.compute_units == len(os.sched_getaffinity(0))
    entries = contents().entries
    again = replace(first, bytes_per_second=123.0)
    monkeypatch.setattr(module._Measuring, "limits", lambda _: again)
    assert pg.measure_limits("c") == first  # what is on disk
    assert pg.measure_limits("c", refresh=True) == again
    assert pg.measure_limits("c") == again
    assert contents().entries == entries  # in the place of what was there
    monkeypatch.setenv("POLYGEN_NO_CACHE", "1")
    monkeypatch.setattr(module._Measuring, "limits", lambda _: first)
    assert pg.measure_limits("c") == first


def test_profiles_do_not_hear_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that profiles are told of are started in another way: they take longer."""
    heard = list[bool]()

    def limits(_: object) -> Limits:
        heard.append(bool(RECORDERS))
        return Limits(1, 1)

    monkeypatch.setattr(module._Measuring, "limits", limits)
    monkeypatch.setenv("POLYGEN_NO_CACHE", "1")
    with pg.profile(Limits(1, 1)) as outer:
        pg.measure_limits("c")
        assert [outer] == RECORDERS
        with unheard(), pg.profile(Limits(1, 1)):
            assert not RECORDERS
        assert [outer] == RECORDERS
    assert (heard, RECORDERS) == ([False], [])


def test_what_tells_devices_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    here, there = measured_device("c"), measured_device("opencl")
    assert (here.kind, here.target, there.kind, there.target) == ("cpu", "c", "cpu", "opencl")
    assert here.identity != there.identity
    assert measured_device(None).identity == here.identity
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    other = measured_device("c")
    assert (other.stated.compute_units, other.identity == here.identity) == (3, False)
    assert here.copied_bytes <= 2**30


def test_no_device() -> None:
    with pytest.raises(InvalidArgument, match="cannot run on 'gpu', which is no device") as caught:
        pg.measure_limits("gpu")
    assert caught.value.remedy


def test_limits_may_lack_the_rate_of_local_memory() -> None:
    assert Limits(1, 1).local_bytes_per_second is None
    with pytest.raises(InvalidArgument, match="local_bytes_per_second=0 is no limit of a device"):
        Limits(1, 1, local_bytes_per_second=0)
