"""Rows of odd length on CUDA, on the host's processor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.nvidia.host_driver import HostDriver
from tests.properties.together import run_together
from tests.tuning.test_rows import along_rows, right


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
