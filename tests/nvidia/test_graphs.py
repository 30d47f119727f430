"""Loops on the host as graphs: what is launched, and what comes of it."""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import LaunchFailed
from polygen.ir.expression import Variable
from polygen.runtime.calls.device_errors import DriverError
from polygen.runtime.calls.launch_grids import Grid, Script
from polygen.targets.programs.program import DeviceFunction, Program
from tests.nvidia.host_driver import HostDriver
from tests.nvidia.test_runtime import Foreign


def steady() -> pg.Kernel:
    """Every step is the same."""
    knl = pg.make_kernel(
        "{ [t,i,j]: 0<=t<steps and 0<=i,j<n }",
        """
        for t
            u[i] = a[(i + 1) % n] + c {id=first, dep=*}
            a[j] = u[j]               {id=second, dep=first}
        end
        """,
        [pg.TemporaryVariable("u", shape="n", address_space=pg.AddressSpace.GLOBAL), "..."],
    )
    return pg.tag_inames(knl, "i:g.0, j:g.0")


def growing() -> pg.Kernel:
    """Every step is larger than the one before it."""
    knl = pg.make_kernel(
        "{ [t,i]: 0<=t<n and 0<=i<t }",
        "u[t,i] = u[t-1,t-1-i] + t",
        [pg.GlobalArg("u", shape="n, n"), "..."],
        assumptions="n>=1",
        loop_priority="t, i",
    )
    return pg.tag_inames(knl, "i:g.0")


def grown(u: Any) -> Any:
    for t in range(1, len(u)):
        u[t, :t] = u[t - 1, :t][::-1] + t
    return u


def random(*shape: int) -> Any:
    return np.random.default_rng(3).integers(0, 9, shape).astype(np.float64)


def test_steps_that_are_the_same(host: HostDriver) -> None:
    run, a = steady().executor("cuda"), random(3)
    for steps, launches in ((400, 64 + 32), (400, 0), (0, 0), (2, 4), (2, 4), (160, 64)):
        host.launches = 0
        expected = np.roll(a, -steps) + steps * 2.0
        _, (same,) = run(a=Foreign(a), steps=steps, c=2.0)
        np.testing.assert_array_equal(same.data, expected)
        assert host.launches == launches
    del run
    gc.collect()
    assert not host.graphs
    assert not host.events
    assert not host.live


def test_other_arguments_are_no_old_graph(host: HostDriver) -> None:
    run, a = steady().executor("cuda"), [random(2) for _ in range(6)]
    for c in (1.0, 0.5, 1.0, 0.0, -0.0):
        for array in a:
            expected = np.roll(array, -50) + 50 * c
            run(a=Foreign(array), steps=50, c=c)
            np.testing.assert_array_equal(array, expected)
            assert len(host.graphs) <= 4
    zero = np.array([-0.0])
    for c in (0.0, -0.0, 0.0, -0.0):
        zero[:] = -0.0
        run(a=Foreign(zero), steps=50, c=c)
        assert np.signbit(zero[0]) == np.signbit(c)


def test_steps_that_differ(host: HostDriver) -> None:
    run, u = growing().executor("cuda"), random(12, 12)
    for launches in (11, 11, 0, 0):
        u[...] = random(12, 12)
        host.launches = 0
        run(u=Foreign(u))
        np.testing.assert_array_equal(u, grown(random(12, 12)))
        assert host.launches == launches


def test_few_programs_keep_memory(host: HostDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polygen.runtime.backends.cuda.cuda_run._MOST_WITH_MEMORY", 3)
    run = steady().executor("cuda")
    for n in (1, 2, 3, 4, 5, 1, 2, 1):
        a = random(n)
        expected = np.roll(a, -40) + 20
        run(a=Foreign(a), steps=40, c=0.5)
        np.testing.assert_array_equal(a, expected)
        assert len(host.live) <= 3
    allocate, refused = host.allocate, list[int]()

    def refuse(size: int) -> int:
        if host.live:  # there is memory for one
            refused.append(size)
            raise DriverError("no more", 2)
        return allocate(size)

    monkeypatch.setattr(host, "allocate", refuse)
    a = random(9)
    expected = np.roll(a, -40)
    run(a=Foreign(a), steps=40, c=0.0)
    np.testing.assert_array_equal(a, expected)
    assert refused == [72]
    assert len(host.live) == 1


def test_a_graph_that_the_user_makes(host: HostDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> None:
        raise AssertionError("a graph is not started, and no stream waited for, in another graph")

    run, a = steady().executor("cuda"), random(3)
    run(a=Foreign(a), steps=9, c=0.0)
    before = dict(host.live)
    host.recorded.add(5)
    monkeypatch.setattr(host, "replay", refuse)
    monkeypatch.setattr(host, "wait_on", refuse)
    monkeypatch.setattr(host, "wait_for_event", refuse)
    expected = np.roll(a, -9) + 9
    run(5, a=Foreign(a), steps=9, c=1.0)
    np.testing.assert_array_equal(a, expected)
    ((mine,),) = host.kept  # memory in between is the graph's
    assert host.live.keys() == before.keys() | {mine.address}
    run(5, a=Foreign(a), steps=9, c=0.0)  # what a stream does later may use it, too
    assert len(host.kept) == 1
    host.recorded.add(6)
    run(6, a=Foreign(a), steps=9, c=0.0)
    assert len(host.kept) == 2
    host.recordings += 1
    run(5, a=Foreign(a), steps=9, c=0.0)
    assert len({memory.address for (memory,) in host.kept}) == 3
    a = random(3)
    monkeypatch.undo()
    host.recorded.clear()
    host.kept.clear()
    del mine
    expected = np.roll(a, -9) - 9
    run(a=Foreign(a), steps=9, c=-1.0)
    np.testing.assert_array_equal(a, expected)


def test_memory_of_a_graph_that_is_gone(host: HostDriver) -> None:
    run, a = steady().executor("cuda"), random(3)
    run(a=Foreign(a), steps=9, c=0.0)
    before = host.live.keys()
    host.recorded.add(5)
    run(5, a=Foreign(a), steps=9, c=0.0)
    host.recorded.clear()
    host.kept.clear()
    gc.collect()
    assert host.live.keys() == before


def test_what_the_driver_refuses(host: HostDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise DriverError("no more graphs")

    run, a = steady().executor("cuda"), random(3)
    with monkeypatch.context() as patch:
        patch.setattr(host, "launch", refuse)
        with pytest.raises(LaunchFailed, match="refused launch 'polygen_kernel"):
            run(a=Foreign(a), steps=100, c=0.0)
    with monkeypatch.context() as patch:
        patch.setattr(host, "replay", refuse)
        with pytest.raises(
            LaunchFailed, match=r"call of kernel 'polygen_kernel' asks for: no more"
        ):
            run(a=Foreign(a), steps=100, c=0.0)
    expected = np.roll(a, -100)
    run(a=Foreign(a), steps=100, c=0.0)
    np.testing.assert_array_equal(a, expected)


# --- what is launched


def program_of(knl: pg.Kernel) -> Program:
    typed = pg.add_dtypes(knl, {a.name: "float64" for a in knl.arguments if a.name in "auc"})
    return pg.generate_code(typed, "cuda")


def anything(_function: DeviceFunction, _grid: Grid) -> None:
    """Any grid will do."""


def launched(program: Program, **sizes: int) -> Script:
    return Script(program, sizes, anything)


def test_many_steps_are_few_pieces() -> None:
    script = launched(program_of(steady()), n=5, steps=10**6)
    assert script.pieces is not None
    assert [(len(p.steps), p.times) for p in script.pieces] == [(64, 31250)]
    names = [step.function.name for step in script.pieces[0].steps]
    assert names == 32 * ["polygen_kernel_0", "polygen_kernel_1"]


def test_steps_are_in_order() -> None:
    nested = pg.make_kernel(
        "{ [t,s,r,i]: 0<=t<nt and 0<=s<ns and 0<=r<nr and 0<=i<n }",
        "a[i] = a[n-1-i] + t {inames=t:s:r:i}",
        [pg.GlobalArg("a", shape="n"), "..."],
        loop_priority="t, s, r, i",
    )
    with pg.without_proofs():
        program = program_of(pg.tag_inames(nested, "i:g.0"))
    for nt, ns, nr in ((3, 4, 5), (2, 30, 40), (1, 1, 1), (300, 1, 3), (0, 4, 5), (9, 400, 3)):
        script = launched(program, n=5, nt=nt, ns=ns, nr=nr)
        found = [step.loops for step in script.steps()]
        assert found == [(("t", t),) for t in range(nt) for _ in range(ns * nr)]


@pytest.mark.parametrize(("n", "kept"), [(100, 99), (1000, None)])
def test_grids_that_differ(n: int, kept: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polygen.runtime.calls.launch_grids._MOST_KEPT", 500)
    program = program_of(growing())
    (function,) = program.launches
    program = replace(program, launches=(replace(function, group_counts=(Variable("t"),)),))
    script = launched(program, n=n)
    steps = list(script.steps())
    assert [step.loops for step in steps] == [(("t", t),) for t in range(1, n)]
    assert [step.grid.size for step in steps] == [(t,) for t in range(1, n)]
    assert kept == (None if script.pieces is None else sum(len(p.steps) for p in script.pieces))
