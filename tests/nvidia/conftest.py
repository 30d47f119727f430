"""What the tests of CUDA without a GPU share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.needs import require
from tests.nvidia.host_driver import HostDriver, compiled_shim

# Where its name stands.
PLACES = (
    "cuda_driver",
    "cuda_run",
    "cuda_memory",
    "cuda_streams",
    "device_array",
    "cuda_backend",
    "cuda_times",
)


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What stands before every source, parsed once: that takes most of the time."""
    require("g++")
    return compiled_shim(tmp_path_factory.mktemp("shim"))


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch, shim: Path) -> Iterator[HostDriver]:
    """A driver for the host's processor, in the place of a GPU's."""
    found = HostDriver(shim)
    for place in PLACES:
        monkeypatch.setattr(f"polygen.runtime.backends.cuda.{place}.driver", lambda: found)
    # A module that is first loaded now would keep this driver for the tests that follow.
    monkeypatch.setattr("polygen.inspection.devices.measured_device.driver", lambda: found)
    monkeypatch.setattr("polygen.runtime.backends.cuda.cuda_driver._MODULES", {})
    monkeypatch.setattr("polygen.runtime.backends.cuda.cuda_times._ORIGINS", {})
    yield found
    found.stop()
