"""Profiles of CUDA's launches, on a driver for the host."""

from __future__ import annotations

import gc
import time
from pathlib import Path

import numpy as np
import pytest

import polygen as pg
from polygen.errors import KernelFault
from polygen.runtime.calls.device_errors import DriverError
from tests.nvidia.host_driver import HostDriver
from tests.nvidia.test_graphs import steady

LIMITS = pg.Limits(1e12, 1e13)


def test_launches_are_started_one_by_one(host: HostDriver) -> None:
    """Steps that would be a graph have times of their own; nobody keeps their events."""
    run, a = steady().executor("cuda"), np.arange(7.0)
    expected = np.roll(a, -200) + 200
    begin = time.perf_counter()
    with pg.profile(LIMITS) as p:
        run(a=a, steps=200, c=1.0)
    assert (host.graphs, host.held) == ({}, 0)
    np.testing.assert_array_equal(a, expected)
    rows = p.table().rows
    assert [(row.launches, row.timed) for row in rows] == [(200, 200), (200, 200)]
    assert 0 < sum(row.seconds for row in rows) < time.perf_counter() - begin
    other = np.arange(7.0)
    run(a=other, steps=200, c=1.0)
    assert host.graphs
    np.testing.assert_array_equal(other, expected)
    del p, rows
    gc.collect()
    assert host.events <= 3  # of temporaries, and of the profile's clock


def test_a_device_that_failed(host: HostDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks for the times is told; the block's own exception goes on."""
    run, a = steady().executor("cuda"), np.arange(7.0)

    def failed(first: int, last: int) -> float:
        raise DriverError("an illegal memory access was encountered", 700)

    monkeypatch.setattr(host, "seconds_between", failed)
    with pytest.raises(KeyError, match="mine"), pg.profile(LIMITS) as p:
        run(a=a, steps=3, c=1.0)
        raise KeyError("mine")
    with pytest.raises(KernelFault, match="illegal memory access") as caught:
        p.table()
    assert "test_profile.py" in str(caught.value)


@pytest.mark.more
def test_limits_of_a_slow_device(
    host: HostDriver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """This driver says that it is a large GPU: what would take hours is cut short."""
    monkeypatch.setenv("POLYGEN_CACHE_DIR", str(tmp_path))
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]", name="twice")
    run = pg.tag_inames(knl, {"i": "g.0"}).executor("cuda")
    with pg.profile() as p:
        run(a=np.ones(3, np.float32))
    (row,) = p.table().rows
    assert row.limits.compute_units == host.attribute("MULTIPROCESSOR_COUNT", 0)
    assert 0 < row.limits.bytes_per_second < 1e11
    assert pg.measure_limits("cuda") == row.limits  # it is kept


def test_what_users_record_has_no_times(host: HostDriver) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]", name="twice")
    run = pg.tag_inames(knl, {"i": "g.0"}).executor("cuda")
    _, (b,) = run(a=np.ones(3, np.float32))
    host.recorded.add(5)
    on_device = pg.tag_inames(knl, {"i": "g.0"}).executor("cuda")
    with pg.profile(LIMITS) as p:
        on_device(5, a=np.ones(3, np.float32))
    (row,) = p.table().rows
    assert (row.launches, row.timed, row.least_seconds, row.bytes) == (1, 0, None, 24)
    assert (row.memory_share, row.arithmetic_share, row.mean_seconds) == (None, None, None)
    assert str(p).splitlines()[1].split()[3:5] == ["?", "?"]
    assert b.sum() == 6
