"""Registers for several groups on a multiprocessor, through NVIDIA's OpenCL."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import polygen as pg
from polygen.runtime.backends.opencl.nvidia_opencl import PLATFORM, register_options

REGISTERS = 65536  # of a multiprocessor


def found(items: int, groups: int, platform: str = PLATFORM, *given: str) -> tuple[str, ...]:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
    knl = pg.split_iname(knl, "i", items, outer_tag="g.0", inner_tag="l.0")
    knl = pg.set_options(knl, resident_groups=groups, build_options=given)
    device: Any = SimpleNamespace(
        platform=SimpleNamespace(name=platform), registers_per_block_nv=REGISTERS
    )
    return register_options(device, pg.generate_code(pg.add_dtypes(knl, {"a": "float32"})))


@pytest.mark.parametrize(
    ("items", "groups", "registers"),
    [
        (64, 12, 80),  # 85 would do, and are given out by 8
        (512, 2, 64),
        (1024, 1, 64),
        (64, 1, 255),  # no work item has more
        (1024, 32, 16),  # or fewer
    ],
)
def test_registers(items: int, groups: int, registers: int) -> None:
    assert found(items, groups) == (f"-cl-nv-maxrregcount={registers}",)
    assert registers in (16, 255) or registers * items * groups <= REGISTERS


def test_where_nothing_is_said() -> None:
    assert found(64, 0) == ()
    assert found(64, 12, "Portable Computing Language") == ()
    assert found(64, 12, PLATFORM, "-cl-nv-maxrregcount=40") == ()
