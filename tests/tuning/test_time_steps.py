"""Steps of time: each shares its reductions, and how many there are is not asked."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from polygen.ir.tags import ForTag
from polygen.lower.program import HostLoop
from polygen.tuning.time_steps import with_time_steps
from tests.oracle.cases import host_loops, kernel, launches

LIMITS = pg.Limits(3e12, 3e13, compute_units=8)
LOOPS = ["{ [t]: 0<=t<T }", "{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"]


def _steps(text: str, *names: str, **options: Any) -> Kernel:
    given = [pg.TemporaryVariable(n, "float64", (), pg.AddressSpace.AUTO) for n in names]
    text = f"for t\n{text}\nfor i\nx[i] = x[i] - s\nend\nend"
    x = pg.GlobalArg("x", "float64", "n")
    return kernel(LOOPS, text, *given, x, seq_dependencies=True, **options)


@pytest.mark.parametrize(
    ("text", "names", "n"),
    [
        pytest.param("s = sum(j, x[j])", "s", 5000, marks=pytest.mark.more),  # of several groups
        ("s = sum(j, x[j])", "s", 100),  # of one group
        pytest.param("m = max(j, x[j])\ns = m + min(j, x[j])", "sm", 700, marks=pytest.mark.more),
    ],
)
def test_each_step_shares_its_sums(text: str, names: str, n: int) -> None:
    knl = _steps(text, *names, target="opencl")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is left as it is
        new = pg.optimize_reductions(knl, LIMITS, sizes={"n": n})
    (loop,) = pg.lower_kernel(new).host
    assert isinstance(loop, HostLoop)
    assert len(loop.body) == 2
    assert all(launch.axes for launch in launches(pg.lower_kernel(new)))
    assert "l.0" in {str(tag) for tag in new.tags.values()}
    x = np.arange(n) % 7 - 3.0
    expected = x.copy()
    for _ in range(3):
        s = expected.sum() if names == "s" else expected.max() + expected.min()
        expected = expected - s
    new.executor("opencl")(x=x, T=3)
    np.testing.assert_allclose(x, expected, rtol=1e-12)


def test_what_a_step_takes_does_not_depend_on_how_many_there_are() -> None:
    knl = _steps("s = sum(j, x[j])", "s", target="cuda")
    found = [
        pg.optimize_reductions(knl, LIMITS, sizes={"n": 1 << 20, **t}) for t in ({}, {"T": 50})
    ]
    assert found[0] == found[1]
    assert "j_group" in found[0].inames  # of several groups
    assert [len(loop.body) for loop in host_loops(pg.lower_kernel(found[0]))] == [2]


def test_loops_that_are_no_steps_of_time() -> None:
    rows = kernel(
        ["{ [t]: 0<=t<T }", "{ [j]: 0<=j<n }"],
        "s[t] = sum(j, x[t, j])  {id=s}",
        pg.GlobalArg("x", "float64", "T, n"),
    )
    assert with_time_steps(rows, ["s"]) is rows
    steps = _steps("s = sum(j, x[j])", "s")
    found = with_time_steps(steps, [insn.id for insn in steps.instructions])
    assert found.tags == {"t": ForTag()}
    assert with_time_steps(found, [insn.id for insn in steps.instructions]) is found
