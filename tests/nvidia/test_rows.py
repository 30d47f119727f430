"""Rows of odd length on CUDA, on the host's processor."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import polygen as pg
from tests.few import few
from tests.nvidia.host_driver import HostDriver
from tests.nvidia.nvrtc import compile_for
from tests.properties.together import run_together
from tests.tuning.test_rows import along_rows, right


@pytest.mark.more
def test_values(host: HostDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether rows begin where vectors do, or single elements are read in turn."""
    cases: list[tuple[Any, dict[str, Any]]] = []
    expected: list[Any] = []
    for name, length in (("softmax", 4_097), ("layer norm", 4_100), ("layer norm", 129)):
        a = np.random.default_rng(length).normal(size=(3, length)).astype(np.float16)
        given = {"a": a, "b": np.zeros_like(a)}
        cases.append((along_rows(name, 3, length), given))
        expected.append(right(name, a.astype(np.float64)))
    for found, wanted in zip(run_together(cases, "cuda", monkeypatch, ()), expected, strict=True):
        assert found is not None
        np.testing.assert_allclose(found["b"], wanted, rtol=2e-3, atol=1e-5)


@few(1, "length", [65_536, 65_537])
def test_registers_for_two_groups(length: int) -> None:
    """Halves that are kept stay halves; and so few registers that two groups run side by side."""
    source = pg.generate_code(along_rows("layer norm", 1024, length), "cuda").source
    size, log = compile_for("sm_90", source, "--ptxas-options=-v")
    assert size, log
    assert "__launch_bounds__(512, 2)" in source
    assert "pg_read_again(a_own);" in source
    assert sum(map(int, re.findall(r"(\d+) bytes spill stores", log))) < 100
