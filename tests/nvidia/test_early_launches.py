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
    untyped = [a.name for a in knl.arguments if a.name in ("a", "c", "u") and a.dtype is None]
    return pg.add_dtypes(knl, dict.fromkeys(untyped, np.float64))


@pytest.mark.parametrize("make", [single, steady, growing, reduced])
def test_a_launch_waits_before_it_reads(make: Any) -> None:
    program = pg.generate_code(typed(make()), "cuda")
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
    assert (host.launches, host.early) == (5, 5 * (major >= 9))


@pytest.mark.parametrize(
    ("groups", "length", "early"),
    [(32, 8, 1), (32, 9, 0), (63, 4, 1), (63, 5, 0), (66, 9, 1), (4, 64, 1), (4, 65, 0), (1, 1, 1)],
)
def test_few_groups_that_move_much_do_not(
    host: HostDriver, groups: int, length: int, early: int
) -> None:
    """Of 16 bytes an iteration, 2**22 are few; the device has room for 264 such groups."""
    knl = pg.make_kernel(
        f"{{ [g,l,k]: 0<=g<{groups} and 0<=l<1024 and 0<=k<{length} }}",
        "y[k,g,l] = 2*x[k,g,l]",
        [pg.GlobalArg(name, np.float64, shape=f"{length}, {groups}, 1024") for name in ("x", "y")],
    )
    knl = pg.tag_inames(knl, "g:g.0, l:l.0")
    x = random(length, groups, 1024)
    y = np.zeros_like(x)
    knl.executor("cuda")(x=Foreign(x), y=Foreign(y))
    np.testing.assert_array_equal(y, 2 * x)
    assert host.early == early


def test_a_triangle_counts_half(host: HostDriver) -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<=i }", "y[i,j] = x[i,j]")
    knl = pg.tag_inames(pg.add_dtypes(knl, dict.fromkeys("xy", np.float64)), "i:g.0")
    run = knl.executor("cuda")
    for n, early in ((700, 1), (760, 0)):
        x = random(n, n)
        y = np.zeros_like(x)
        before = host.early
        run(x=Foreign(x), y=Foreign(y))
        np.testing.assert_array_equal(y, np.tril(x))
        assert host.early - before == early
