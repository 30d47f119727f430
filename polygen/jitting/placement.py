"""Chooses where a call with NumPy arrays runs: forecasts of both places, with copies counted."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from math import prod

import numpy as np

from polygen.errors import UserError
from polygen.inspection.devices.limits import Limits
from polygen.inspection.devices.measured_device import measured_device
from polygen.inspection.devices.shown_numbers import shown_time
from polygen.ir.array import GlobalArg
from polygen.ir.dtype import to_dtype
from polygen.ir.kernel import Kernel
from polygen.python.placed_kernels import Decision
from polygen.runtime.arrays.expression_values import value_of
from polygen.runtime.arrays.outputs import written_arrays
from polygen.runtime.backends.cuda.cuda_driver import driver, has_cuda
from polygen.runtime.backends.cuda.device_array import DeviceMemory
from polygen.runtime.calls.staging import needs_elements
from polygen.runtime.disk import cache as disk
from polygen.schedules.explain import explain

_MEASURED = 1 << 26  # bytes


@dataclass(frozen=True)
class Accelerator:
    """A device with memory of its own.

    Attributes:
        target: the target's name.
        bytes_per_second: how fast arrays are copied to it, and back.
        limits: those of the device; None to ask it.
        seconds_each: how long a copy takes, however small it is.
    """

    target: str
    bytes_per_second: float
    limits: Limits | None = None
    seconds_each: float = 2e-5


def accelerator() -> Accelerator | None:
    """Return the GPU that calls with NumPy arrays may run on; None if there is none."""
    return Accelerator("cuda", copied_per_second()) if has_cuda() else None


def choose_place(
    device: Accelerator, on_host: Kernel, on_device: Callable[[], Kernel], sizes: Mapping[str, int]
) -> Decision:
    """Return where a call should run.

    Parameters:
        device: the device.
        on_host: the kernel as it is scheduled for the processor.
        on_device: schedules it for the device: that is asked for only if copies leave a chance.
        sizes: the sizes and scalars of the call.
    """
    try:
        copying = copy_seconds(on_host, sizes, device)
        here = explain(on_host, sizes=sizes).forecast
        if here is None:
            return Decision(False, "data decides how long it takes", sizes)
        numbers = f"{shown_time(here)}, and copies to the device and back {shown_time(copying)}"
        if here <= copying:
            return Decision(False, f"it takes {numbers}", sizes)
        there = explain(on_device(), device.limits, sizes=sizes).forecast
    except UserError as error:
        return Decision(False, error.what, sizes)
    if there is None:
        why = f"data decides how long it takes on the device; the processor takes {numbers}"
        return Decision(False, why, sizes)
    why = f"{shown_time(there)} there; the processor takes {numbers}"
    return Decision(there + copying < here, why, sizes)


def copy_seconds(kernel: Kernel, sizes: Mapping[str, int], device: Accelerator) -> float:
    """Return how long it takes to copy a call's arrays to a device, and what it writes back.

    Parameters:
        kernel: the kernel.
        sizes: the value of each size.
        device: the device.
    """
    moved, count, written = 0, 0, written_arrays(kernel)
    for arg in kernel.arguments:
        if isinstance(arg, GlobalArg) and arg.dtype is not None:
            extents = [value_of(extent, sizes) for extent in arg.shape or ()]
            times = needs_elements(kernel, arg.name) + (arg.name in written)
            moved += times * prod(extents) * to_dtype(arg.dtype).itemsize
            count += times
    return moved / device.bytes_per_second + count * device.seconds_each


@cache
def copied_per_second() -> float:
    """Return how fast NumPy's arrays are copied to CUDA's device and back, measured once."""
    identity = measured_device("cuda").identity

    def measure() -> bytes:
        host = np.ones(_MEASURED, np.uint8)
        memory = DeviceMemory(_MEASURED, "the array by which copies are timed")
        times: list[float] = []
        for _ in range(3):
            begin = time.perf_counter()
            for to_host in (False, True):
                places = (memory.address, host.ctypes.data)
                target, source = places[::-1] if to_host else places
                driver().copy(target, source, _MEASURED, 0, to_host=to_host)
            times.append(time.perf_counter() - begin)
        return str(2 * _MEASURED / min(times)).encode()

    def is_rate(content: bytes) -> bool:
        try:
            return float(content) > 0
        except ValueError:
            return False

    return float(disk.kept(disk.key_of("copies", identity), measure, is_rate))
