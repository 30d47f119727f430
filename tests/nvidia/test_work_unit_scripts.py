"""What the scripts of work units compute in the space `Cuda`, on the host's processor."""

from __future__ import annotations

from pathlib import Path

import pytest

import polygen.workunits as pk
from tests.nvidia.host_driver import HostDriver
from tests.workunits.test_scripts import SCRIPTS, THEIRS, check, loaded


# A sum in a branch of an inner loop is added up by one work item.
@pytest.mark.filterwarnings("ignore::polygen.errors.NotParallel")
@pytest.mark.more
@pytest.mark.parametrize("name", SCRIPTS)
def test_values(host: HostDriver, name: str, tmp_path: Path) -> None:
    check(loaded(name, THEIRS, tmp_path), pk.Cuda)
    assert host.compiled > 0
