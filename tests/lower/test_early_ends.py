"""Loops that a condition ends, lowered: what they ask, and that they do what the kernel means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.lower.lower import Model
from polygen.lower.program import ENDLESS, Loop
from tests.oracle.cases import (
    agree_in_arrays,
    host_loops,
    kernel,
    lowered,
    nodes,
    split,
    tag,
)


def always(*numbers: int) -> Callable[[object], Any]:
    """Return what gives these numbers, whatever the sizes are."""
    return lambda _sizes: np.array(numbers, np.int32)


HALVED = """
for i
  <> x = a[i]
  for t while x > 1
    x = x - 3
    break if x == 2
    <> y = 2*x
    out[i] = out[i] + y
  end
end
"""


def halved() -> pg.Kernel:
    return kernel(["{ [i]: 0<=i<n }", "{ [t]: 0<=t }"], HALVED, seq_dependencies=True)


def test_loops_within_a_launch() -> None:
    agree_in_arrays(
        halved(),
        [{"n": n} for n in (0, 2)],
        tag(),
        split("i", 2, inner_tag="l.0", outer_tag="g.0"),
        split("t", 2),
        split("t", 3, inner_tag="unr"),
    )


def test_a_flag_that_a_loop_sets_anew_does_not_end_it() -> None:
    (outer,) = [n for n in nodes(lowered(halved())) if isinstance(n, Loop) and n.iname == "i"]
    assert outer.runs is None


def test_a_loop_asks_its_flag_and_has_no_bound() -> None:
    (loop,) = [n for n in nodes(lowered(halved())) if isinstance(n, Loop) and n.iname == "t"]
    assert loop.upper == ENDLESS
    assert str(loop.runs) == "t_runs"


SMOOTHED = """
for t while left[0] > 0
  for i
    y[i] = x[(i + 1) % n] - 1
  end
  for k
    x[k] = y[k]
  end
  left[0] = left[0] - 1
  break if x[0] < -5
  for m
    z[m] = z[m] + x[m]
  end
end
"""


def smoothed() -> pg.Kernel:
    return kernel(
        ["{ [i, k, m]: 0<=i,k,m<n }", "{ [t]: 0<=t }"],
        SMOOTHED,
        pg.GlobalArg("left", np.int32, shape=1),
        assumptions="n >= 1",
        seq_dependencies=True,
    )


def test_loops_around_launches() -> None:
    def on_grid(knl: pg.Kernel) -> pg.Kernel:
        for iname in "ikm":
            knl = pg.split_iname(knl, iname, 2, outer_tag="g.0", inner_tag="l.0")
        return knl

    agree_in_arrays(smoothed(), [{"n": 1}, {"n": 5}], tag(), on_grid)
    (loop,) = host_loops(lowered(on_grid(smoothed())))
    assert (loop.upper, str(loop.runs)) == (ENDLESS, "t_runs")


def test_a_bounded_loop_asks_its_flag_besides() -> None:
    knl = kernel(
        "{ [t]: 0<=t<n }",
        """
        for t
          break if a[t] > 3
          out[t] = 1
        end
        """,
        seq_dependencies=True,
    )
    agree_in_arrays(knl, [{"n": n} for n in (0, 1, 9)], tag(), split("t", 4))
    (loop,) = [n for n in nodes(lowered(knl)) if isinstance(n, Loop)]
    assert (str(loop.upper), str(loop.runs)) == ("n", "t_runs")


INSIDE_EACH_OTHER = """
for i while total[0] > 0
  <> x = a[i % 3] + 4
  for t while x > 0
    x = x - 3
    total[0] = total[0] - 1
    break if total[0] < -2
  end
  out[i % 3] = out[i % 3] + x
end
"""


def test_loops_inside_of_each_other() -> None:
    knl = kernel(
        ["{ [i]: 0<=i }", "{ [t]: 0<=t }"],
        INSIDE_EACH_OTHER,
        pg.GlobalArg("a", np.int32, shape=3),
        pg.GlobalArg("out", np.int32, shape=3),
        pg.GlobalArg("total", np.int32, shape=1),
        seq_dependencies=True,
    )
    given = {"a": always(1, 5, 2)}
    for start in (0, 9):
        total = {"total": always(start)}
        agree_in_arrays(knl, [{}], tag(), **given, **total)


def drained(barrier: str) -> pg.Kernel:
    return kernel(
        ["{ [j]: 0<=j<8 }", "{ [t]: 0<=t }"],
        f"""
        rest = 30
        for t while rest > 0
          rest = rest - sum(j, a[j])
          {barrier}
          out[0] = rest
        end
        """,
        pg.GlobalArg("a", np.int32, shape=8),
        pg.GlobalArg("out", np.int32, shape=1),
        pg.TemporaryVariable("rest", np.int32, address_space=pg.auto),
        seq_dependencies=True,
    )


def test_what_only_an_iteration_uses_need_not_ask() -> None:
    """The tree of the sum is computed in each iteration, and read where the flag is set."""
    given = {"a": always(1, 2, 0, 1, 0, 1, 1, 1)}
    agree_in_arrays(drained("... gbarrier"), [{}], tag(), tag(j="l.0"), **given)


def test_work_items_that_share_a_flag_are_refused() -> None:
    knl = pg.tag_inames(drained(""), {"j": "l.0"})
    with pytest.raises(pg.errors.EndNotUniform, match=r"ends the loop of 't', within a launch"):
        lowered(knl, Model.GRID)
