"""Running an OpenCL program: launches, and the loops around them."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from polygen.errors import InternalError, LaunchFailed
from polygen.ir import walk
from polygen.ir.array import ValueArg
from polygen.lower.program import Launch
from polygen.runtime.grids import Grid, grid_of, sequence
from polygen.runtime.opencl import Queue, pyopencl
from polygen.runtime.temporaries import is_sized, new_buffer
from polygen.source import caller_location
from polygen.targets.program import DeviceFunction, Program


class Run:
    """An OpenCL program with all sizes and a queue: call it with what changes from call to call.

    Kernels of OpenCL hold their arguments, so one thread at a time may set them and enqueue: this
    object has kernels, and a lock, of its own.
    """

    def __init__(
        self,
        queue: Queue,
        built: Any,
        program: Program,
        fixed: Mapping[str, int],
        names: Sequence[str],
    ) -> None:
        """Prepare all launches.

        Parameters:
            queue: where to run.
            built: the program as pyopencl built it.
            program: the program.
            fixed: the sizes, and the values of hidden arguments.
            names: the arguments that a call passes, in order.
        """
        cl = pyopencl()
        self._enqueue = cl.enqueue_nd_range_kernel
        self._enqueue_marker = cl.enqueue_marker
        self._error = cl.Error
        self._queue = queue
        self._lock = threading.Lock()
        self._fixed = fixed
        self._host = program.loop_program.host
        # Launches that may run out of order have to wait for each other.
        self._chained = bool(
            queue.properties & cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
        )
        self._last: list[Any] = []
        self._temporaries = {
            t.name: new_buffer(queue, t, fixed)
            for t in program.loop_program.global_temporaries
            if not is_sized(t)
        }
        # They may be large: they are there for a call alone, and not for as long as this plan is.
        self._sized = {t.name: t for t in program.loop_program.global_temporaries if is_sized(t)}
        self._launches = {
            function.name: self._prepare(built, function, names) for function in program.launches
        }
        # The usual case, which needs no walk through loops and launches.
        self._only = None
        temporaries = program.loop_program.global_temporaries
        if len(self._host) == 1 and isinstance(self._host[0], Launch) and not temporaries:
            self._only = self._launches[self._host[0].name]

    def _prepare(self, built: Any, function: DeviceFunction, names: Sequence[str]) -> _Prepared:
        kernel = pyopencl().Kernel(built, function.name)
        passed: list[tuple[int, int]] = []
        looped: list[tuple[int, str, Any]] = []
        sized: list[tuple[int, str]] = []
        for index, arg in enumerate(function.arguments):
            if arg.name in names:
                passed.append((index, names.index(arg.name)))
            elif arg.name in self._temporaries:
                kernel.set_arg(index, self._temporaries[arg.name])
            elif arg.name in self._sized:
                sized.append((index, arg.name))
            elif not isinstance(arg, ValueArg) or arg.dtype is None:
                raise InternalError(f"nothing is passed for '{arg.name}' of '{function.name}'")
            elif arg.name in self._fixed:
                kernel.set_arg(index, arg.dtype.type(self._fixed[arg.name]))
            else:
                looped.append((index, arg.name, arg.dtype.type))
        grid = None
        if all(walk.free_variables(n) <= self._fixed.keys() for n in function.group_counts):
            grid = grid_of(function, self._fixed)
            _check_group(self._queue.device, function, grid)
        return _Prepared(function, kernel, tuple(passed), tuple(looped), tuple(sized), grid)

    def __call__(self, wait: list[Any], *values: Any) -> Any:
        """Enqueue everything, after some events, and return the event of the last launch.

        Raises:
            LaunchFailed: if the device refuses.
        """
        with self._lock:
            launch = self._only
            if launch is None or launch.grid is None:
                return self._run_all(wait, values)
            return self._start(launch, launch.grid, wait, values)

    def _start(self, launch: _Prepared, grid: Grid, wait: list[Any], values: Sequence[Any]) -> Any:
        kernel = launch.kernel
        try:
            if 0 in grid.size:
                return self._enqueue_marker(self._queue, wait_for=wait)
            for index, position in launch.passed:
                kernel.set_arg(index, values[position])
            return self._enqueue(self._queue, kernel, grid.size, grid.group, None, wait)
        except self._error as error:
            raise _refused(launch.function, grid, str(error)) from None

    def _run_all(self, wait: list[Any], values: Sequence[Any]) -> Any:
        if self._chained:
            wait = wait + self._last
        event = None
        buffers = {n: new_buffer(self._queue, t, self._fixed) for n, t in self._sized.items()}
        for launch, loops in sequence(self._host, self._fixed):
            prepared = self._launches[launch.name]
            for index, name, to_type in prepared.looped:
                prepared.kernel.set_arg(index, to_type(loops[name]))
            for index, name in prepared.sized:
                prepared.kernel.set_arg(index, buffers[name])
            grid = prepared.grid or grid_of(prepared.function, loops)
            if prepared.grid is None:
                _check_group(self._queue.device, prepared.function, grid)
            event = self._start(prepared, grid, wait, values)
            wait = [event] if self._chained else []
        if event is None:
            event = self._enqueue_marker(self._queue, wait_for=wait)
        self._last = [event]
        return event


@dataclass(frozen=True)
class _Prepared:
    """A launch whose arguments are set as far as they are known.

    Attributes:
        function: the launch.
        kernel: its kernel.
        passed: the position in the kernel, and in the call, of what a call passes.
        looped: position, name and type of the variables of loops on the host.
        sized: position and name of the temporaries that are allocated for each call.
        grid: its grid, or None if that depends on loops on the host.
    """

    function: DeviceFunction
    kernel: Any
    passed: tuple[tuple[int, int], ...]
    looped: tuple[tuple[int, str, Any], ...]
    sized: tuple[tuple[int, str], ...]
    grid: Grid | None


def _check_group(device: Any, launch: DeviceFunction, grid: Grid) -> None:
    most = device.max_work_item_sizes
    too_long = any(n > m for n, m in zip(grid.group, most, strict=False))
    if too_long or prod(grid.group) > device.max_work_group_size:
        raise LaunchFailed(
            f"launch '{launch.name}' has groups of {grid.group} work items; device '{device.name}' "
            f"has at most {device.max_work_group_size} in a group, and {tuple(most)} along its "
            "axes",
            where=caller_location(),
            remedy="split the inames tagged l.* by less",
        )


def _refused(launch: DeviceFunction, grid: Grid, message: str) -> LaunchFailed:
    return LaunchFailed(
        f"the device refused launch '{launch.name}' with {grid.size} work items in groups of "
        f"{grid.group}: {message}",
        where=caller_location(),
        remedy="do all arrays belong to the queue's context, and is there memory for them?",
    )
