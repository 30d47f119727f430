"""Devices as `polygen.measure_limits` sees them: what their drivers state, and how to name them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polygen.inspection.devices.limits import Limits
from polygen.language.make_kernel import make_kernel
from polygen.runtime.backends.c.c_compiler import find_compiler
from polygen.runtime.backends.cuda.cuda_driver import architecture, driver
from polygen.runtime.backends.opencl.opencl_driver import Queue, pyopencl
from polygen.runtime.executor import Executor

_LEAST_COPIED, _MOST_COPIED = 2**28, 2**30  # bytes: past caches, and not too long
_PAST = 8  # how many times a cache
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_GROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")  # of a container
_NEAR_BYTES, _SHARED_BYTES = 2**19, 2**25  # of caches, where the system does not say
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


@dataclass(frozen=True)
class MeasuredDevice:
    """A device.

    Attributes:
        device: what executors take for it.
        target: ``"c"``, ``"opencl"`` or ``"cuda"``.
        kind: ``"gpu"``, or ``"cpu"`` for what runs on a processor.
        identity: what tells it, its driver and its compiler from others.
        stated: its limits, with rates that are still to be measured.
        copied_bytes: how much to copy, read and written together: far more than caches hold.
        adding_groups: how many groups update one element, so that it can be timed.
    """

    device: Any
    target: str
    kind: str
    identity: str
    stated: Limits
    copied_bytes: int
    adding_groups: int = 64


def measured_device(device: Any) -> MeasuredDevice:
    """Return a device by what an executor takes for it.

    Raises:
        InvalidArgument: if it is none.
        NoDevice: if there is none.
    """
    executor = Executor(make_kernel("{ : }", "a[0] = 1"), device)
    return BY_TARGET[executor.target](executor.default_queue())


def _cuda(_queue: Queue | None) -> MeasuredDevice:
    cuda = driver()
    number = cuda.device()
    stated = Limits.of_device()
    parts = ("cuda", cuda.identity(number), architecture(number), cuda.compiler_version())
    identity = "\n".join((*parts, str(stated)))
    return MeasuredDevice(
        "cuda", "cuda", "gpu", identity, stated, _copied(stated), adding_groups=4096
    )


def _opencl(queue: Queue | None) -> MeasuredDevice:
    assert queue is not None
    cl, device = pyopencl(), queue.device
    on_processor = bool(device.type & cl.device_type.CPU)
    stated = Limits(
        1.0,
        1.0,
        device.max_compute_units,
        items_per_group=device.max_work_group_size,
        local_bytes=device.local_mem_size,
        cache_bytes=max(1, device.global_mem_cache_size),
    )
    parts = (device.platform.version, device.name, device.driver_version, str(stated))
    return MeasuredDevice(
        queue,
        "opencl",
        "cpu" if on_processor else "gpu",
        "\n".join(("opencl", *parts)),
        stated,
        _copied(stated, device.global_mem_size),
    )


def threads_of_processor() -> int:
    """Return how many threads share a loop in C: as OpenMP's variable says, or one for a core."""
    given = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(given) if given.isdigit() and int(given) else len(_cores())


def _cores() -> set[int]:
    """Return the cores for this process.

    OpenMP may bind threads to single cores, also the one that asks here: all of them count.
    """
    threads = [int(path.name) for path in Path("/proc/self/task").glob("*")]
    return set[int]().union(*(_cores_of(thread) for thread in threads or [0]))


def _cores_of(thread: int) -> set[int]:
    try:
        return os.sched_getaffinity(thread)
    except ProcessLookupError:  # it has ended meanwhile
        return set()


def caches_of_processor() -> tuple[int, int]:
    """Return how many bytes the second-level cache of a core holds, and the largest cache."""
    caches = [_bytes(path.read_text()) for path in _CACHES.glob("index*/size")]
    near = _CACHES / "index2" / "size"  # 0 and 1 are the first level's, of data and instructions
    return (
        _bytes(near.read_text()) if near.exists() else _NEAR_BYTES,
        max(caches, default=_SHARED_BYTES),
    )


def _processor(_queue: Queue | None) -> MeasuredDevice:
    threads = threads_of_processor()
    near, shared = caches_of_processor()
    stated = Limits(1.0, 1.0, threads, local_bytes=near, cache_bytes=shared)
    identity = "\n".join(("c", find_compiler().identity, str(stated)))
    return MeasuredDevice("c", "c", "cpu", identity, stated, _copied(stated, memory_of_process()))


BY_TARGET: Mapping[str, Callable[[Queue | None], MeasuredDevice]] = {
    "cuda": _cuda,
    "opencl": _opencl,
    "c": _processor,
}


def _copied(stated: Limits, memory: int | None = None) -> int:
    wanted = min(max(_LEAST_COPIED, _PAST * stated.cache_bytes), _MOST_COPIED)
    return wanted if memory is None else min(wanted, memory // 8)


def memory_of_process() -> int:
    """Return how much memory this process may have."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = _GROUP_LIMIT.read_text().strip() if _GROUP_LIMIT.exists() else "max"
    return min(machine, int(limit)) if limit.isdigit() else machine


def _bytes(text: str) -> int:
    """Return a size such as ``512K`` as a number."""
    number, unit = text.strip()[:-1], text.strip()[-1]
    return int(number) * _UNITS[unit] if unit in _UNITS else int(text)
