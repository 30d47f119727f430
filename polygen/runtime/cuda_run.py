"""Running a CUDA program: launches, and the loops around them."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from polygen.errors import InternalError, LaunchFailed
from polygen.ir import walk
from polygen.ir.array import ValueArg
from polygen.lower.program import Launch
from polygen.runtime.arguments import Form
from polygen.runtime.cuda_arrays import CudaEvent, DeviceMemory, array_class, stream_of
from polygen.runtime.cuda_driver import Driver, DriverError, driver
from polygen.runtime.grids import Grid, grid_of, sequence
from polygen.runtime.temporaries import bytes_of
from polygen.source import caller_location
from polygen.targets.program import DeviceFunction, Program


class CudaRun:
    """A CUDA program with all sizes: call it with a stream and what changes from call to call.

    What functions are passed is kept here, so one thread at a time may set it and launch.
    """

    def __init__(
        self, module: Any, program: Program, fixed: Mapping[str, int], names: Sequence[str]
    ) -> None:
        """Prepare all launches.

        Parameters:
            module: the program as the driver loaded it.
            program: the program.
            fixed: the sizes, and the values of hidden arguments.
            names: the arguments that a call passes, in order.
        """
        self._driver = driver()
        self._lock = threading.Lock()
        self._fixed = fixed
        self._host = program.loop_program.host
        temporaries = program.loop_program.global_temporaries
        self._stream: int | None = None  # where temporaries were last in use
        self._kept = {t.name: DeviceMemory(bytes_of(t, fixed)) for t in temporaries}
        self._launches = {
            function.name: self._prepare(module, function, names) for function in program.launches
        }
        self._only = None
        if len(self._host) == 1 and isinstance(self._host[0], Launch):
            self._only = self._launches[self._host[0].name]

    def _prepare(self, module: Any, function: DeviceFunction, names: Sequence[str]) -> _Prepared:
        passed: list[tuple[int, Any]] = []
        looped: list[tuple[str, Any]] = []
        values: list[Any] = []
        for arg in function.arguments:
            value = _place_of(arg)
            values.append(value)
            if arg.name in names:
                passed.append((names.index(arg.name), value))
            elif arg.name in self._kept:
                value.value = self._kept[arg.name].address
            elif not isinstance(arg, ValueArg):
                raise InternalError(f"nothing is passed for '{arg.name}' of '{function.name}'")
            elif arg.name in self._fixed:
                value.value = self._fixed[arg.name]
            else:
                looped.append((arg.name, value))
        grid = None
        if all(walk.free_variables(n) <= self._fixed.keys() for n in function.group_counts):
            grid = grid_of(function, self._fixed)
            _check_grid(self._driver, function, grid)
        handle = self._driver.function(module, function.name, function.shared_bytes)
        addresses = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        return _Prepared(
            function,
            handle,
            tuple(passed),
            tuple(looped),
            (values, addresses),
            ctypes.addressof(addresses),
            grid,
        )

    def __call__(self, stream: int, *values: Any) -> CudaEvent:
        """Start everything on a stream.

        Raises:
            LaunchFailed: if the device refuses.
        """
        with self._lock:
            if self._kept and self._stream not in (None, stream):
                self._driver.wait_on(stream, self._stream or 0)
            self._stream = stream
            launch = self._only
            if launch is None or launch.grid is None:
                self._run_all(stream, values)
            else:
                self._start(launch, launch.grid, stream, values)
        return CudaEvent(stream)

    def _start(self, launch: _Prepared, grid: Grid, stream: int, values: Sequence[Any]) -> None:
        if 0 in grid.size:
            return
        for position, value in launch.passed:
            value.value = values[position]
        shared = launch.function.shared_bytes
        try:
            self._driver.launch(launch.handle, *grid.launched, shared, stream, launch.addresses)
        except DriverError as error:
            raise LaunchFailed(
                f"the device refused launch '{launch.function.name}' with {grid.size} work items "
                f"in groups of {grid.group}: {error}",
                where=caller_location(),
                remedy="do all arrays belong to the current device, and is there memory for them?",
            ) from None

    def _run_all(self, stream: int, values: Sequence[Any]) -> None:
        for launch, loops in sequence(self._host, self._fixed):
            prepared = self._launches[launch.name]
            for name, value in prepared.looped:
                value.value = loops[name]
            grid = prepared.grid or grid_of(prepared.function, loops)
            if prepared.grid is None:
                _check_grid(self._driver, prepared.function, grid)
            self._start(prepared, grid, stream, values)


@dataclass(frozen=True)
class _Prepared:
    """A launch whose arguments are set as far as they are known.

    Attributes:
        function: the launch.
        handle: its function in the driver.
        passed: the position in the call, and the place, of what a call passes.
        looped: name and place of the variables of loops on the host.
        kept: the places of all values, and their addresses.
        addresses: where these are.
        grid: its grid, or None if that depends on loops on the host.
    """

    function: DeviceFunction
    handle: int
    passed: tuple[tuple[int, Any], ...]
    looped: tuple[tuple[str, Any], ...]
    kept: tuple[Any, Any]
    addresses: int
    grid: Grid | None


def cuda_names(form: Form) -> dict[str, Any]:
    """Return what the wrapper of a call on a GPU calls by name."""
    names: dict[str, Any] = {
        "pg_device": driver().device,
        "pg_no_stream": lambda: 0,
        "pg_stream_of": stream_of,
        "pg_wait_on": _wait_on,
    }
    for arg in form.arrays:
        found = array_class(form.classes[arg.name])
        assert found is not None
        names[f"pg_stream_{arg.name}"] = found.stream
        names[f"pg_see_{arg.name}"] = found.seen
    return names


def _wait_on(stream: int, event: Any) -> None:
    """Let a stream wait for an event of polygen's; wait for any other here."""
    if not isinstance(event, CudaEvent):
        event.wait() if hasattr(event, "wait") else event.synchronize()
    elif event.stream != stream:
        driver().wait_on(stream, event.stream)


class _Complex(ctypes.Structure):
    """A complex number, which can be given a value as those of ctypes can."""

    @property
    def value(self) -> complex:
        return complex(self.real, self.imag)

    @value.setter
    def value(self, number: complex) -> None:
        self.real, self.imag = number.real, number.imag


class _Complex64(_Complex):
    _fields_ = (("real", ctypes.c_float), ("imag", ctypes.c_float))


class _Complex128(_Complex):
    _fields_ = (("real", ctypes.c_double), ("imag", ctypes.c_double))


class _Half(ctypes.Structure):
    """A number in half precision, which is passed as a float."""

    _fields_ = (("rounded", ctypes.c_float),)

    @property
    def value(self) -> float:
        return float(self.rounded)

    @value.setter
    def value(self, number: float) -> None:
        self.rounded = np.float16(number)


def _place_of(arg: Any) -> Any:
    """Return where the value of an argument is kept: what functions are passed is copied there."""
    if not isinstance(arg, ValueArg) or arg.dtype is None:
        return ctypes.c_uint64()
    if arg.dtype.kind == "c":
        return _Complex64() if arg.dtype.itemsize == 8 else _Complex128()
    if arg.dtype == np.float16:
        return _Half()
    return np.ctypeslib.as_ctypes_type(arg.dtype)()


def _check_grid(cuda: Driver, launch: DeviceFunction, grid: Grid) -> None:
    """Raise LaunchFailed if the device does not take a grid."""
    device = cuda.device()
    most = cuda.attribute("MAX_THREADS_PER_BLOCK", device)
    along = [cuda.attribute(f"MAX_BLOCK_DIM_{axis}", device) for axis in "XYZ"]
    if prod(grid.group) > most or any(n > m for n, m in zip(grid.group, along, strict=False)):
        raise LaunchFailed(
            f"launch '{launch.name}' has groups of {grid.group} work items; the device has at "
            f"most {most} in a group, and {tuple(along)} along its axes",
            where=caller_location(),
            remedy="split the inames tagged l.* by less",
        )
    groups = [n // m for n, m in zip(grid.size, grid.group, strict=True)]
    limits = [cuda.attribute(f"MAX_GRID_DIM_{axis}", device) for axis in "XYZ"]
    if any(n > m for n, m in zip(groups, limits, strict=False)):
        raise LaunchFailed(
            f"launch '{launch.name}' has a grid of {tuple(groups)} groups; the device has at most "
            f"{tuple(limits)} along its axes",
            where=caller_location(),
            remedy="give the longest loop to g.0, or more iterations to each work item",
        )
    shared = cuda.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", device)
    if launch.shared_bytes > shared:
        raise LaunchFailed(
            f"launch '{launch.name}' has {launch.shared_bytes} bytes of local memory; the device "
            f"has at most {shared} for a group",
            where=caller_location(),
            remedy="use smaller tiles",
        )
