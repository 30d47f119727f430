"""Loops that a condition ends, through the part of CUDA that needs no GPU."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import LaunchFailed
from tests.nvidia.host_driver import HostDriver
from tests.nvidia.test_runtime import Foreign

COUNTDOWN = """
for t while left[0] > 0
  for i
    y[i] = x[i] + t
  end
  for k
    x[n - 1 - k] = y[k]
  end
  left[0] = left[0] - 1
end
"""


def countdown(**options: int) -> pg.Kernel:
    knl = pg.make_kernel(
        ["{ [i, k]: 0<=i,k<n }", "{ [t]: 0<=t }"],
        COUNTDOWN,
        [
            pg.GlobalArg("left", np.int32, shape=1),
            pg.TemporaryVariable("y", shape="n", address_space=pg.AddressSpace.GLOBAL),
            "...",
        ],
        seq_dependencies=True,
    )
    for iname in "ik":
        knl = pg.split_iname(knl, iname, 2, outer_tag="g.0", inner_tag="l.0")
    return pg.set_options(knl, **options)


def counted(host: HostDriver, run: Any, steps: int) -> int:
    """Return how many launches a call makes, and check what it leaves."""
    x, left = np.array([1.0, 2.0, 4.0]), np.array([steps], np.int32)
    before = host.launches
    run(x=Foreign(x), left=Foreign(left))
    expected = np.array([1.0, 2.0, 4.0])
    for t in range(steps):
        expected = (expected + t)[::-1]
    np.testing.assert_array_equal(x, expected)
    assert left[0] == 0
    return host.launches - before


def test_the_flag_is_read_before_each_so_many_iterations(host: HostDriver) -> None:
    each, third = (countdown(check_every=every).executor("cuda") for every in (1, 3))
    launched = [counted(host, run, steps) for run in (each, third) for steps in (0, 1, 5)]
    # One is before the loop.  The last iteration finds that it is over; so do those behind it.
    body = launched[0] - 1
    assert launched == [1 + body * times for times in (1, 2, 6, 3, 3, 6)]
    # The host asks the flag between launches: no graph can hold that.
    host.recorded.add(5)
    with pytest.raises(LaunchFailed, match="ends where 't_runs' is 0"):
        counted(host, partial(each, 5), 2)
    host.recorded.clear()
