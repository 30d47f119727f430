"""CUDA's driver as a library of C."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from polygen.runtime.calls.device_errors import DriverError


@cache
def driver_library() -> Any:
    """Return the driver's functions, those with addresses as they take them."""
    address, number, size = ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t
    library = ctypes.CDLL("libcuda.so.1")
    library.cuLaunchKernelEx.argtypes = (address,) * 4
    library.cuStreamGetCaptureInfo_v2.argtypes = (address,) * 6
    library.cuStreamCreate.argtypes = (address, number)
    library.cuStreamDestroy_v2.argtypes = (address,)
    library.cuStreamEndCapture.argtypes = (address, address)
    library.cuStreamUpdateCaptureDependencies.argtypes = (address, address, size, number)
    library.cuUserObjectCreate.argtypes = (address, address, address, number, number)
    library.cuGraphRetainUserObject.argtypes = (address, address, number, number)
    library.cuLinkCreate_v2.argtypes = (number, address, address, address)
    library.cuLinkAddData_v2.argtypes = (
        *(address, number, address, size, address),
        *(number, address, address),
    )
    library.cuLinkAddFile_v2.argtypes = (address, number, address, number, address, address)
    library.cuLinkComplete.argtypes = (address, address, address)
    library.cuLinkDestroy.argtypes = (address,)
    return library


def check(code: int) -> None:
    """Raise DriverError if a function of the driver failed."""
    if not code:
        return
    text = ctypes.c_char_p()
    driver_library().cuGetErrorString(code, ctypes.byref(text))
    raise DriverError((text.value or str(code).encode()).decode(), code)
