"""Where a kernel runs, if nothing or only a name is said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from polygen.errors import InvalidArgument, NoDevice, WrongDevice
from polygen.ir.kernel import Kernel
from polygen.ir.options import TARGET_NAMES
from polygen.ir.public import public
from polygen.runtime.c_compiler import compiler_command
from polygen.runtime.opencl import (
    Context,
    Queue,
    default_context,
    has_device,
    is_context,
    is_device,
    is_queue,
    pyopencl,
    queue_of,
)
from polygen.source import caller_location


@dataclass(frozen=True)
class Place:
    """Where an executor runs.

    Attributes:
        target: ``"c"``, ``"opencl"``, ``"cuda"``, or None if the arguments of each call decide.
        context: the only context, or None for any.
        queue: where to enqueue if a call does not say, or None.
    """

    target: str | None = None
    context: Context | None = None
    queue: Queue | None = None

    def default_queue(self) -> Queue:
        """Return the queue for a call that has neither a queue nor a device's array."""
        if self.queue is not None:
            return self.queue
        return queue_of(default_context() if self.context is None else self.context)

    def check_context(self, kernel: Kernel, context: Context) -> None:
        """Raise WrongDevice if this is not the executor's context."""
        if self.context is not None and context != self.context:
            raise WrongDevice(
                f"an executor of kernel '{kernel.name}' for {self.context.devices} was called "
                f"with a queue or an array of another context, for {context.devices}",
                where=caller_location(),
                remedy="use kernel.executor(queue) of that queue",
            )


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
    if is_queue(device):
        return Place("opencl", device.context, device)
    if is_context(device):
        return Place("opencl", device)
    if is_device(device):
        return Place("opencl", pyopencl().Context([device]))
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
    if compiler_command() is not None:
        return "c"
    if has_device():
        return "opencl"
    raise NoDevice(
        "there is nothing to run on: neither a C compiler nor an OpenCL device",
        where=caller_location(),
        remedy="sudo apt install gcc (Debian, Ubuntu), or pip install 'polygen[pocl]'",
    )
