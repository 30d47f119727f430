"""Scans from group to group, on the host's processor: groups run one after the other there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from tests.nvidia.host_driver import HostDriver
from tests.nvidia.looked_back import OPERATIONS, alone, numbers, running, told
from tests.properties.together import run_together

SIZES = (1, 64, 300)


def test_scans(host: HostDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels: list[tuple[Any, dict[str, Any]]] = []
    wanted: list[Any] = []
    for what, expected in OPERATIONS.items():
        knl = running(*what)
        for n in SIZES if what[0] == "sum" else SIZES[-1:]:
            a = numbers(*what, n)
            wanted.append(expected(a))
            b = np.zeros_like(wanted[-1])
            kernels.append((knl, {"a": a, "b": b, "n": n}))
    for right, found in zip(wanted, run_together(kernels, "cuda", monkeypatch, ()), strict=True):
        assert found is not None
        np.testing.assert_array_equal(found["b"], right)
    assert host.compiled == 1


def test_the_collective_alone(host: HostDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes all parts up to the nearest that knows what is before it, and none further away."""
    rng = np.random.default_rng(3)
    wanted: list[tuple[bool, int, int, int]] = []
    cases: list[tuple[Any, dict[str, Any]]] = []
    for small in (True, False):
        knl = alone(small)
        for part, nearest in ((1, 0), (5, 4), (32, 0), (33, 0), (40, 9), (300, 3), (300, 270)):
            state, own, before = told(small, part, nearest, rng)
            dtype = np.int32 if small else np.int64
            given = {"state": state, "own": np.array([own], dtype), "taken": np.zeros(1, dtype)}
            cases.append((knl, {**given, "part": part, "m": len(state)}))
            wanted.append((small, part, own, before))
    results = run_together(cases, "cuda", monkeypatch, ())
    for (small, part, own, before), found in zip(wanted, results, strict=True):
        assert found is not None
        assert found["taken"][0] == before
        cells = found["state"][1:]
        if small:
            word = np.array([before + own], np.int32).view(np.uint32)[0]
            assert cells[part] == np.uint64(2) << np.uint64(32) | np.uint64(word)
        else:
            assert list(cells[3 * part :].view(np.int64)) == [2, own, before + own]
    assert host.compiled == 1


@pytest.mark.filterwarnings("ignore::polygen.errors.ComputedAnew")
def test_text() -> None:
    source = pg.generate_code(running("sum", "float32"), "cuda").source
    assert source.count("__global__") == 2  # one forgets what groups have told before
    assert "int const i_outer = turn;" in source
    for other in "c", "opencl":
        assert "look_back" not in pg.generate_code(running("sum", "float32"), other).source
    for options in {"look_back": False}, {"allow_reassociation": False}:
        knl = pg.set_options(running("sum", "float32"), **options)
        assert "look_back" not in pg.generate_code(knl, "cuda").source


@pytest.mark.filterwarnings("ignore::polygen.errors.ComputedAnew")
def test_groups_have_one_index() -> None:
    knl = pg.make_kernel(
        ["{ [i,j]: 0<=j<=i<n }", "{ [r]: 0<=r<4 }"], "b[i] = sum(j, a[j])  {id=scan}\nc[r] = r"
    )
    knl = pg.split_scan(pg.add_dtypes(knl, {"a": "float32"}), "i", 32)
    knl = pg.assignment_to_subst(knl, "total_j")
    knl = pg.rename_iname(knl, "i_before", "i_outer", existing_ok=True)
    knl = pg.tag_inames(knl, {"i_outer": "g.0", "i_inner": "l.0", "j_total": "l.0", "r": "g.1"})
    knl = pg.set_options(knl, look_back=True)
    assert "look_back" not in pg.generate_code(knl, "cuda").source
