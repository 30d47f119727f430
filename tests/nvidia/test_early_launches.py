"""Launches that begin while those ahead of them are at work, and wait for these themselves."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import polygen as pg
from tests.nvidia.host_driver import HostDriver
from tests.nvidia.nvrtc import assembly_of
from tests.nvidia.test_graphs import growing, random, steady
from tests.nvidia.test_runtime import Foreign

_WAIT = "    pg_after_other_launches();\n"


def reduced() -> pg.Kernel:
    """A sum in two launches, and a third that reads it."""
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i,j<n }",
        """
        s = sum(i, x[i]*w[0])
        y[j] = x[j]*s + w[1]
        """,
        [
            pg.TemporaryVariable("s", np.float32, shape=(), address_space=pg.AddressSpace.GLOBAL),
            "...",
        ],
    )
    knl = pg.fix_parameters(pg.add_dtypes(knl, dict.fromkeys("xwy", np.float32)), n=2**22)
    return pg.optimize_reductions(knl, pg.Limits.named("H200"))


def single() -> pg.Kernel:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]")
    return pg.tag_inames(pg.add_dtypes(knl, dict.fromkeys("ab", np.float32)), "i:g.0")


def typed(knl: pg.Kernel) -> pg.Kernel:
    return pg.add_dtypes(knl, dict.fromkeys([arg.name for arg in knl.arguments if arg.name in "acu"], np.float64))


@pytest.mark.parametrize("make", [steady, growing, reduced])
def test_each_of_several_launches_waits_before_it_reads(make: Any) -> None:
    program = pg.generate_code(typed(make()), "cuda")
    kernels = str(program).split("__global__")[1:]
    assert [kernel.count(_WAIT) for kernel in kernels] == [1] * len(program.launches)
    assert all(launch.waits for launch in program.launches)
    entries = assembly_of("compute_90", str(program)).split(".entry")[1:]
    assert len(entries) == len(program.launches)
    for entry in entries:
        before, after = entry.split("griddepcontrol.wait;")
        assert "launch_dependents" in after
        assert re.search(r"(ld|st)\.global", after)
        assert not re.search(r"(ld|st|red|atom)\S*\.global", before)


def test_a_single_launch_waits_for_nothing() -> None:
    program = pg.generate_code(single(), "cuda")
    assert "pg_after" not in str(program)
    assert not program.launches[0].waits


def test_older_devices_have_no_such_instruction() -> None:
    assembly = assembly_of("compute_80", str(pg.generate_code(typed(steady()), "cuda")))
    assert "griddepcontrol" not in assembly


@pytest.mark.parametrize("major", [8, 9, 10])
def test_which_launches_may_begin_early(
    host: HostDriver, monkeypatch: pytest.MonkeyPatch, major: int
) -> None:
    attribute = host.attribute
    asked = "COMPUTE_CAPABILITY_MAJOR"
    monkeypatch.setattr(
        host, "attribute", lambda name, device: major if name == asked else attribute(name, device)
    )
    a = random(5)
    expected = np.roll(a, -2) + 6
    steady().executor("cuda")(a=Foreign(a), steps=2, c=3.0)
    np.testing.assert_array_equal(a, expected)
    assert (host.launches, host.early) == (4, 4 * (major >= 9))
    b = random(5)
    single().executor("cuda")(a=Foreign(b.astype(np.float32)), b=Foreign(b.astype(np.float32)))
    assert (host.launches, host.early) == (5, 4 * (major >= 9))
