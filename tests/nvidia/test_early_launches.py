"""Launches that begin while those ahead of them are at work, and wait for these themselves."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import polygen as pg
from tests.nvidia.host_driver import HostDriver
from tests.nvidia.nvrtc import assembly_of
from tests.nvidia.test_graphs import random, steady
from tests.nvidia.test_runtime import Foreign

pytestmark = pytest.mark.more  # CUDA on the processor of the host

_WAIT = "    pg_after_other_launches();\n"


def reduced() -> pg.Kernel:
    """A sum, and what reads it: more than one launch."""
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
    knl = pg.fix_parameters(pg.add_dtypes(knl, dict.fromkeys("xwy", np.float32)), n=2**17)
    return pg.optimize_reductions(knl, pg.Limits.named("H200"))


def single() -> pg.Kernel:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]")
    return pg.tag_inames(pg.add_dtypes(knl, dict.fromkeys("ab", np.float32)), "i:g.0")


def fixed(knl: pg.Kernel) -> pg.Kernel:
    """With types, and sizes as short launches have."""
    sizes = {"n": 5, "steps": 2}
    return pg.fix_parameters(typed(knl), **{n: sizes[n] for n in sizes if n in knl.parameters})


def typed(knl: pg.Kernel) -> pg.Kernel:
    untyped = [a.name for a in knl.arguments if a.name in ("a", "c", "u") and a.dtype is None]
    return pg.add_dtypes(knl, dict.fromkeys(untyped, np.float64))


@pytest.mark.parametrize("make", [single, steady, reduced])
def test_a_launch_waits_before_it_reads(make: Any) -> None:
    program = pg.generate_code(fixed(make()), "cuda")
    kernels = str(program).split("__global__")[1:]
    assert [kernel.count(_WAIT) for kernel in kernels] == [1] * len(program.launches)
    entries = assembly_of("compute_90", str(program)).split(".entry")[1:]
    assert len(entries) == len(program.launches)
    for entry in entries:
        before, after = entry.split("griddepcontrol.wait;")
        assert "launch_dependents" in after
        assert re.search(r"(ld|st)\.global", after)
        assert not re.search(r"(ld|st|red|atom)\S*\.global", before)


def test_older_devices_have_no_such_instruction() -> None:
    assembly = assembly_of("compute_80", str(pg.generate_code(fixed(steady()), "cuda")))
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
    fixed(steady()).executor("cuda")(a=Foreign(a), c=3.0)
    np.testing.assert_array_equal(a, expected)
    assert (host.launches, host.early) == (4, 4 * (major >= 9))
    steady().executor("cuda")(a=Foreign(a), steps=2, c=3.0)  # how large it is nobody said
    assert (host.launches, host.early) == (8, 4 * (major >= 9))


def copying(groups: int, length: int, dtype: str = "float64") -> pg.Kernel:
    """Each of so many times 1024 work items copies so many numbers."""
    arrays = [pg.GlobalArg(x, dtype, shape=f"{length}, {groups}, 1024") for x in ("x", "y")]
    domain = f"{{ [g,l,k]: 0<=g<{groups} and 0<=l<1024 and 0<=k<{length} }}"
    knl = pg.make_kernel(domain, "y[k,g,l] = x[k,g,l]", arrays)
    return pg.tag_inames(knl, "g:g.0, l:l.0")


def waits(knl: pg.Kernel) -> bool:
    (launch,) = pg.generate_code(knl, "cuda").launches
    return launch.waits


@pytest.mark.parametrize(
    ("groups", "length", "early"),
    [
        # of 16 bytes an iteration, up to 4 MiB
        *((1, 1, True), (32, 8, True), (32, 9, False), (4, 64, True), (4, 65, False)),
        # from a quarter of the room on, up to 32 MiB
        *((63, 5, False), (64, 5, True), (64, 32, True), (64, 33, False), (256, 8, True)),
        # more than there is room for
        *((256, 9, False), (257, 1, False), (10**6, 1, False)),
    ],
)
def test_which_launches_are_short(groups: int, length: int, early: bool) -> None:
    assert waits(copying(groups, length)) == early
    if length % 8 == 0:
        assert waits(copying(groups, 8 * length, "int8")) == early


def test_a_triangle_counts_half() -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<=i }", "y[i,j] = x[i,j]")
    knl = pg.tag_inames(pg.add_dtypes(knl, dict.fromkeys("xy", np.float64)), "i:g.0")
    assert [waits(pg.fix_parameters(knl, n=n)) for n in (700, 760)] == [True, False]


def test_sizes_that_nobody_said() -> None:
    assert not waits(typed(single()))
