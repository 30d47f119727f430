"""Products on tensor cores: what NVIDIA's compiler makes of them, and what they are without."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.ir.dtype import to_dtype
from polygen.schedules.register_tiles import Shape
from tests.lower.test_tensor_products import small
from tests.nvidia.host_driver import HostDriver
from tests.nvidia.nvrtc import assembly_of, compile_for
from tests.schedules.test_warp_tiles import SHAPES, tiled

INSTRUCTIONS = {
    "float64": ("m8n8k4.row.col.f64", "m16n8k16.row.col.f64"),
    "float32": ("m16n8k8.row.col.f32.tf32", "m16n8k8.row.col.f32.tf32"),
    "float16": ("m16n8k16.row.col.f32.f16", "m16n8k16.row.col.f32.f16"),
    "bfloat16": ("m16n8k16.row.col.f32.bf16", "m16n8k16.row.col.f32.bf16"),
}


@pytest.mark.parametrize(
    "dtype",
    [
        "float64",
        "float16",
        *(pytest.param(t, marks=pytest.mark.more) for t in ("float32", "bfloat16")),
    ],
)
def test_the_instructions(dtype: str) -> None:
    source = str(pg.generate_code(tiled(dtype, SHAPES[dtype], n=32, m=32, l=64)))
    older, newer = INSTRUCTIONS[dtype]
    text = assembly_of("compute_90", source)
    assert f"mma.sync.aligned.{newer}" in text
    assert ("ldmatrix.sync" in text) == dtype.endswith("16")
    assert f"mma.sync.aligned.{older}" in assembly_of("compute_80", source)
    assert "mma.sync" not in assembly_of("compute_75", source)


@pytest.mark.more
@pytest.mark.parametrize("dtype", INSTRUCTIONS)
def test_nothing_is_kept_in_memory_for_want_of_registers(dtype: str) -> None:
    deep = {"float64": 16, "float32": 32}.get(dtype, 64)
    shape = Shape(128, 128, deep, (4, 16, 4), 2, in_warps=True)
    source = str(pg.generate_code(tiled(dtype, shape, n=4096, m=4096, l=4096)))
    size, log = compile_for("sm_90a", source, "--ptxas-options=-v")
    assert size, log
    assert " 0 bytes spill stores, 0 bytes spill loads" in log


@pytest.mark.more
@pytest.mark.parametrize(
    ("dtype", "depth", "rows"),
    [
        ("float64", 8, 2),
        ("float64", 4, 1),
        ("float32", 12, 2),
        ("float16", 16, 2),
        ("bfloat16", 32, 2),
    ],
)
def test_without_such_instructions(host: HostDriver, dtype: str, depth: int, rows: int) -> None:
    """Work items read each other's registers: on threads of the host, here."""
    short = dtype.endswith("16")
    right = "bn[k,q,t,v]" if short else "b[k,t,q,v]"
    knl = small(dtype, depth, rows, right=right)
    rng = np.random.default_rng(depth)
    shape = (depth, 2, 4, 2) if short else (depth, 4, 2, 2)
    a, b = (rng.integers(-3, 4, s).astype(to_dtype(dtype)) for s in ((8, rows, depth), shape))
    _, (c,) = knl.executor("cuda")(**{"a": a, "bn" if short else "b": b})
    wide = [x.astype(np.float64) for x in (a, b)]
    form = "ihk,kqtv->ihtqv" if short else "ihk,ktqv->ihtqv"
    np.testing.assert_array_equal(c, np.einsum(form, *wide))
    assert host.compiled == 1
