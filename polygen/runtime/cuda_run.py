"""Running a CUDA program: launches, and the loops around them."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import prod
from operator import gt
from typing import Any

import numpy as np

from polygen.errors import InternalError, LaunchFailed
from polygen.ir.array import ValueArg
from polygen.runtime.arguments import Form
from polygen.runtime.cuda_arrays import CudaEvent, DeviceMemory, array_class, stream_of
from polygen.runtime.cuda_driver import Driver, DriverError, driver
from polygen.runtime.cuda_graphs import Graphs
from polygen.runtime.grids import Grid, Script, Step
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
        self._name = program.loop_program.name
        self._driver = driver()
        self._lock = threading.Lock()
        self._stream: int | None = None  # where temporaries were last in use
        temporaries = program.loop_program.global_temporaries
        self._sizes = {t.name: bytes_of(t, fixed) for t in temporaries}
        self._memory: dict[str, DeviceMemory] = {}  # allocated when it is needed
        self._places = {arg.name: _place_of(arg) for f in program.launches for arg in f.arguments}
        for name in fixed.keys() & self._places.keys():
            self._places[name].value = fixed[name]
        self._passed = tuple([self._places.get(name, _Unused()) for name in names])
        self._script = Script(program, fixed, _Limits(self._driver).check)
        self._launches = {
            function.name: self._prepare(module, function, {*fixed, *self._sizes, *names})
            for function in program.launches
        }
        self._graphs = Graphs(self._driver, self._script.pieces or (), self._start)
        only = self._script.only if not temporaries else None
        self._only = None if only is None else (self._launches[only.function.name], only.grid)

    def _prepare(self, module: Any, function: DeviceFunction, known: AbstractSet[str]) -> _Prepared:
        for arg in function.arguments:
            if arg.name not in known and not isinstance(arg, ValueArg):
                raise InternalError(f"nothing is passed for '{arg.name}' of '{function.name}'")
        values = [self._places[arg.name] for arg in function.arguments]
        handle = self._driver.function(module, function.name, function.shared_bytes)
        addresses = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        return _Prepared(function, handle, (values, addresses), ctypes.addressof(addresses))

    def __call__(self, stream: int, *values: Any) -> CudaEvent:
        """Start everything on a stream.

        Raises:
            LaunchFailed: if the device refuses.
        """
        with self._lock:
            for place, value in zip(self._passed, values, strict=True):
                place.value = value
            if self._only is not None:
                self._launch(*self._only, stream)
            else:
                self._run_several(stream)
        return CudaEvent(stream, self._name)

    def _run_several(self, stream: int) -> None:
        if self._driver.is_recorded(stream):
            self._run_recorded(stream)
        else:
            self._run_all(stream)

    def _run_all(self, stream: int) -> None:
        for name in self._sizes.keys() - self._memory.keys():
            self._memory[name] = DeviceMemory(self._sizes[name], f"the temporary '{name}'")
        for name, memory in self._memory.items():
            self._places[name].value = memory.address
        if self._memory and self._stream not in (None, stream):
            self._driver.wait_on(stream, self._stream or 0)
        self._stream = stream
        if not self._graphs.run(stream, self._passed):
            for step in self._script.steps():
                self._start(step, stream)

    def _run_recorded(self, stream: int) -> None:
        """Put everything into a graph that the user makes, which gets temporaries of its own."""
        for name, size in self._sizes.items():
            self._places[name].value = self._driver.allocate_on(stream, size)
        for step in self._script.steps():
            self._start(step, stream)
        for name in self._sizes:
            self._driver.free_on(stream, self._places[name].value)

    def _start(self, step: Step, stream: int) -> None:
        for name, value in step.loops:
            self._places[name].value = value
        self._launch(self._launches[step.function.name], step.grid, stream)

    def _launch(self, launch: _Prepared, grid: Grid, stream: int) -> None:
        shared = launch.function.shared_bytes
        try:
            self._driver.launch(launch.handle, *grid.launched, shared, stream, launch.addresses)
        except DriverError as error:
            if error.is_fatal:
                raise
            raise LaunchFailed(
                f"the device refused launch '{launch.function.name}' with {grid.size} work items "
                f"in groups of {grid.group}: {error}",
                where=caller_location(),
                remedy="do all arrays belong to the current device, and is there memory for them?",
            ) from None


@dataclass(frozen=True)
class _Prepared:
    """A function of the program, and what it is passed.

    Attributes:
        function: the function.
        handle: what the driver calls it.
        kept: the places of all values, and their addresses.
        addresses: where these are.
    """

    function: DeviceFunction
    handle: int
    kept: tuple[Any, Any]
    addresses: int


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


class _Unused:
    """The place of what no function is passed."""

    value: Any = None

    def __bytes__(self) -> bytes:
        return b""


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


class _Limits:
    """What the current device takes."""

    def __init__(self, cuda: Driver) -> None:
        def ask(name: str) -> int:
            return cuda.attribute(name, device)

        device = cuda.device()
        self._most = ask("MAX_THREADS_PER_BLOCK")
        self._along = tuple([ask(f"MAX_BLOCK_DIM_{axis}") for axis in "XYZ"])
        self._groups = tuple([ask(f"MAX_GRID_DIM_{axis}") for axis in "XYZ"])
        self._shared = ask("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")

    def check(self, launch: DeviceFunction, grid: Grid) -> None:
        """Raise LaunchFailed if the device does not take a grid."""
        groups, items = grid.launched
        if prod(items) > self._most or any(map(gt, items, self._along)):
            raise LaunchFailed(
                f"launch '{launch.name}' has groups of {grid.group} work items; the device has at "
                f"most {self._most} in a group, and {self._along} along its axes",
                where=caller_location(),
                remedy="split the inames tagged l.* by less",
            )
        if any(map(gt, groups, self._groups)):
            counts = tuple([n // m for n, m in zip(grid.size, grid.group, strict=True)])
            raise LaunchFailed(
                f"launch '{launch.name}' has a grid of {counts} groups; the device has at most "
                f"{self._groups} along its axes",
                where=caller_location(),
                remedy="give the longest loop to g.0, or more iterations to each work item",
            )
        if launch.shared_bytes > self._shared:
            raise LaunchFailed(
                f"launch '{launch.name}' has {launch.shared_bytes} bytes of local memory; the "
                f"device has at most {self._shared} for a group",
                where=caller_location(),
                remedy="use smaller tiles",
            )
