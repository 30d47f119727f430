"""Loops that a condition ends, through the part of CUDA that needs no GPU."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import LaunchFailed
from polygen.runtime.calls.device_errors import DriverError
from tests.few import few
from tests.nvidia.host_driver import HostDriver
from tests.nvidia.test_runtime import Foreign


def counting_down(added: str, most: str = "") -> pg.Kernel:
    """Return a kernel that turns an array around, something added, while there is a number left.

    Parameters:
        added: to each element; with ``t`` in it, iterations differ.
        most: an upper end of the loop, as ``<7``.
    """
    knl = pg.make_kernel(
        ["{ [i, k]: 0<=i,k<n }", f"{{ [t]: 0<=t{most} }}"],
        f"""
        for t while left[0] > 0
          for i
            y[i] = x[i] + {added}
          end
          for k
            x[n - 1 - k] = y[k]
          end
          left[0] = left[0] - 1
        end
        """,
        [
            pg.GlobalArg("left", np.int32, shape=1),
            pg.TemporaryVariable("y", shape="n", address_space=pg.AddressSpace.GLOBAL),
            "...",
        ],
        seq_dependencies=True,
    )
    for iname in "ik":
        knl = pg.split_iname(knl, iname, 2, outer_tag="g.0", inner_tag="l.0")
    return knl


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
    knl = counting_down("t")
    each, third = (pg.set_options(knl, check_every=every).executor("cuda") for every in (1, 3))
    launched = [counted(host, run, steps) for run in (each, third) for steps in (0, 1, 5)]
    # One is before the loop.  The last iteration finds that it is over; so do those behind it.
    body = launched[0] - 1
    assert launched == [1 + body * times for times in (1, 2, 6, 3, 3, 6)]
    # The host asks the flag between launches: no graph can hold that.
    host.recorded.add(5)
    with pytest.raises(LaunchFailed, match="ends where 't_runs' is 0"):
        counted(host, partial(each, 5), 2)
    host.recorded.clear()


@few(2, ("most", "limit"), [("", 10**6), ("<7", 7), ("<m", 3), ("<1", 1)])
def test_the_device_ends_loops_of_graphs(host: HostDriver, most: str, limit: int) -> None:
    host.with_loops = True
    run = counting_down("1", most).executor("cuda")
    sizes = {"m": limit} if "m" in most else {}
    x, left = np.empty(3), np.empty(1, np.int32)
    launched: list[int] = []
    for steps in (5, 0, 1, 2, 9):
        x[:], left[0] = (1, 2, 4), steps
        before = host.launches
        run(x=Foreign(x), left=Foreign(left), **sizes)
        launched.append(host.launches - before)
        trips = min(steps, limit)
        expected = np.array([1.0, 2.0, 4.0]) + trips
        np.testing.assert_array_equal(x, expected[:: (-1) ** trips])
        assert left[0] == steps - trips
    assert launched[0] > 0  # these become a graph, which all calls start
    assert launched[1:] == [0, 0, 0, 0]


def test_the_device_ends_loops_of_graphs_of_users(host: HostDriver) -> None:
    host.with_loops = True
    run = counting_down("1").executor("cuda")
    x, left = np.array([1.0, 2.0, 4.0]), np.array([4], np.int32)
    host.recorded.add(5)
    run(x=Foreign(x), left=Foreign(left), queue=5)
    host.recorded.clear()
    np.testing.assert_array_equal(x, [5.0, 6.0, 8.0])
    assert left[0] == 0


def test_loops_in_loops_and_behind_them(host: HostDriver) -> None:
    """Digits by repeated subtraction: as many trips of each as the data says."""
    host.with_loops = True
    knl = pg.make_kernel(
        ["{ [i,j,k]: 0<=i,j,k<n }", "{ [t, u]: 0<=t,u }", "{ [v]: 0<=v<1000 }"],
        """
        for t while x[0] >= 100
          for i
            x[i] = x[i] - 100
          end
          hundreds[0] = hundreds[0] + 1
          for u while hundreds[0] >= 10
            hundreds[0] = hundreds[0] - 10
            for j
              thousands[j] = thousands[j] + 1
            end
          end
        end
        for v while x[0] >= 10
          for k
            x[k] = x[k] - 10
          end
          tens[0] = tens[0] + 1
        end
        """,
        [
            *(pg.GlobalArg(name, np.int32, shape=1) for name in ("hundreds", "tens")),
            *(pg.GlobalArg(name, np.int32, shape="n") for name in ("x", "thousands")),
            "...",
        ],
        seq_dependencies=True,
        assumptions="n >= 1",
    )
    for iname in "ijk":
        knl = pg.split_iname(knl, iname, 2, outer_tag="g.0", inner_tag="l.0")
    run = knl.executor("cuda")
    for number in (0, 7, 10, 99, 100, 1234, 3999, 10_001):
        x = np.array([number, number + 5, number], np.int32)
        digits = {"thousands": np.zeros(3, np.int32)}
        digits |= {name: np.zeros(1, np.int32) for name in ("hundreds", "tens")}
        run(x=Foreign(x), **{name: Foreign(value) for name, value in digits.items()})
        found = [int(value[0]) for value in digits.values()]
        assert found == [number // 1000, number // 100 % 10, number // 10 % 10]
        np.testing.assert_array_equal(x, number % 10 + np.array([0, 5, 0]))
    assert host.graphs


def test_trips_that_differ_are_those_of_the_host(host: HostDriver) -> None:
    host.with_loops = True
    run = counting_down("t").executor("cuda")
    launched = [counted(host, run, steps) for steps in (1, 5)]
    assert launched[1] > launched[0] > 0


def test_a_driver_that_cannot_link_leaves_it_to_the_host(
    host: HostDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(code: bytes) -> bytes:
        raise DriverError("the library is newer than the driver", 222)

    host.with_loops = True
    monkeypatch.setattr(host, "linked", refuse)
    monkeypatch.setenv("POLYGEN_NO_CACHE", "1")
    run = counting_down("1").executor("cuda")
    x, left = np.array([1.0, 2.0, 4.0]), np.array([2], np.int32)
    before = host.launches
    run(x=Foreign(x), left=Foreign(left))
    np.testing.assert_array_equal(x, [3.0, 4.0, 6.0])
    assert host.launches - before > 6
    assert not host.graphs
