"""What the tests of CUDA without a GPU share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.nvidia.host_driver import HostDriver

# Where its name stands.
_PLACES = ("cuda_driver", "cuda_run", "cuda_arrays", "cuda_memory", "executor")


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[HostDriver]:
    """A driver for the host's processor, in the place of a GPU's."""
    found = HostDriver()
    for place in _PLACES:
        monkeypatch.setattr(f"polygen.runtime.{place}.driver", lambda: found)
    monkeypatch.setattr("polygen.runtime.cuda_driver._MODULES", {})
    yield found
    found.stop()
