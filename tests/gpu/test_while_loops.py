"""Loops on the host that a condition ends, on a GPU: the device itself ends those that it can."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from tests.gpu.test_cuda import cupy
from tests.nvidia.test_while_loops import counting_down


@pytest.mark.parametrize(("most", "limit"), [("", 10**6), ("<7", 7), ("<m", 3), ("<1", 1)])
def test_the_device_ends_loops(most: str, limit: int) -> None:
    run = counting_down("1", most).executor("cuda")
    sizes = {"m": limit} if "m" in most else {}
    start = np.array([1.0, 2.0, 4.0])
    x, left = cupy.empty(3), cupy.empty(1, np.int32)
    for steps in (5, 0, 1, 2, 9, 1000):
        x[...], left[...] = cupy.asarray(start), steps
        run(x=x, left=left, **sizes)
        trips = min(steps, limit)
        np.testing.assert_array_equal(x.get(), (start + trips)[:: (-1) ** trips])
        assert left.get()[0] == steps - trips


def test_many_arrays_and_streams() -> None:
    run = counting_down("1").executor("cuda")
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(3)]
    pairs = [(cupy.zeros(3), cupy.full(1, k, np.int32)) for k in range(12)]
    cupy.cuda.Device().synchronize()
    for k, (x, left) in enumerate(pairs):
        run(streams[k % 3].ptr, x=x, left=left)
    cupy.cuda.Device().synchronize()
    for k, (x, left) in enumerate(pairs):
        np.testing.assert_array_equal(x.get(), np.full(3, k))
        assert left.get()[0] == 0


def test_graphs_of_users() -> None:
    run, stream = counting_down("1").executor("cuda"), cupy.cuda.Stream(non_blocking=True)
    x, left = cupy.zeros(3), cupy.zeros(1, np.int32)
    cupy.cuda.Device().synchronize()
    with stream:
        stream.begin_capture()
        left += 5
        run(stream.ptr, x=x, left=left)
        x *= 2
        graph = stream.end_capture()
    for repeat in range(1, 4):
        graph.launch(stream)
        stream.synchronize()
        np.testing.assert_array_equal(
            x.get(), np.full(3, sum(5 * 2**k for k in range(1, repeat + 1)))
        )


def test_trips_that_differ() -> None:
    for options in ({}, {"check_every": 4}):
        run: Any = pg.set_options(counting_down("t"), **options).executor("cuda")
        for steps in (0, 1, 6):
            x, left = cupy.asarray([1.0, 2.0, 4.0]), cupy.full(1, steps, np.int32)
            run(x=x, left=left)
            expected = np.array([1.0, 2.0, 4.0])
            for t in range(steps):
                expected = (expected + t)[::-1]
            np.testing.assert_array_equal(x.get(), expected)


def test_a_loop_in_a_loop() -> None:
    knl = pg.make_kernel(
        ["{ [i,j]: 0<=i,j<n }", "{ [t, u]: 0<=t,u }"],
        """
        for t while left[0] > 0
          for i
            x[i] = x[i] + 1
          end
          left[0] = left[0] - 1
          again[0] = 3
          for u while again[0] > 0
            for j
              x[j] = x[j] + 10
            end
            again[0] = again[0] - 1
          end
        end
        """,
        [pg.GlobalArg(name, np.int32, shape=1) for name in ("left", "again")] + ["..."],
        seq_dependencies=True,
    )
    for iname in "ij":
        knl = pg.split_iname(knl, iname, 32, outer_tag="g.0", inner_tag="l.0")
    run = knl.executor("cuda")
    for steps in (0, 1, 4):
        x, left, again = cupy.zeros(100), cupy.full(1, steps, np.int32), cupy.zeros(1, np.int32)
        run(x=x, left=left, again=again)
        np.testing.assert_array_equal(x.get(), np.full(100, 31.0 * steps))
