"""Translates errors of devices and their libraries into errors of polygen."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from polygen.errors import KernelFault, LaunchFailed, NoDevice, OutOfMemory, UserError
from polygen.ir.dtype import DType
from polygen.source import caller_location

_NO_MEMORY = 2
_FATAL = frozenset({214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719})
# What NVIDIA's OpenCL says after a kernel has failed: at first, and later.
_ILLEGAL_ACCESS = -9999
_LATER = {
    "OUT_OF_RESOURCES": (
        "clEnqueueReadBuffer",
        "clEnqueueWriteBuffer",
        "clWaitForEvents",
        "clFinish",
    ),
    "INVALID_COMMAND_QUEUE": ("clFinish",),
}
_FAULTS_OF_TORCH = "CUDA error: "
_FIND_IT = (
    "in a new process: CUDA_LAUNCH_BLOCKING=1 lets the call fail that is at fault, "
    "compute-sanitizer shows the access, and check_assumptions=True checks a call's data first"
)


class DriverError(Exception):
    """An error that CUDA's driver returned.

    Attributes:
        code: CUDA's number for it; 0 if that is not known.
    """

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code

    @property
    def is_fatal(self) -> bool:
        """Whether the context can do nothing any more."""
        return self.code in _FATAL


def translated(kernel: str, error: Exception) -> UserError | None:
    """Return what a call says where a library raised an error; None if that is not a device's.

    Parameters:
        kernel: the name of the kernel that is called.
        error: any.
    """
    if isinstance(error, UserError):
        return None
    if is_no_memory(error):
        return no_memory(f"kernel '{kernel}' is called", error)
    if isinstance(error, DriverError):
        return driver_error(kernel, error)
    if type(error).__module__.split(".")[0] in ("cupy", "cupy_backends"):
        return driver_error(kernel, DriverError(str(error), getattr(error, "status", 0)))
    if isinstance(error, RuntimeError) and str(error).startswith(_FAULTS_OF_TORCH):
        return fault(kernel, str(error).splitlines()[0].removeprefix(_FAULTS_OF_TORCH))
    pyopencl = sys.modules.get("pyopencl")
    if pyopencl is None or not isinstance(error, pyopencl.Error):
        return None
    return fault(kernel, str(error)) if is_fault(error) else _refused(kernel, error)


def is_fault(error: Any) -> bool:
    """Tell whether an error of OpenCL's is what follows on a kernel that failed."""
    codes = sys.modules["pyopencl"].status_code
    later = ((getattr(codes, name), routines) for name, routines in _LATER.items())
    return error.code == _ILLEGAL_ACCESS or any(
        error.code == code and error.routine in routines for code, routines in later
    )


def driver_error(kernel: str, error: DriverError) -> UserError:
    """Return the error that CUDA refused what a call of a kernel asks for, or failed before."""
    return fault(kernel, str(error)) if error.is_fatal else _refused(kernel, error)


def is_no_memory(error: Any) -> bool:
    """Tell whether an error of a library's says that there is not as much memory."""
    # CuPy's error is one of Python's; PyTorch's is not.
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    if isinstance(error, DriverError):
        return error.code == _NO_MEMORY
    pyopencl = sys.modules.get("pyopencl")
    if pyopencl is None or not isinstance(error, pyopencl.Error):
        return False
    codes = pyopencl.status_code
    return error.code in (
        codes.MEM_OBJECT_ALLOCATION_FAILURE,
        codes.INVALID_BUFFER_SIZE,
        codes.OUT_OF_HOST_MEMORY,
    )


def fault(kernel: str, message: str) -> KernelFault:
    """Return the error that a device stopped while kernels ran."""
    return KernelFault(
        f"the device failed in kernel '{kernel}', or in what was started before it: {message}; "
        "nothing runs on it in this process any more",
        where=caller_location(),
        remedy=_FIND_IT,
    )


def no_memory(what: str, error: Exception) -> OutOfMemory:
    """Return the error that there is not enough memory for something."""
    return OutOfMemory(
        f"there is not enough memory where {what}: {error}",
        where=caller_location(),
        remedy="pass smaller arrays, or give back some that are not needed",
    )


def no_memory_for(name: str, shape: tuple[int, ...], dtype: DType, error: Exception) -> OutOfMemory:
    """Return the error that there is not enough memory for a new array."""
    what = f"a new array would be made for '{name}', of the shape {shape} and the type {dtype}"
    return no_memory(what, error)


def _refused(kernel: str, error: Exception) -> LaunchFailed:
    return LaunchFailed(
        f"the device refused what a call of kernel '{kernel}' asks for: {error}",
        where=caller_location(),
        remedy="do all arrays belong to the device, and is there memory for what is new?",
    )


def raise_forked() -> NoReturn:
    """Raise NoDevice: a call would wait forever for threads that only the parent has."""
    raise NoDevice(
        "OpenCL cannot be used in this process: it was forked off one that uses it, and the "
        "driver's threads are left behind there",
        where=caller_location(),
        remedy="start processes that begin anew, multiprocessing.get_context('spawn'); or fork "
        "before OpenCL is used; or run on C here: kernel.executor('c')",
    )
