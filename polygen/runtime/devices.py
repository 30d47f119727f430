"""Chooses the device for a kernel, where nothing or only a name is given."""

from __future__ import annotations

from typing import Any

from polygen.errors import InvalidArgument, NoDevice, WrongArgumentType, WrongDevice
from polygen.ir.kernel import Kernel
from polygen.ir.options import TARGET_NAMES
from polygen.ir.public import public
from polygen.runtime.backends.backend_table import BACKENDS
from polygen.runtime.calls.execution_place import Place
from polygen.source import caller_location


def place_of(kernel: Kernel, device: Any) -> Place:
    """Return where `kernel.executor(device)` runs.

    Raises:
        InvalidArgument: if `device` is no device.
        WrongDevice: if the kernel's own target is another.
    """
    place = _place(kernel, device)
    if kernel.target is not None and place.target not in (None, kernel.target):
        raise WrongDevice(
            f"kernel '{kernel.name}' has the target '{kernel.target}', and was to run on "
            f"'{place.target}'",
            where=caller_location(),
            remedy=f"make it with target=None, or with target='{place.target}'",
        )
    return Place(kernel.target) if device is None else place


def _place(kernel: Kernel, device: Any) -> Place:
    if device is None or isinstance(device, str):
        if device not in (None, *TARGET_NAMES):
            raise _no_device(kernel, device)
        return Place(device)
    for backend in BACKENDS.values():
        if (found := backend.place_of(device)) is not None:
            return found
    raise _no_device(kernel, device)


def _no_device(kernel: Kernel, device: Any) -> InvalidArgument:
    return InvalidArgument(
        f"kernel '{kernel.name}' cannot run on {device!r}, which is no device",
        where=caller_location(),
        remedy="use 'c', 'cuda', 'opencl', or a context, device or queue of pyopencl's",
    )


@public
def default_target() -> str:
    """Return where a call with NumPy arrays and no queue runs: ``"c"`` or ``"opencl"``.

    C, if the machine has a compiler; else OpenCL, for which PoCL comes as a Python package.

    Raises:
        NoDevice: if there is neither.
    """
    for backend in BACKENDS.values():
        if backend.is_default():
            return backend.target
    raise NoDevice(
        "there is nothing to run on: neither a C compiler nor an OpenCL device",
        where=caller_location(),
        remedy="sudo apt install gcc (Debian, Ubuntu), or pip install 'polygen[pocl]'",
    )


def target_of_queue(kernel: Kernel, queue: Any) -> str:
    """Return the target that a queue is of.

    Raises:
        WrongArgumentType: if a value is no queue.
    """
    for backend in BACKENDS.values():
        if backend.is_queue(queue):
            return backend.target
    raise WrongArgumentType(
        f"kernel '{kernel.name}' was called with {queue!r} for a queue",
        where=caller_location(),
        remedy="pass a pyopencl.CommandQueue, a CUDA stream, or nothing; arguments are "
        "passed by name",
    )


def elsewhere(kernel: Kernel, name: str, found: str, wanted: str) -> WrongDevice:
    """Return the error for what is on one target, in a call that runs on another."""
    what = "a queue" if name == "queue" else f"the array '{name}'"
    return WrongDevice(
        f"kernel '{kernel.name}' runs in {BACKENDS[wanted].title} here, and was passed {what} of "
        f"{BACKENDS[found].owner}",
        where=caller_location(),
        remedy=f"pass NumPy arrays, or use kernel.executor('{found}')",
    )
