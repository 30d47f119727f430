"""Kernels that are several launches, or launches in loops on the host."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NoDevice
from polygen.runtime.backends.opencl.opencl_driver import pyopencl


def array_arg(name: str, *shape: Any, **more: Any) -> pg.GlobalArg:
    """Return an array argument of this shape."""
    return pg.GlobalArg(name, shape=shape, **more)


@pytest.fixture(params=["in order", "out of order"])
def any_queue(request: pytest.FixtureRequest, queue: Any) -> Any:
    """A queue that keeps the order of launches, and one that does not."""
    properties = pyopencl().command_queue_properties
    out_of_order = properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
    chosen = out_of_order if request.param == "out of order" else 0
    return pyopencl().CommandQueue(queue.context, properties=chosen)


def test_two_launches(any_queue: Any) -> None:
    knl = pg.make_kernel(
        "{ [i,j,ii,jj]: 0<=i,j,ii,jj<n }",
        """
        out[j,i] = a[i,j] {id=transpose}
        out[ii,jj] = 2*out[ii,jj] {dep=transpose}
        """,
    )
    knl = pg.tag_inames(knl, {"i": "g.0", "j": "g.1", "ii": "g.0", "jj": "g.1"})
    a = np.random.default_rng(0).random((9, 9))
    for _ in range(3):
        np.testing.assert_array_equal(knl(any_queue, a=a)[1][0], 2 * a.T)


def test_loop_on_the_host(any_queue: Any) -> None:
    knl = pg.make_kernel(
        "{ [t,i]: 0<=t<nt and 1<=i<n-1 }",
        "u[t+1,i] = u[t,i-1] + u[t,i+1]",
        [array_arg("u", "nt+1", "n"), "..."],
        loop_priority="t, i",
    )
    knl = pg.tag_inames(knl, {"i": "g.0"})
    u = np.random.default_rng(0).random((6, 20))
    expected = u.copy()
    for t in range(5):
        expected[t + 1, 1:-1] = expected[t, :-2] + expected[t, 2:]
    event, (same,) = knl(any_queue, u=u)
    event.wait()
    assert same is u
    np.testing.assert_array_equal(u, expected)
    # Without a step, nothing is launched.
    alone = expected[:1].copy()
    event, _ = knl(any_queue, u=alone)
    event.wait()
    np.testing.assert_array_equal(alone, expected[:1])


def test_grid_that_depends_on_a_loop_on_the_host(any_queue: Any) -> None:
    knl = pg.make_kernel(
        "{ [t,i]: 0<=t<nt and 0<=i<t }",
        "u[t,i] = u[t-1,i] + 1 {id=w}",
        [array_arg("u", "nt", "nt"), "..."],
        assumptions="nt>=1",
    )
    knl = pg.tag_inames(knl, {"i": "g.0"})
    u = np.zeros((7, 7))
    knl(any_queue, u=u)
    expected = np.zeros((7, 7))
    for t in range(7):
        expected[t, :t] = expected[t - 1, :t] + 1
    np.testing.assert_array_equal(u, expected)


def test_global_temporary(any_queue: Any, target: str) -> None:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i,j<16 }",
        "tmp[i] = 2*a[i] {id=w}\nout[j] = tmp[15-j] {dep=w}",
        [
            pg.TemporaryVariable("tmp", shape=(16,), address_space=pg.AddressSpace.GLOBAL),
            "...",
        ],
    )
    knl = pg.tag_inames(knl, {"i": "g.0", "j": "g.0"})
    a = np.arange(16.0)
    for _ in range(3):
        np.testing.assert_array_equal(knl(any_queue, a=a)[1][0], 2 * a[::-1])
        np.testing.assert_array_equal(knl.executor(target)(a=a)[1][0], 2 * a[::-1])


def test_events_of_arrays_are_waited_for(double: pg.Kernel, any_queue: Any) -> None:
    array = pyopencl().array
    x = array.to_device(any_queue, np.ones(1000, np.float32))
    for _ in range(10):
        _, (x,) = double(any_queue, a=x)
    np.testing.assert_array_equal(x.get(), 2.0**10)


def test_two_queues(double: pg.Kernel, queue: Any) -> None:
    cl = pyopencl()
    other = cl.CommandQueue(queue.context)
    x = cl.array.to_device(queue, np.ones(1000, np.float32))
    for _ in range(5):
        _, (y,) = double(queue, a=x)
        _, (x,) = double(other, a=y)
    np.testing.assert_array_equal(x.get(), 2.0**10)


def test_pyopencl_is_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found once may be hidden later, as the page of errors does."""
    assert pyopencl() is sys.modules["pyopencl"]
    monkeypatch.setitem(sys.modules, "pyopencl", None)
    with pytest.raises(NoDevice, match="pyopencl cannot be imported"):
        pyopencl()
