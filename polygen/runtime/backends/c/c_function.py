"""Calling a compiled C function: which ctypes stand for which types."""

from __future__ import annotations

import ctypes
from typing import Any, TypeAlias

import numpy as np

from polygen.errors import WrongArgumentType
from polygen.ir.array import Argument, GlobalArg
from polygen.ir.dtype import DType
from polygen.runtime.backends.c.c_compiler import load_library
from polygen.runtime.backends.c.call_slots import with_slots
from polygen.runtime.backends.c.numerical_libraries import addresses_of, checked_calls
from polygen.targets.programs.program import Program

CFunction: TypeAlias = Any  # ctypes creates the class of a library's functions at run time


class _Half:
    """A number that is rounded to half precision, and passed as a ``float``."""

    @classmethod
    def from_param(cls, value: Any) -> Any:
        """Return what ctypes passes for a number."""
        return ctypes.c_float(np.float16(value).item())


def _complex(part: Any) -> Any:
    """Return a class for complex numbers, which C passes as it does structures of both parts."""

    class Complex(ctypes.Structure):
        _fields_ = [("real", part), ("imag", part)]

        @classmethod
        def from_param(cls, value: Any) -> Any:
            return cls(value.real, value.imag)

    return Complex


_SCALARS: dict[str, Any] = {
    "bool": ctypes.c_bool,
    "int8": ctypes.c_int8,
    "int16": ctypes.c_int16,
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "uint8": ctypes.c_uint8,
    "uint16": ctypes.c_uint16,
    "uint32": ctypes.c_uint32,
    "uint64": ctypes.c_uint64,
    "float16": _Half,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    "complex64": _complex(ctypes.c_float),
    "complex128": _complex(ctypes.c_double),
}


def load_function(program: Program) -> CFunction:
    """Compile a C program and return its function: see `load` and `function_of`."""
    return function_of(load(program), program)


def load(program: Program) -> ctypes.CDLL:
    """Compile a C program and return it, loaded, with the numerical libraries that it calls.

    Raises:
        NoCompiler: if there is no compiler.
        CompilationFailed: if it does not accept the source, or the kernel's build options.
        NoLibrary: if it calls numerical libraries, and SciPy, which brings them, is not installed.
    """
    name, source, options = program.loop_program.name, with_slots(program), program.compiler_options
    if not program.loop_program.libraries:
        return load_library(source, options, name, [name])
    routines = addresses_of(program.loop_program)
    names = [name, f"{name}_bind", _status_of(name)]
    library = load_library(source, ("-DPG_BIND", *options), name, names)
    library[f"{name}_bind"](routines)
    return library


def _status_of(name: str) -> str:
    return f"{name}_library_status"


def function_of(library: ctypes.CDLL, program: Program) -> CFunction:
    """Return the function of a C program, which takes addresses and numbers.

    Those of global temporaries come last: see
    `polygen.runtime.arrays.global_temporaries.with_memory`.  Where it calls numerical libraries,
    it raises what these say.

    Raises:
        WrongArgumentType: if a scalar argument is of a type that Python cannot pass.
    """
    # Subscribing (and not an attribute) makes a function object of our own.
    function: CFunction = library[program.loop_program.name]
    function.argtypes = [_ctype(argument) for argument in program.arguments]
    function.restype = None
    if not program.loop_program.libraries:
        return function
    status = library[_status_of(program.loop_program.name)]
    return checked_calls(function, status, program.loop_program)


def _ctype(argument: Argument) -> Any:
    if isinstance(argument, GlobalArg):
        return ctypes.c_void_p
    return _scalar_type(argument.name, argument.dtype)


def _scalar_type(name: str, dtype: DType | None) -> Any:
    found = None if dtype is None else _SCALARS.get(dtype.name)
    if found is None:
        raise WrongArgumentType(
            f"the scalar argument '{name}' is of type {dtype}, which cannot be passed to C",
            remedy="pass it as an array of one element, or as a number of another type",
        )
    return found
