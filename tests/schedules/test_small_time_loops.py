"""Loops of time over small arrays: one group, barriers instead of launches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from polygen.schedules.plan import Plan
from polygen.schedules.small_time_loops import small_time_loops
from tests.schedules.stage_runs import array, nests, staged
from tests.schedules.test_optimize import names

H200 = pg.Limits.named("H200")
LINE = "{ [t,i,p]: 0<=t<T and 1<=i,p<n-1 }"
PLANE = "{ [t,i,j,p,q,r]: 0<=t<T and 1<=i,p<n-1 and 1<=j,q<n-1 and 0<=r<n }"


def line(**options: Any) -> Kernel:
    text = "for t\n b[i] = (a[i-1] + a[i+1])/2\n a[p] = (b[p-1] + b[p+1])/2 {id=last}\nend"
    options = {"target": "opencl", "loop_priority": ["t, i", "t, p"]} | options
    return nests(LINE, text, array("a, b"), **options)


def plane(target: str = "opencl") -> Kernel:
    """Return nests of one and of two loops in a loop of time, which is read."""
    return nests(
        PLANE,
        """
        for t
            b[i,j] = a[i-1,j] - a[i+1,j] + a[i,j-1]
            a[p,q] = b[p,q] + c[t]
            a[0,r] = a[0,r] + 1
        end
        """,
        array("a, b", "n, n"),
        array("c", "T"),
        target=target,
        loop_priority=["t, i, j", "t, p, q", "t, r"],
    )


def groups(knl: Kernel) -> set[str]:
    return {str(tag) for tag in knl.tags.values()} - {"for"}


def test_a_line_is_one_launch() -> None:
    new = pg.optimize(line(), H200, sizes={"n": 1000, "T": 500})
    assert groups(new) == {"l.0"}
    assert str(pg.generate_code(new)).count("__kernel") == 1
    assert "one group of 1024 work items" in str(pg.explain(new, H200, sizes={"n": 1000, "T": 500}))
    for n, steps in ((0, 2), (2, 1), (3, 4), (1500, 7)):
        a, b = np.random.default_rng(n).random((2, n))
        x, y = a.copy(), b.copy()
        for _ in range(steps if n else 0):
            y[1:-1] = (x[:-2] + x[2:]) / 2
            x[1:-1] = (y[:-2] + y[2:]) / 2
        new(a=a, b=b, T=steps)
        np.testing.assert_allclose(a, x, rtol=1e-14)
        np.testing.assert_allclose(b, y, rtol=1e-14)


def test_nests_of_several_depths_have_one_shape() -> None:
    new = pg.optimize(plane(), H200, sizes={"n": 30, "T": 500})
    assert groups(new) == {"l.0", "l.1"}
    assert str(pg.generate_code(new)).count("__kernel") == 1
    for n, steps in ((2, 3), (37, 5)):
        a, b = np.random.default_rng(n).random((2, n, n))
        c = np.arange(float(steps))
        x, y = a.copy(), b.copy()
        for t in range(steps):
            y[1:-1, 1:-1] = x[:-2, 1:-1] - x[2:, 1:-1] + x[1:-1, :-2]
            x[1:-1, 1:-1] = y[1:-1, 1:-1] + c[t]
            x[0] += 1
        new(a=a, b=b, c=c)
        np.testing.assert_allclose(a, x, rtol=1e-13)
        np.testing.assert_allclose(b, y, rtol=1e-13)


def test_large_arrays_are_shared_by_groups() -> None:
    new = pg.optimize(line(), H200, sizes={"n": 10**6, "T": 500})
    assert "g.0" in groups(new)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("b[i] = t {inames=t:i}\na[p] = 1", "a, b"),  # no step needs the one before
        ("for t\n a[i] = a[i-1]\nend", "a"),  # nor are its elements free
        ("for t\n a[i] = a[i]/2 + t\nend", "a"),  # no element needs its neighbours
        ("for t\n a[i] = a[i]/sum(p, a[p])  {if=i < 2}\nend", "a"),
        ("for t\n a[0] = a[0]/2 {if=n>0}\nend", "a"),
        ("for t\n b[i] = 0\n a[n-1] = a[n-1]/2  {if=n>0}\nend", "a, b"),  # no loop inside
        ("for t\n a[i] = a[i]/2\nend\nb[p] = a[p] {inames=p}", "a, b"),  # something after it
    ],
)
def test_what_stays_with_launches(text: str, data: str) -> None:
    knl = nests(LINE, text, array(data), target="opencl", loop_priority="t, i")
    plan = staged(knl, small_time_loops, limits=H200, n=1000, T=500)
    assert plan.kernel is knl
    assert not plan.questions


@pytest.mark.parametrize(("limits", "steps"), [(H200, 3), (replace(H200, local_bytes=8000), 500)])
def test_short_loops_and_large_arrays_are_no_question(limits: pg.Limits, steps: int) -> None:
    plan = staged(line(), small_time_loops, limits=limits, n=1000, T=steps)
    assert not plan.questions
    assert not plan.kernel.tags


def test_what_somebody_mapped_stays() -> None:
    knl = pg.tag_inames(line(), {"i": "g.0", "p": "g.0"})
    assert staged(knl, small_time_loops, limits=H200, n=1000, T=500).kernel is knl


def test_what_is_settled_stays() -> None:
    def settle(plan: Plan) -> None:
        plan.settled.add("last")

    knl = line()
    assert staged(knl, settle, small_time_loops, limits=H200, n=1000, T=500).kernel is knl


def test_launches_are_the_alternative() -> None:
    plan = staged(line(), small_time_loops, limits=H200, n=1000, T=500)
    assert [question.labels for question in plan.questions] == [("one group", "launches")]
    assert "split_iname" in names(plan.kernel)
    far = staged(line(), small_time_loops, limits=H200, n=12000, T=500)
    assert [question.labels for question in far.questions] == [("launches", "one group")]
    assert not far.kernel.tags


def test_the_forecast_has_a_barrier_for_each_nest() -> None:
    """That is a quarter of the latency of memory, 200 ns, a thousand times; and one launch."""
    plan = staged(line(), small_time_loops, limits=H200, n=1000, T=500)
    sizes = {"n": 1000, "T": 500}
    (nest,) = pg.explain(plan.kernel, H200, sizes=sizes).nests
    found = nest.forecast
    assert found is not None
    assert found.by == "starting"
    operations = 500 * 2 * 998 * (1 + 12)  # a division takes as long as twelve; one of 132 units
    assert found.seconds == pytest.approx(201e-6 + operations * 132 / 34e12, rel=0.02)
