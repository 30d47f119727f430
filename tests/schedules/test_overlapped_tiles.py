"""Tiles of time that overlap: when they are chosen, and that results are NumPy's."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from polygen.schedules.overlapped_tiles import candidates, time_in_overlapped_tiles
from polygen.transforms.splitting.time_sweeps import sweeps_of
from tests.nvidia.nvrtc import compile_for
from tests.schedules.stage_runs import array, nests, staged
from tests.schedules.test_optimize import names

H200 = pg.Limits.named("H200")
SMALL = replace(H200, local_bytes=48 * 1024)
LONG = {"n": 10**7, "T": 100}
LARGE = {"n": 4000, "m": 4000, "T": 500}


def cross(x: str, i: str, j: str) -> str:
    return f"0.25*({x}[{i}-1,{j}] + {x}[{i}+1,{j}] + {x}[{i},{j}-1] + {x}[{i},{j}+1])"


def plane(dtype: Any = np.float64, target: str = "opencl", value: str = "") -> Kernel:
    return nests(
        "{ [t,i,j,p,q]: 0<=t<T and 1<=i,p<n-1 and 1<=j,q<m-1 }",
        f"for t\n b[i,j] = {value or cross('a', 'i', 'j')}\n a[p,q] = {cross('b', 'p', 'q')}\nend",
        array("a, b", "n, m", dtype),
        target=target,
        loop_priority=["t, i, j", "t, p, q"],
    )


def stepped(a: Any, b: Any, steps: int) -> None:
    quarter = a.dtype.type(0.25)
    for _ in range(steps):
        for x, y in ((a, b), (b, a)):
            inner = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
            y[1:-1, 1:-1] = quarter * inner


def test_a_plane() -> None:
    new = pg.optimize(plane(np.float32), SMALL, sizes=LARGE)
    (first, *_) = [choice for choice in new.choices if choice.is_taken]
    assert first.what.startswith("overlapping tiles of ")
    assert {"overlap_time_tiles", "separate_full_tiles"} <= {*names(new)}
    source = str(pg.generate_code(new))
    assert source.count("__kernel") == 4  # tiles there and back, and two statements for the rest
    assert set(map(str, new.tags.values())) == {"for", "g.0", "g.1", "l.0", "l.1", "unr"}
    for n, m, steps in ((3, 3, 1), (40, 150, 17), (131, 67, 8)):
        a, b = np.random.default_rng(n).random((2, n, m)).astype(np.float32)
        x, y = a.copy(), b.copy()
        stepped(x, y, steps)
        new(a=a, b=b, T=steps)
        np.testing.assert_allclose(a, x, rtol=1e-5)
        np.testing.assert_allclose(b, y, rtol=1e-5)


def line() -> Kernel:
    return nests(
        "{ [t,i,p]: 0<=t<T and 1<=i,p<n-1 }",
        "for t\n b[i] = (a[i-1] + a[i+1])/2\n a[p] = b[p] + c[t]\nend",
        array("a, b"),
        array("c", "T"),
        target="opencl",
        loop_priority=["t, i", "t, p"],
    )


def test_a_line_of_which_each_item_has_several() -> None:
    new = pg.optimize(line(), H200, sizes=LONG)
    assert "overlap_time_tiles" in names(new)
    assert "l.1" not in set(map(str, new.tags.values()))
    for n, steps in ((3, 3), (9001, 30)):
        a, b, c = (np.random.default_rng(n).random(k) for k in (n, n, steps))
        x = a.copy()
        for t in range(steps):
            x[1:-1] = (x[:-2] + x[2:]) / 2 + c[t]
        new(a=a, b=b, c=c)
        np.testing.assert_allclose(a, x, rtol=1e-12)


@pytest.mark.more
def test_full_tiles_ask_nothing_of_each_element() -> None:
    """NVIDIA's compiler takes the code; in full tiles, what a sweep asks is which row it is."""
    new = pg.optimize(plane(np.float32, target="cuda"), SMALL, sizes=LARGE)
    source = str(pg.generate_code(new).source)
    size, log = compile_for("compute_90", source)
    assert size, log
    full = source.partition("int t_step")[2].partition("__syncthreads();")[0]
    assert full.count("a_tile[") == 4 * full.count("b_tile[") > 0  # a sum of four for each element
    assert not {"n", "m"} & {*re.findall(r"\w+", full)}  # no size is asked for


@pytest.mark.parametrize(
    ("value", "sizes"),
    [
        ("", {"T": 4}),  # few steps
        ("", {"T": 10, "n": 100}),  # less than it takes to choose
        ("a[n-1-i,j]", {}),  # no stencil
        ("a[i,j] + t", {"n": 3, "m": 3, "T": 900}),  # launches take less than 2 ms
    ],
)
def test_what_has_no_tiles(value: str, sizes: dict[str, int]) -> None:
    knl = plane(value=value)
    plan = staged(knl, time_in_overlapped_tiles, limits=H200, **LARGE | sizes)
    assert plan.kernel is knl
    assert not plan.choices


def test_what_somebody_mapped_stays() -> None:
    knl = pg.tag_inames(plane(), {"i": "g.0", "p": "g.0"})
    assert staged(knl, time_in_overlapped_tiles, limits=H200, **LARGE).kernel is knl


def test_nothing_is_said_of_other_nests() -> None:
    knl = nests(
        "{ [i,j,k]: 0<=i,j,k<n }",
        "c[i,j] = c[i,j] + a[i,k]*b[k,j]",
        array("a, b, c", "n, n"),
        target="cuda",
        loop_priority="k, i, j",
    )
    plan = staged(knl, time_in_overlapped_tiles, limits=H200, n=5000)
    assert not plan.choices
    assert not plan.questions


def test_alternatives_are_other_tiles_and_none() -> None:
    plan = staged(line(), time_in_overlapped_tiles, limits=H200, **LONG)
    (question,) = plan.questions
    assert question.about == "overlapped tiles of 't'"
    assert question.labels[-1] == "none"
    assert len(question.labels) > 3
    other = staged(line(), limits=H200, **LONG)
    other.request = replace(other.request, picks={question.about: "none"})
    time_in_overlapped_tiles(other)
    assert not other.choices


def test_a_device_with_little_local_memory_has_smaller_tiles() -> None:
    """Two arrays of 64 x 64 doubles are 64 kB, those of 32 x 64 are 32 kB."""
    plan = staged(plane(), limits=SMALL, **LARGE)
    tiles = list(candidates(plan, sweeps_of(plan.kernel, "t")))
    assert {tile.box.extents for tile in tiles} == {(32, 64)}
    large = staged(plane(), limits=H200, **LARGE)
    extents = {t.box.extents for t in candidates(large, sweeps_of(large.kernel, "t"))}
    assert extents == {(32, 64), (64, 64), (96, 64), (64, 128)}
