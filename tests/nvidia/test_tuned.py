"""`optimize` with `tune=True` on a GPU, whose part the host's processor plays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import polygen as pg
from tests.nvidia.host_driver import HostDriver

LIMITS = pg.Limits(1e12, 1e13, 4, items_per_group=256)


def test_schedules_are_measured_there(
    host: HostDriver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("POLYGEN_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("POLYGEN_NO_CACHE", raising=False)
    monkeypatch.setattr("polygen.schedules.grids._ITEMS", (32, 16))
    monkeypatch.setattr("polygen.inspection.devices.measured_device.driver", lambda: host)
    monkeypatch.setattr("polygen.inspection.devices.limits.cuda_driver.driver", lambda: host)
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i] + 1", target="cuda")
    knl = pg.add_dtypes(knl, {"a": "float32"})
    new = pg.optimize(knl, LIMITS, sizes={"n": 100}, tune=True, budget=60)
    measured = pg.explain(new, LIMITS, sizes={"n": 100}).measured
    names = {choice.what for choice in measured}
    assert names == {"the model's choice", "work items of a group: 16"}
    assert all(choice.seconds and choice.seconds > 0 for choice in measured)
    assert not host.live  # all memory is given back
    assert pg.optimize(knl, LIMITS, sizes={"n": 100}, tune=True, budget=60) == new
    a = np.arange(70, dtype=np.float32)
    np.testing.assert_array_equal(new(a=a)[1][0], 2 * a + 1)
