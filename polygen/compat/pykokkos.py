"""PyKokkos' names: ``import polygen.compat.pykokkos as pk`` in the place of ``import pykokkos``.

All names of `polygen.workunits` are here, and these that differ or that only PyKokkos has.  What
scripts have to change, and where meaning differs, docs/porting-from-pykokkos.md says.

Environment, read when this module is imported:
    DEBUG: if set, and not to 0, work units run as plain Python unless a policy names a space.
    PK_FUSION: if set, and not to 0, calls wait and are run together, as under ``pk.lazy()``.
    PK_FUSE_ARGS, PK_LOOP_FUSE, PK_RESTRICT: accepted; polygen finds what they ask for by itself.
"""

from __future__ import annotations

import builtins
import importlib
import os
from typing import Any

import numpy as np

import polygen.workunits as _units
from polygen.compat.bessel import j0, j1
from polygen.errors import InvalidArgument, NoLibrary, UnsupportedSpace
from polygen.ir.traced_calls import TRACING
from polygen.source import caller_location
from polygen.workunits import *  # noqa: F403
from polygen.workunits.layouts import Layout
from polygen.workunits.spaces import ExecutionSpace, MemorySpace, set_default_space, supported

__all__ = [  # noqa: PLE0604  # pyright: ignore[reportUnsupportedDunderAll]
    *_units.__all__,
    "DataType",
    "bool",
    "disable_uvm",
    "enable_uvm",
    "finalize",
    "float",
    "get_default_layout",
    "get_default_memory_space",
    "get_device_id",
    "get_num_gpus",
    "in1d",
    "initialize",
    "is_host_execution_space",
    "is_uvm_enabled",
    "j0",
    "j1",
    "linalg",
    "set_device_id",
]

# Of Kokkos: PyKokkos' float has 32 bits, and Python's has 64, also in annotations.
float = np.float32  # noqa: A001
bool = np.bool_  # noqa: A001


class DataType:
    """Types of elements, by PyKokkos' names: ``pk.DataType.double``.

    >>> import polygen.compat.pykokkos as pk
    >>> pk.View([2], pk.DataType.float).dtype
    dtype('float32')
    """

    int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
    uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
    float = np.float32
    double = np.float64
    bool = np.bool_
    complex64, complex128 = np.complex64, np.complex128
    real = _units.real


class _State:
    """The settings of the functions below."""

    device = 0
    has_managed_memory = False


_HOST = (ExecutionSpace.OpenMP, ExecutionSpace.Threads, ExecutionSpace.Serial, ExecutionSpace.Debug)
_NOT_HERE = {
    "HIPHostPinnedSpace": "polygen has no HIP: leave the space out, arrays are used where they are",
    "HIPManagedSpace": "polygen has no HIP: leave the space out, arrays are used where they are",
}


def initialize() -> None:
    """Do nothing: there is nothing to be set up."""


def finalize() -> None:
    """Run the calls that wait."""
    _units.fence()


def in1d(values: Any, wanted: Any) -> Any:
    """Return for each number, one after the other, whether it is among others.

    Parameters:
        values: a view.
        wanted: a view with what is looked for.
    """
    return _units.from_numpy(np.isin(np.ravel(values), np.ravel(wanted)))


class linalg:  # noqa: N801  (PyKokkos' module)
    """Products of matrices, by PyKokkos' names."""

    @staticmethod
    def dgemm(
        alpha: builtins.float,
        view_a: Any,
        view_b: Any,
        beta: builtins.float = 0.0,
        view_c: Any = None,
    ) -> Any:
        """Return ``alpha`` times a product of matrices, plus ``beta`` times a third one.

        Parameters:
            alpha: a factor.
            view_a, view_b: the matrices of the product.
            beta: a factor.
            view_c: the third matrix; None for none.

        Raises:
            InvalidArgument: if ``beta`` is given, and no third matrix.

        >>> import polygen.compat.pykokkos as pk
        >>> print(pk.linalg.dgemm(2.0, pk.array([[1.0, 2.0]]), pk.array([[3.0], [4.0]])))
        [[22.]]
        """
        if beta != 0.0 and view_c is None:
            raise InvalidArgument(
                f"dgemm is given beta = {beta}, and no matrix that it is a factor of",
                where=caller_location(),
                remedy="pass view_c, or leave beta out",
            )
        product = alpha * (_units.asarray(view_a) @ _units.asarray(view_b))
        return product if view_c is None else product + beta * _units.asarray(view_c)


def set_device_id(device: int) -> None:
    """Let work units in the space `Cuda` run on a device, and arrays be made there.

    Parameters:
        device: its number, from 0 on.

    Raises:
        InvalidArgument: for a number that no device has.
        NoLibrary: for another number than 0 if CuPy, which arrays of a device need, is not there.

    >>> import polygen.compat.pykokkos as pk
    >>> pk.set_device_id(0)
    >>> pk.get_device_id()
    0
    """
    count = get_num_gpus()
    if not 0 <= device < max(count, 1):
        raise InvalidArgument(
            f"set_device_id({device}) is asked for, and there are {count} devices that CuPy knows",
            where=caller_location(),
            remedy="pass a number from 0 on; other devices need CuPy",
        )
    if count:
        _cupy().cuda.Device(device).use()
    _State.device = device


def get_device_id() -> int:
    """Return the number of the device that `set_device_id` chose."""
    return _State.device


def get_num_gpus() -> int:
    """Return how many devices CuPy knows; 0 without CuPy."""
    try:
        return int(_cupy().cuda.runtime.getDeviceCount())
    except NoLibrary:
        return 0
    except RuntimeError:  # a CuPy without a driver
        return 0


def _cupy() -> Any:
    try:
        return importlib.import_module("cupy")
    except ImportError:
        raise NoLibrary(
            "CuPy, which arrays of a device are of, is not installed",
            where=caller_location(),
            remedy="pip install cupy-cuda12x",
        ) from None


def enable_uvm() -> None:
    """Let arrays that CuPy makes from now on be in memory that processors see, too."""
    _State.has_managed_memory = True
    if get_num_gpus():
        cuda = _cupy().cuda
        cuda.set_allocator(cuda.MemoryPool(cuda.malloc_managed).malloc)


def disable_uvm() -> None:
    """Let arrays that CuPy makes from now on be in the memory of the device."""
    _State.has_managed_memory = False
    if get_num_gpus():
        cuda = _cupy().cuda
        cuda.set_allocator(cuda.MemoryPool().malloc)


def is_uvm_enabled() -> builtins.bool:
    """Tell whether `enable_uvm` was called last."""
    return _State.has_managed_memory


def is_host_execution_space(space: ExecutionSpace) -> builtins.bool:
    """Tell whether a space runs on processors.

    Parameters:
        space: an execution space.

    >>> import polygen.compat.pykokkos as pk
    >>> pk.is_host_execution_space(pk.OpenMP), pk.is_host_execution_space(pk.Cuda)
    (True, False)
    """
    return supported(space) in _HOST


def get_default_memory_space(space: ExecutionSpace) -> MemorySpace:
    """Return the memory in which a space's arrays are.

    Parameters:
        space: an execution space.
    """
    if is_host_execution_space(space):
        return MemorySpace.HostSpace
    return MemorySpace.CudaUVMSpace if is_uvm_enabled() else MemorySpace.CudaSpace


def get_default_layout(space: MemorySpace) -> Layout:
    """Return the layout that views have in a memory space.

    Parameters:
        space: a memory space.
    """
    on_host = space in (MemorySpace.HostSpace, MemorySpace.MemorySpaceDefault)
    return Layout.LayoutRight if on_host else Layout.LayoutLeft


def _is_set(name: str) -> builtins.bool:
    return os.environ.get(name, "").lower() not in ("", "0", "false", "off")


def _heed_environment() -> None:
    """Set the default space and whether calls wait, as the environment says."""
    if _is_set("DEBUG"):
        set_default_space(ExecutionSpace.Debug)
    if _is_set("PK_FUSION"):
        TRACING.set(True)


_heed_environment()


def __getattr__(name: str) -> Any:
    """Return what `polygen.workunits` has, and NumPy by its names; refuse HIP's by name."""
    if name in _NOT_HERE:
        raise UnsupportedSpace(
            f"'{name}' is asked for: {_NOT_HERE[name]}",
            where=caller_location(),
            remedy="set_default_space(OpenCL) runs on such devices, where they have OpenCL",
        )
    try:
        return getattr(_units, name)
    except AttributeError:
        message = f"polygen.compat.pykokkos has no '{name}': see docs/porting-from-pykokkos.md"
        raise AttributeError(message) from None


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_units)})
