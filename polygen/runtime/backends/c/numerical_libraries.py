"""BLAS and LAPACK for C: the addresses of SciPy's routines, and errors for what they report."""

from __future__ import annotations

import ctypes
import importlib
import re
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from polygen.errors import NoLibrary
from polygen.ir.dtype import DType
from polygen.lower.program import LoopProgram
from polygen.runtime.calls.library_errors import library_error
from polygen.source import caller_location
from polygen.targets.programs.library_calls import IN_PYTHON, LETTERS, library_names

_MODULES = ("scipy.linalg.cython_blas", "scipy.linalg.cython_lapack")
_NAME: Any = ctypes.pythonapi.PyCapsule_GetName
_NAME.restype, _NAME.argtypes = ctypes.c_char_p, [ctypes.py_object]
_POINTER: Any = ctypes.pythonapi.PyCapsule_GetPointer
_POINTER.restype, _POINTER.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def addresses_of(program: LoopProgram) -> Any:
    """Return the addresses of the routines that a program calls, in the order of `library_names`.

    Raises:
        NoLibrary: if SciPy is not installed, or has not one of them.
    """
    found = [_address(name) for name in library_names(program)]
    return (ctypes.c_void_p * len(found))(*found)


def _address(name: str) -> int:
    if name[1:] in IN_PYTHON:
        return _transform(name)
    for module in _MODULES:
        capsules = _capsules(module)
        if name in capsules:
            signature: bytes = _NAME(capsules[name])
            if not re.search(rb"\bint \*", signature):
                raise _lacking(f"SciPy's {name} counts with integers of another width")
            address: int = _POINTER(capsules[name], signature)
            return address
    raise _lacking(f"SciPy has no routine {name}")


_TRANSFORM = ctypes.CFUNCTYPE(
    ctypes.c_int,
    *(ctypes.c_int, ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_ssize_t),
    *(ctypes.c_void_p, ctypes.c_ssize_t),
)
_KEPT: dict[str, Any] = {}  # functions whose addresses C has


def _transform(name: str) -> int:
    """Return the address of a function that calls SciPy's Fourier transform."""
    try:
        scipy: Any = importlib.import_module("scipy.fft")
    except ImportError:
        raise _lacking("SciPy is not installed") from None
    dtype = next(np.dtype(t) for t, letter in LETTERS.items() if letter == name[0])

    def run(inverse: int, n: int, x: int, x_step: int, out: int, out_step: int) -> int:
        given = _vector(x, n, x_step, dtype)
        try:
            found = scipy.ifft(given) if inverse else scipy.fft(given)
        except MemoryError:
            return 1
        _vector(out, n, out_step, dtype)[...] = found
        return 0

    if name not in _KEPT:
        _KEPT[name] = _TRANSFORM(run)
    address = ctypes.cast(_KEPT[name], ctypes.c_void_p).value
    assert address is not None
    return address


def _vector(address: int, count: int, step: int, dtype: DType) -> Any:
    """Return an array of what lies at an address."""
    size = ((count - 1) * step + 1) * dtype.itemsize
    memory: Any = (ctypes.c_char * size).from_address(address)
    return np.ndarray((count,), dtype, memory, 0, (step * dtype.itemsize,))


def _capsules(module: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = importlib.import_module(module).__pyx_capi__
    except ImportError:
        raise _lacking("SciPy is not installed") from None
    return found


def _lacking(why: str) -> NoLibrary:
    return NoLibrary(
        f"a kernel that calls BLAS or LAPACK on C takes them from SciPy, and {why}",
        where=caller_location(),
        remedy="pip install 'polygen[blas]'; or make loops of the call: inline_callable_kernel",
    )


def checked_calls(
    function: Callable[..., None], status: Any, program: LoopProgram
) -> Callable[..., None]:
    """Return a function that raises an error where a call of a library in it failed.

    Parameters:
        function: runs a program.
        status: says what failed in it on this thread: see `library_calls`.
        program: the program.
    """
    status.restype, status.argtypes = None, [ctypes.c_void_p]

    def run(*values: Any) -> None:
        function(*values)
        found = (ctypes.c_int * 3)()
        status(found)
        number, why, info = cast("tuple[int, int, int]", tuple(found))
        if number:
            raise library_error(program.libraries[number - 1], program.name, why, info)

    return run
