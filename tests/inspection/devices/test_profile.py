"""`profile`: what is launched, how often, and what it moves, against closed forms and clocks."""

from __future__ import annotations

import csv
import json
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest

import polygen as pg
from polygen.errors import MissingArgument
from polygen.inspection.devices import profile as of_profile
from polygen.inspection.devices import profile_table
from polygen.runtime.backends.opencl.opencl_driver import default_context
from polygen.runtime.calls.call_recording import RECORDERS

LIMITS = pg.Limits(1e10, {"float32": 1e11, "float64": 5e10})


def doubling(name: str = "twice") -> pg.Kernel:
    return pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i] + 1", name=name)


def steps() -> pg.Kernel:
    """Launches in a loop on the host, each of which touches less: a triangle."""
    knl = pg.make_kernel(
        "{ [t,i]: 0<=t<m and 0<=i<n - t }",
        "a[t + 1,i] = a[t,n - t - 1 - i]*2 + 3",
        [pg.GlobalArg("a", None, "m + 1, n"), "..."],
        assumptions="m < n",
        loop_priority="t,i",
        name="steps",
    )
    return pg.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")


def ones(n: int, dtype: Any = np.float32) -> Any:
    return np.ones(n, dtype)


def test_calls_in_c() -> None:
    knl = doubling()
    begin = time.perf_counter()
    with pg.profile(LIMITS) as p:
        for n in (0, 1, 1000):
            knl.executor("c")(a=ones(n))
        knl.executor("c")(a=ones(7, np.float64))
    taken = time.perf_counter() - begin
    knl.executor("c")(a=ones(5))  # nobody looks
    (row,) = p.table().rows  # of one kernel, whichever executor
    assert (row.kernel, row.name, row.target) == ("twice", "twice", "c")
    assert (row.launches, row.timed) == (4, 4)
    assert row.bytes == 2 * 4 * 1001 + 2 * 8 * 7
    assert row.operations == {"float32": 2 * 1001, "float64": 2 * 7}
    assert row.least_seconds is not None
    assert 0 < 4 * row.least_seconds <= row.seconds < taken
    assert row.bytes_per_second == pytest.approx(row.bytes / row.seconds)
    assert row.memory_share == pytest.approx(row.bytes / row.seconds / 1e10)
    assert row.arithmetic_share == pytest.approx(2 * 1001 / 1e11 / row.seconds)
    assert row.operations_per_second == pytest.approx((2 * 1001 + 2 * 7) / row.seconds)


@pytest.mark.parametrize("properties", ["", "PROFILING_ENABLE", "OUT_OF_ORDER_EXEC_MODE_ENABLE"])
def test_launches_of_opencl(properties: str) -> None:
    wanted: Any = getattr(cl.command_queue_properties, properties) if properties else 0
    queue = cl.CommandQueue(default_context(), properties=wanted)
    m, n = 5, 100
    expected = np.random.default_rng(1).integers(0, 9, (m + 1, n)).astype(np.float32)
    a = cla.to_device(queue, expected)
    run = steps().executor(queue)
    begin = time.perf_counter()
    with pg.profile(LIMITS) as p:
        for _ in range(3):  # each call needs what the one before wrote
            run(a=a)
    for _ in range(3):
        for t in range(m):
            expected[t + 1, : n - t] = expected[t, : n - t][::-1] * 2 + 3
    np.testing.assert_array_equal(a.get(), expected)
    (row,) = p.table().rows
    assert (row.name, row.target, row.launches, row.timed) == ("steps_0", "opencl", 3 * m, 3 * m)
    elements = sum(n - t for t in range(m))
    assert (row.bytes, row.operations) == (3 * 2 * 4 * elements, {"float32": 3 * 2 * elements})
    assert 0 < row.seconds < time.perf_counter() - begin


def test_launches_of_one_call_have_rows_of_their_own() -> None:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j,k]: 0<=j<n and 0<=k<n }"],
        "t[i] = 2*a[i]  {id=first}\nb[j] = sum(k, t[n - 1 - k] + a[j])  {dep=first}",
        [pg.TemporaryVariable("t", None, "n", address_space=pg.AddressSpace.GLOBAL), "..."],
        name="two",
    )
    knl = pg.tag_inames(knl, {"i": "g.0", "j": "g.0"})
    n = 10
    with pg.profile(LIMITS) as p:
        knl.executor("opencl")(a=ones(n))
        knl.executor("c")(a=ones(n))
    rows = {row.name: row for row in p.table().rows}
    assert {name: row.bytes for name, row in rows.items()} == {
        "two_0": 4 * 2 * n,
        "two_1": 4 * 3 * n,
        "two": 4 * 4 * n,  # t is read and written, a read, b written
    }
    done = {name: sum((row.operations or {}).values()) for name, row in rows.items()}
    assert done == {"two_0": n, "two_1": 2 * n * n, "two": n + 2 * n * n}


def test_what_data_decides_is_said() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = a[c[i]]", name="gather")
    with pg.profile(LIMITS) as p:
        knl.executor("c")(a=ones(4), c=np.array([1, 3], np.int32))
    (row,) = p.table().rows
    assert (row.bytes, row.memory_share, row.operations) == (None, None, {})
    lines = str(p).splitlines()
    assert lines[1].split()[:3] == ["gather", "c", "1"]
    assert "?" in lines[1]
    assert lines[2].startswith(
        "gather: not counted: which elements of 'a' instruction 'insn' reads"
    )


def test_calls_of_kernels() -> None:
    smooth = pg.make_function(
        "{ [k]: 1<=k<m-1 }", "y[k] = x[k-1] + x[k] + x[k+1]", ["m", "x", "y"], name="smooth"
    )
    rows = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "[j]: b[i,j] = smooth(m, [j]: a[i,j])",
        [pg.GlobalArg("a", shape="n, m"), pg.GlobalArg("b", shape="n, m"), "..."],
        name="rows",
    )
    with pg.profile(LIMITS) as p:
        pg.merge([rows, smooth])["rows"].executor("c")(a=np.ones((3, 5)), b=np.zeros((3, 5)))
    (row,) = p.table().rows
    assert (row.bytes, row.operations) == (8 * 3 * (5 + 3), {"float64": 3 * 3 * 2})


def test_nested_blocks_and_kernels_of_one_name() -> None:
    first, second = doubling(), pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = -a[i]", name="twice")
    with pg.profile(LIMITS) as outer:
        first.executor("c")(a=ones(3))
        with pg.profile(LIMITS) as inner:
            second.executor("c")(a=ones(3))
        with inner, outer:  # goes on; who is told twice counts once
            second.executor("c")(a=ones(3))
        first.executor("c")(a=ones(3))
    assert [row.launches for row in inner.table().rows] == [2]
    assert sorted(row.launches for row in outer.table().rows) == [2, 2]


def test_threads() -> None:
    run = doubling().executor("c")
    run(a=ones(10))

    def work() -> None:
        for _ in range(20):
            run(a=ones(10))

    with pg.profile(LIMITS) as p:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    (row,) = p.table().rows
    assert row.launches == 80


def test_exceptions_close_the_block() -> None:
    run = doubling().executor("c")
    with pytest.raises(KeyError, match="mine"), pg.profile(LIMITS) as p:
        run(a=ones(10))
        with pytest.raises(MissingArgument):
            run()
        raise KeyError("mine")
    assert not RECORDERS
    run(a=ones(10))
    assert [row.launches for row in p.table().rows] == [1]


def test_nothing() -> None:
    with pg.profile(LIMITS) as p:
        pass
    assert str(p) == "nothing was launched"


def test_times_are_taken_of_what_is_over_long_since(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_profile, "_MOST_WAITING", 3)
    monkeypatch.setattr("polygen.runtime.calls.call_recording._MOST_WAITING", 2)
    with pg.profile(LIMITS) as p:
        for _ in range(10):
            doubling().executor("c")(a=ones(3))
        steps().executor("opencl")(a=np.ones((8, 9), np.float32))
    assert sorted(row.launches for row in p.table().rows) == [7, 10]


def test_the_files(tmp_path: Path) -> None:
    with pg.profile(LIMITS) as p:
        doubling().executor("c")(a=ones(1000))
        steps().executor("opencl")(a=np.ones((4, 50), np.float32))
    rows = p.table().rows
    with p.to_csv(tmp_path / "p.csv").open() as file:
        found = list(csv.DictReader(file))
    assert [line["launch"] for line in found] == [row.name for row in rows]
    for line, row in zip(found, rows, strict=True):
        assert float(line["seconds"]) == row.seconds
        assert int(line["bytes"]) == row.bytes
        assert float(line["memory_share"]) == row.memory_share
    trace = json.loads(p.to_trace(tmp_path / "p.json").read_text())
    complete = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    calls = [event for event in complete if event["pid"] == 1]
    launches = [event for event in complete if event["pid"] == 2]
    assert [event["name"] for event in calls] == ["twice", "steps"]
    assert [event["name"] for event in launches] == ["twice", *["steps_0"] * 3]
    assert calls[0]["args"] == {"n": 1000}
    durations = sorted(event["dur"] for event in launches if event["name"] == "steps_0")
    row = next(row for row in rows if row.name == "steps_0")
    assert sum(durations) == pytest.approx(row.seconds * 1e6)
    # A launch begins after its call, and they come in order.
    assert all(launch["ts"] >= calls[0]["ts"] for launch in launches)
    begins = [launch["ts"] for launch in launches]
    assert begins == sorted(begins)


def test_measured_limits_are_what_it_compares_with(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def measured(device: Any) -> pg.Limits:
        asked.append(device)
        return LIMITS

    monkeypatch.setattr(profile_table, "measure_limits", measured)
    with pg.profile() as p:
        doubling().executor("c")(a=ones(3))
        doubling("other").executor("c")(a=ones(3))
        assert not asked
    assert all(row.limits is LIMITS for row in p.table().rows)
    assert asked == ["c"]


def halvings() -> pg.Kernel:
    """Launches in a loop on the host that ends once the first element is small enough."""
    knl = pg.make_kernel(
        ["{ [t]: 0<=t }", "{ [i,j]: 0<=i,j<n }"],
        """
        for t while a[0] > least
            b[i] = 0.5*a[i]
            a[j] = b[j]
        end
        """,
        [pg.GlobalArg("a, b", np.float64, shape="n"), pg.ValueArg("least", np.float64), "..."],
        seq_dependencies=True,
        name="halvings",
        target="opencl",
    )
    for iname in "ij":
        knl = pg.split_iname(knl, iname, 16, outer_tag="g.0", inner_tag="l.0")
    return knl


def test_loops_on_the_host_that_a_condition_ends() -> None:
    """Launches say how often they were repeated, call by call; the last one does nothing."""
    knl, n = halvings(), 100
    with pg.profile(LIMITS) as p:
        for times in (10, 3):
            a = np.ones(n)
            knl(a=a, b=np.zeros(n), least=0.5**times)
            np.testing.assert_array_equal(a, 0.5**times)
    rows = {row.operations.get("float64", 0): row for row in p.table().rows if row.operations}
    assert all(row.bytes is not None and not row.why for row in p.table().rows)
    body = rows[(10 + 3) * n]
    assert body.launches == 11 + 4
    # An iteration reads a and writes b, then reads b and writes a.
    assert body.bytes == (10 + 3) * 4 * 8 * n
