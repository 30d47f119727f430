"""`polygen.measure_limits`: what a device can do, found by running kernels on it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
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
from polygen.runtime.executor import Executor
from polygen.runtime.timing import resident

# On processors, halves are computed as float32: their conversions are what would be measured.
_TYPES = {"gpu": ("float16", "float32", "float64", "int32"), "cpu": ("float32", "float64", "int32")}
_LONG = 2e-3  # seconds: what takes as long is timed well enough
_TOO_LONG = 0.2  # seconds: of a call, also on devices that are much slower than they say
_ENOUGH = _TOO_LONG / 2  # no more is tried; devices that others use, too, are late at times
_TIMES = 8  # as much is tried next, until all of it is known to be done soon enough
_TRIALS = 3  # of what seems to take too long
_BATCHES = 5
_PART = 4  # of the cache that cores share: both arrays stay in it
_SAMPLES = 1 << 13  # elements of memory that are followed
_FIRST = 32  # repetitions of what is computed: more, if that is over too soon
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
    should run; on a device that is much slower than it says (a simulated one), less is copied and
    computed.

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
        self._elements = 0  # of the largest array that was copied

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
            if taken > _TOO_LONG:
                return taken / count
            if taken < _LONG:
                count *= 4
            else:
                found.append(taken / count)
        return min(found)

    def _most(self, kernel: Kernel, of: Callable[[int], Mapping[str, Any]], wanted: int) -> int:
        """Return how many parts a call has to have, of those wanted: fewer on a slow device.

        Parameters:
            kernel: what is called.
            of: the arguments of a call with some parts.
            wanted: how many parts are enough for a device that is as fast as it says.
        """
        executor, count = kernel.executor(self._device.device), 1
        while count < wanted:
            seconds = _once(executor, of(count))
            if seconds > _ENOUGH:
                return min(wanted, max(1, int(count * _TOO_LONG / seconds)))
            count *= _TIMES
        return wanted

    def _copied(self, size: int) -> float:
        """Return how many bytes are read and written in a second, in arrays of so many bytes."""
        kernel, chunk = kernels.copying(self._kind), kernels.CHUNK

        def arguments(chunks: int) -> dict[str, Any]:
            # Of pages that were never written, there is one for all.
            a, b = (np.full(chunks * chunk, number, np.float32) for number in (1, 2))
            return {"a": a, "b": b}

        chunks = self._most(kernel, arguments, max(1, size // 8 // chunk))
        self._elements = max(self._elements, chunks * chunk)
        return 8 * chunks * chunk / self._seconds(kernel, arguments(chunks))

    def _rate(self, dtype: str) -> float:
        """Return how many operations on a type are done in a second."""
        kind = self._kind
        kernel, lanes = kernels.multiplying(kind, dtype), kernels.lanes_of(kind, dtype)
        factor = 0.999 if dtype.startswith("float") else 1
        scalar = np.dtype(dtype).type

        def arguments(groups: int) -> dict[str, Any]:
            n = groups * lanes
            a, b = np.ones(n, dtype), np.zeros((kernels.CHAINS[kind], n), dtype)
            return {"a": a, "b": b, "f": scalar(factor), "g": scalar(1), "m": np.int32(_FIRST)}

        groups = self._most(kernel, arguments, self._units * _GROUPS)
        seconds = self._repeated(kernel, arguments(groups))
        return 2 * groups * lanes * kernels.CHAINS[kind] / seconds

    def _local(self) -> float:
        """Return how many bytes of local memory are read in a second."""
        kernel, rows, items = kernels.reading_local(), kernels.ROWS, kernels.ITEMS

        def arguments(groups: int) -> dict[str, Any]:
            a, b = np.ones((rows, items), np.float32), np.zeros((groups, items), np.float32)
            return {"a": a, "b": b, "h": np.int32(rows), "m": np.int32(_FIRST)}

        groups = self._most(kernel, arguments, self._units * _GROUPS)
        return 4 * groups * rows * items / self._repeated(kernel, arguments(groups))

    @property
    def _units(self) -> int:
        units = self._device.stated.compute_units
        assert units is not None
        return units

    def _repeated(self, kernel: Kernel, args: Mapping[str, Any]) -> float:
        """Return how long a kernel takes for each of `m` repetitions, with `m` large enough."""
        m = _FIRST
        while True:
            seconds = self._seconds(kernel, {**args, "m": np.int32(m)})
            if seconds >= _LONG:
                return seconds / m
            m *= 8

    def _launch(self) -> float:
        """Return how long after another a launch begins that needs it, what it does included."""
        a, b = np.zeros((2, kernels.WIDTHS[self._kind]), np.float32)
        kernel = kernels.stepping(self._kind)

        def arguments(steps: int) -> dict[str, Any]:
            return {"a": a, "b": b, "m": np.int32(steps)}

        steps = self._most(kernel, arguments, _STEPS)
        return self._seconds(kernel, arguments(steps)) / (2 * steps)

    def _latency(self) -> float:
        """Return how long an element of memory takes to arrive, far past the caches."""
        n = self._elements
        order = np.random.default_rng(0).permutation(n // _SPACING) * _SPACING
        place = np.zeros(n, np.int32)
        place[order] = np.roll(order, -1)
        last = np.array([order[0]], np.int32)
        args = {"place": place, "last": last, "m": np.int32(_SAMPLES)}
        return self._seconds(kernels.following(), args) / _SAMPLES

    def _atomic(self) -> float:
        """Return how long after another an atomic update of the same element is done."""
        kernel = kernels.adding(self._kind)

        def arguments(groups: int) -> dict[str, Any]:
            a, total = np.ones(kernels.ITEMS * groups, np.float32), np.zeros(1, np.float32)
            return {"a": a, "total": total}

        groups = self._most(kernel, arguments, self._device.adding_groups)
        return self._seconds(kernel, arguments(groups)) / (kernels.ITEMS * groups)


def _once(executor: Executor, args: Mapping[str, Any]) -> float:
    """Return how long a call takes by itself; the least of a few, if it seems to take long."""
    call, least = resident(executor, args), float("inf")
    call.run().wait()  # compiles
    for _ in range(_TRIALS):
        begin = time.perf_counter()
        call.run().wait()
        least = min(least, time.perf_counter() - begin)
        if not _ENOUGH < least < _TOO_LONG:
            break
    return least
