"""On which target an array or a queue is."""

from __future__ import annotations

from polygen.errors import WrongDevice
from polygen.ir.kernel import Kernel
from polygen.runtime.cuda_arrays import is_cuda_array
from polygen.runtime.opencl import is_image, is_opencl_array
from polygen.source import caller_location


def home_of(value: object) -> str | None:
    """Return the target on which an array is, if that is a device's."""
    if is_opencl_array(value) or is_image(value):
        return "opencl"
    return "cuda" if is_cuda_array(value) else None


def elsewhere(kernel: Kernel, name: str, found: str, wanted: str) -> WrongDevice:
    """Return the error for what is on one target, in a call that runs on another."""
    libraries = {"opencl": "pyopencl's", "cuda": "CUDA's"}
    what = "a queue" if name == "queue" else f"the array '{name}'"
    names = {"c": "C", "opencl": "OpenCL", "cuda": "CUDA"}
    return WrongDevice(
        f"kernel '{kernel.name}' runs in {names[wanted]} here, and was passed {what} of "
        f"{libraries[found]}",
        where=caller_location(),
        remedy=f"pass NumPy arrays, or use kernel.executor('{found}')",
    )
