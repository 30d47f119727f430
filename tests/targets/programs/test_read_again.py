"""Halves that work items keep are converted again behind a barrier, where a target says so."""

from __future__ import annotations

import pytest

import polygen as pg


def normalized(dtype: str) -> str:
    """Return CUDA C++ in which each item keeps four elements, and uses them twice."""
    knl = pg.make_kernel(
        "{ [i,j,k]: 0<=i<100 and 0<=j,k<128 }",
        "<float32> s = sum(j, a[i,j])\nb[i,k] = a[i,k]/s",
        [pg.GlobalArg("a, b", dtype, (100, 128)), "..."],
    )
    knl = pg.fuse_reductions(knl, ["insn", "insn_0"])
    knl = pg.share_rows(knl, ["insn", "insn_0"], threads=32, lanes=4, keep=("a",))
    return pg.generate_code(knl, "cuda").source


def test_behind_the_barrier_between_both_uses() -> None:
    source = normalized("float16")
    head, _, behind = source.partition("pg_read_again(a_own);")
    assert "__shfl_down_sync" in head
    assert behind.count("a_own") == 1
    assert "pg_read_again" not in behind  # once
    assert head.rstrip().endswith(("__syncthreads();", "__syncwarp();"))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_other_numbers_stay(dtype: str) -> None:
    assert "pg_read_again" not in normalized(dtype)
