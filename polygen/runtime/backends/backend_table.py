"""The two tables of the runtime: targets, and libraries of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from polygen.runtime.arrays.array_library import NUMPY, ON_HOST, ArrayLibrary
from polygen.runtime.backends.backend import Backend
from polygen.runtime.backends.c.c_backend import C
from polygen.runtime.backends.cuda.cuda_backend import CUDA
from polygen.runtime.backends.opencl.opencl_backend import OPENCL

# In the order in which calls that name no target try them.
_ROWS: tuple[Backend, ...] = (C, OPENCL, CUDA)
BACKENDS: Mapping[str, Backend] = {row.target: row for row in _ROWS}

# What has no protocol but one for the host's memory comes last.
_LIBRARIES = (NUMPY, *(library for row in _ROWS for library in row.libraries), ON_HOST)
_NO_ARRAYS = (type(None), int, float, complex, np.generic)


def library_of(value: Any) -> ArrayLibrary | None:
    """Return the library of an array; None if a value is none."""
    if isinstance(value, _NO_ARRAYS):
        return None
    return next((library for library in _LIBRARIES if library.knows(value)), None)


def libraries_of(args: Mapping[str, Any]) -> dict[str, ArrayLibrary]:
    """Return the libraries of the arrays among the arguments of a call."""
    found = {name: library_of(value) for name, value in args.items()}
    return {name: library for name, library in found.items() if library is not None}
