"""Profiles and limits on a GPU: beside PyTorch's profiler, its copies, and a kernel by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polygen as pg
from tests.gpu.test_cuda import cupy, torch
from tests.nvidia.test_graphs import steady

LIMITS = pg.Limits(4e12, {"float32": 60e12})
BIG = 2**26


def triad() -> pg.Kernel:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "c[i] = a[i] + 3*b[i]", name="triad")
    return pg.split_iname(knl, "i", 256, outer_tag="g.0", inner_tag="l.0")


def test_events_say_what_pytorchs_profiler_says() -> None:
    knl = triad()
    a, b, c = (torch.rand(BIG, device="cuda") for _ in range(3))
    knl(a=a, b=b, c=c)
    activity = torch.profiler.ProfilerActivity.CUDA
    theirs = torch.profiler.profile(activities=[activity], acc_events=True)
    with theirs as other, pg.profile(LIMITS) as p:
        for _ in range(5):
            knl(a=a, b=b, c=c)
        torch.cuda.synchronize()
    (row,) = p.table().rows
    (event,) = [event for event in other.key_averages() if event.key.startswith("triad")]
    assert (row.launches, event.count) == (5, 5)
    expected = event.device_time_total * 1e-6
    assert row.seconds == pytest.approx(expected, rel=0.1)
    assert row.bytes == 5 * 12 * BIG
    assert row.operations == {"float32": 5 * 2 * BIG}


def test_a_loop_on_the_host() -> None:
    """Each of 20 steps has launches of its own, which come one after the other."""
    run, a = steady(), cupy.asarray(np.arange(50_000.0))
    expected = np.roll(np.arange(50_000.0), -20) + 20
    with pg.profile(LIMITS) as p:
        run(a=a, steps=20, c=1.0)
    np.testing.assert_array_equal(a.get(), expected)
    assert {row.launches for row in p.table().rows} == {20}


def test_a_graph_of_the_users_has_no_times(tmp_path: Path) -> None:
    knl = triad()
    a, b, c = (cupy.ones(1000, np.float32) for _ in range(3))
    knl(a=a, b=b, c=c)
    stream = cupy.cuda.Stream(non_blocking=True)
    with pg.profile(LIMITS) as p, stream:
        stream.begin_capture()
        knl(stream, a=a, b=b, c=c)
        graph = stream.end_capture()
        graph.launch(stream)
    stream.synchronize()
    (row,) = p.table().rows
    assert (row.launches, row.timed, row.memory_share) == (1, 0, None)
    np.testing.assert_array_equal(c.get(), 4)
    events = json.loads(p.to_trace(tmp_path / "trace.json").read_text())["traceEvents"]
    assert [e["name"] for e in events if e["ph"] == "X"] == ["triad"]  # the call


_BY_HAND = r"""
extern "C" __global__ void by_hand(float *b, float f, float g, int m) {
    float x[8];
    for (int k = 0; k < 8; ++k) x[k] = b[blockIdx.x * 256 + threadIdx.x] + k;
    for (int t = 0; t < m; ++t)
        for (int k = 0; k < 8; ++k) x[k] = x[k] * f + g;
    float sum = 0;
    for (int k = 0; k < 8; ++k) sum += x[k];
    b[blockIdx.x * 256 + threadIdx.x] = sum;
}
"""


def seconds_of(work: Any) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    found = list[float]()
    for _ in range(6):
        begin.record()
        work()
        end.record()
        end.synchronize()
        found.append(begin.elapsed_time(end) / 1e3)
    return min(found)


def test_measured_limits() -> None:
    """The copy's rate is PyTorch's, that of float32 a kernel's by hand, both within an eighth."""
    limits = pg.measure_limits("cuda", refresh=True)
    assert pg.measure_limits("cuda") == limits  # kept
    a = torch.rand(BIG, device="cuda")
    b = torch.empty_like(a)
    copied = 8 * BIG / seconds_of(lambda: b.copy_(a))
    assert limits.bytes_per_second == pytest.approx(copied, rel=0.125)
    groups, m = 132 * 16, 4096
    x = cupy.zeros(groups * 256, np.float32)
    by_hand = cupy.RawKernel(_BY_HAND, "by_hand")
    arguments = (x, np.float32(0.999), np.float32(1), np.int32(m))
    with cupy.cuda.Stream.from_external(torch.cuda.current_stream()):
        done = seconds_of(lambda: by_hand((groups,), (256,), arguments))
    rate = 2 * 8 * m * groups * 256 / done
    assert limits.rate_of("float32") == pytest.approx(rate, rel=0.125)


def test_a_small_launch_takes_no_longer_than_it_does() -> None:
    """The time that the host takes to start it does not count."""
    knl = triad()
    a, b, c = (torch.rand(256, device="cuda") for _ in range(3))
    knl(a=a, b=b, c=c)
    with pg.profile(LIMITS) as p:
        for _ in range(50):
            knl(a=a, b=b, c=c)
    (row,) = p.table().rows
    assert row.least_seconds is not None
    assert row.least_seconds < 4e-6
