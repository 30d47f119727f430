"""All operations by shuffles of warps, on the host's processor."""

from __future__ import annotations

import pytest

from tests.fetches import check as check_fetches
from tests.nvidia.host_driver import HostDriver
from tests.operators import TYPES, check, tree
from tests.updates import check as check_updates

pytestmark = pytest.mark.more  # CUDA on the processor of the host


def test_operations(host: HostDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    check([(tree, 45)], "cuda", monkeypatch, ("float32",))


@pytest.mark.deep
def test_operations_on_every_type(host: HostDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    check([(tree, 45), (tree, 7)], "cuda", monkeypatch, TYPES)


def test_atomic_updates(host: HostDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    check_updates("cuda", monkeypatch)


def test_old_values(host: HostDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    check_fetches("cuda", monkeypatch, ("uint8", "int64", "float16"))


@pytest.mark.more
def test_old_values_of_every_type(host: HostDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    check_fetches("cuda", monkeypatch)
