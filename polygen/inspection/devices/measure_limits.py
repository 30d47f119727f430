"""`polygen.measure_limits`: what a device can do, found by running kernels on it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from polygen.inspection.devices import limit_kernels as kernels
from polygen.inspection.devices.limits import Limits
from polygen.inspection.devices.measured_device import MeasuredDevice, measured_device
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.runtime.calls.call_recording import unheard
from polygen.runtime.disk import cache as disk
from polygen.runtime.timing import resident

# On processors, halves are computed as float32: their conversions are what would be measured.
_TYPES = {"gpu": ("float16", "float32", "float64", "int32"), "cpu": ("float32", "float64", "int32")}
_LONG = 2e-3  # seconds: what takes as long is timed well enough
_BATCHES = 5
_PART = 4  # of the cache that cores share: both arrays stay in it
_SAMPLES = 1 << 13  # elements of memory that are followed
_STEPS = 256  # pairs of launches
_GROUPS = 16  # for each unit: enough to keep it busy
_SPACING = 64  # elements between those that are followed: each is in a line of a cache of its own


@public
def measure_limits(device: Any = None, refresh: bool = False) -> Limits:
    """Return what a device can do at most, as kernels of polygen's reach it.

    What is measured: the rate at which arrays much larger than caches are copied, reads and writes
    together; rates of ``x*f + g``, two operations, in float32, float64 and int32; how long after
    another a launch begins that needs it; how long an element of memory takes to arrive; and how
    long an atomic addition to an element waits for another.  On GPUs also the rate of float16, and
    that at which local memory is read; on processors, the rate at which arrays in the cache are
    copied.  What else there is, the driver states.  That takes a few seconds, in which nothing else
    should run.

    The numbers are kept on disk, by device, driver and compiler: see ``polygen cache``.  Of
    processes that ask at the same time, one measures.

    Parameters:
        device: what `Kernel.executor` takes: ``"c"``, ``"opencl"``, ``"cuda"``, a context, device
            or queue of pyopencl's; if not given, where calls with NumPy arrays run.
        refresh: measure again.

    Raises:
        InvalidArgument: if it is no device.
        NoDevice: if there is none.

    >>> import polygen as pg
    >>> limits = pg.measure_limits("c")  # doctest: +SKIP
    >>> print(pg.roofline(knl, limits, {"n": 10**8}, measured=0.012))  # doctest: +SKIP
    """
    found = measured_device(device)
    name = disk.key_of("limits 2", found.identity)

    def measure() -> bytes:
        with unheard():  # by profiles, for which calls take longer
            return json.dumps(asdict(_Measuring(found).limits())).encode()

    if refresh:
        content = measure()
        disk.store(name, content)
    else:
        content = disk.kept(name, measure)
    return Limits(**json.loads(content))


class _Measuring:
    def __init__(self, device: MeasuredDevice) -> None:
        self._device, self._kind = device, device.kind

    def limits(self) -> Limits:
        """Return all limits."""
        measured = replace(
            self._device.stated,
            bytes_per_second=self._copied(self._device.copied_bytes),
            operations_per_second={dtype: self._rate(dtype) for dtype in _TYPES[self._kind]},
            launch_seconds=self._launch(),
            latency_seconds=self._latency(),
            atomic_seconds=self._atomic(),
        )
        if self._kind == "gpu":
            return replace(measured, local_bytes_per_second=self._local())
        near = self._device.stated.cache_bytes // _PART
        return replace(measured, cache_bytes_per_second=self._copied(near))

    def _seconds(self, kernel: Kernel, args: Mapping[str, Any]) -> float:
        """Return how long a call takes at least, with arrays that are on the device."""
        call = resident(kernel.executor(self._device.device), args)
        call.run().wait()  # compiles
        count, found = 1, list[float]()
        while len(found) < _BATCHES:
            begin = time.perf_counter()
            events = [call.run() for _ in range(count)]
            events[-1].wait()
            taken = time.perf_counter() - begin
            if taken < _LONG:
                count *= 4
            else:
                found.append(taken / count)
        return min(found)

    def _copied(self, size: int) -> float:
        """Return how many bytes are read and written in a second, in arrays of so many bytes."""
        chunk = kernels.CHUNK
        n = max(1, size // 8 // chunk) * chunk
        # Of pages that were never written, there is one for all.
        a, b = np.full(n, 1, np.float32), np.full(n, 2, np.float32)
        return 8 * n / self._seconds(kernels.copying(self._kind), {"a": a, "b": b})

    def _rate(self, dtype: str) -> float:
        """Return how many operations on a type are done in a second."""
        kind = self._kind
        n = self._units * _GROUPS * kernels.lanes_of(kind, dtype)
        factor = 0.999 if dtype.startswith("float") else 1
        scalar = np.dtype(dtype).type
        args = {
            "a": np.ones(n, dtype),
            "b": np.zeros((kernels.CHAINS[kind], n), dtype),
            "f": scalar(factor),
            "g": scalar(1),
        }
        seconds = self._repeated(kernels.multiplying(kind, dtype), args)
        return 2 * n * kernels.CHAINS[kind] / seconds

    def _local(self) -> float:
        """Return how many bytes of local memory are read in a second."""
        n, shape = self._units * _GROUPS, (kernels.ROWS, kernels.ITEMS)
        args = {"a": np.ones(shape, np.float32), "b": np.zeros((n, shape[1]), np.float32)}
        rows = np.int32(kernels.ROWS)
        seconds = self._repeated(kernels.reading_local(), {**args, "h": rows})
        return 4 * n * shape[0] * shape[1] / seconds

    @property
    def _units(self) -> int:
        units = self._device.stated.compute_units
        assert units is not None
        return units

    def _repeated(self, kernel: Kernel, args: Mapping[str, Any]) -> float:
        """Return how long a kernel takes for each of `m` repetitions, with `m` large enough."""
        m = 32
        while True:
            seconds = self._seconds(kernel, {**args, "m": np.int32(m)})
            if seconds >= _LONG:
                return seconds / m
            m *= 8

    def _launch(self) -> float:
        """Return how long after another a launch begins that needs it, what it does included."""
        a, b = np.zeros((2, kernels.WIDTHS[self._kind]), np.float32)
        run = kernels.stepping(self._kind)
        return self._seconds(run, {"a": a, "b": b, "m": np.int32(_STEPS)}) / (2 * _STEPS)

    def _latency(self) -> float:
        """Return how long an element of memory takes to arrive, far past the caches."""
        n = self._device.copied_bytes // 2 // 4
        order = np.random.default_rng(0).permutation(n // _SPACING) * _SPACING
        place = np.zeros(n, np.int32)
        place[order] = np.roll(order, -1)
        last = np.array([order[0]], np.int32)
        args = {"place": place, "last": last, "m": np.int32(_SAMPLES)}
        return self._seconds(kernels.following(), args) / _SAMPLES

    def _atomic(self) -> float:
        """Return how long after another an atomic update of the same element is done."""
        n = kernels.ITEMS * self._device.adding_groups
        args = {"a": np.ones(n, np.float32), "total": np.zeros(1, np.float32)}
        return self._seconds(kernels.adding(self._kind), args) / n
