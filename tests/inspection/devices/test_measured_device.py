"""What is known of a processor without measuring."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from polygen.inspection.devices.measured_device import measured_device, threads_of_processor


def test_cores_count_although_a_thread_is_bound_to_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenMP binds threads to single cores, if it is told to, also the one that began."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    own = os.sched_getaffinity(0)
    assert threads_of_processor() == len(own)

    def bound() -> int:
        os.sched_setaffinity(0, {min(own)})  # of this thread alone
        assert os.sched_getaffinity(0) == {min(own)}
        return threads_of_processor()

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(bound).result() == len(own)


def test_openmps_variable_counts_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    assert threads_of_processor() == 3
    assert measured_device("c").stated.compute_units == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "0")
    assert threads_of_processor() == len(os.sched_getaffinity(0))


def test_caches_of_a_core_are_smaller_than_what_cores_share() -> None:
    stated = measured_device("c").stated
    assert 2**17 <= stated.local_bytes <= stated.cache_bytes
