"""Running an OpenCL program: launches, and the loops around them."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from polygen.errors import InternalError, LaunchFailed, OutOfMemory
from polygen.ir.array import TemporaryVariable, ValueArg
from polygen.runtime.arrays.global_temporaries import bytes_of, out_of_memory
from polygen.runtime.backends.opencl.opencl_driver import Queue, pyopencl
from polygen.runtime.backends.opencl.opencl_lacks import check_sub_groups
from polygen.runtime.backends.opencl.opencl_times import Clocks, TimedQueue, timed_queue
from polygen.runtime.calls.call_recording import Called, RecordedCall
from polygen.runtime.calls.device_errors import is_fault, is_no_memory, no_memory
from polygen.runtime.calls.launch_grids import Grid, Script, Step
from polygen.source import caller_location
from polygen.targets.programs.program import DeviceFunction


class Run:
    """An OpenCL program with all sizes and a queue: call it with what changes from call to call.

    Kernels of OpenCL hold their arguments, so one thread at a time may set them and enqueue: this
    object has kernels, and a lock, of its own.
    """

    def __init__(
        self,
        queue: Queue,
        built: Any,
        called: Called,
        fixed: Mapping[str, int],
        names: Sequence[str],
    ) -> None:
        """Prepare all launches.

        Parameters:
            queue: where to run.
            built: the program as pyopencl built it.
            called: the program, and what else profiles want to know.
            fixed: the sizes, and the values of hidden arguments.
            names: the arguments that a call passes, in order.
        """
        cl = pyopencl()
        self._called, program = called, called.program
        self._enqueue = cl.enqueue_nd_range_kernel
        self._enqueue_marker = cl.enqueue_marker
        self._copy, self._fill = cl.enqueue_copy, cl.enqueue_fill_buffer
        self._error = cl.Error
        self._queue = queue
        self._lock = threading.Lock()
        self._fixed = fixed
        # Launches that may run out of order have to wait for each other.
        self._chained = bool(
            queue.properties & cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
        )
        self._last: list[Any] = []
        self._timed: TimedQueue | None = None  # made when a profile wants to know
        self._temporaries = {t.name: t for t in program.loop_program.global_temporaries}
        self._buffers: dict[str, Any] = {}  # allocated when they are needed
        self._launches = {
            function.name: self._prepare(built, function, names) for function in program.launches
        }
        for function in program.launches:
            kernel = self._launches[function.name].kernel
            check_sub_groups(queue.device, program, kernel, function.local_size)
        self._script = Script(program, fixed, partial(_check_group, queue.device))
        # The usual case, which needs no walk through loops and launches.
        self._only = self._script.only if not self._temporaries else None

    def _prepare(self, built: Any, function: DeviceFunction, names: Sequence[str]) -> _Prepared:
        kernel = pyopencl().Kernel(built, function.name)
        passed: list[tuple[int, int]] = []
        looped: list[tuple[int, Any]] = []
        temporaries: list[tuple[int, str]] = []
        for index, arg in enumerate(function.arguments):
            if arg.name in names:
                passed.append((index, names.index(arg.name)))
            elif arg.name in self._temporaries:
                temporaries.append((index, arg.name))
            elif not isinstance(arg, ValueArg) or arg.dtype is None:
                raise InternalError(f"nothing is passed for '{arg.name}' of '{function.name}'")
            elif arg.name in self._fixed:
                kernel.set_arg(index, arg.dtype.type(self._fixed[arg.name]))
            else:
                looped.append((index, arg.dtype.type))
        return _Prepared(kernel, tuple(passed), tuple(looped), tuple(temporaries))

    def __call__(self, wait: list[Any], *values: Any) -> Any:
        """Enqueue everything, after some events, and return the event of the last launch.

        Raises:
            LaunchFailed: if the device refuses.
        """
        with self._lock:
            step = self._only
            if step is None:
                return self._run_all(self._queue, wait, values)
            launch = self._launches[step.function.name]
            return self._start(self._queue, step, launch, wait, values)

    def recorded(self, wait: list[Any], *values: Any) -> Any:
        """Enqueue everything as `__call__` does, for profiles to know."""
        with self._lock:
            if self._timed is None:
                self._timed = timed_queue(self._queue)
            timed, note = self._timed, RecordedCall(self._called)
            before = timed.enter(wait)
            event = timed.leave(self._run_all(timed.queue, before, values, note))
            self._last = [event]
        note.finish()
        return event

    def _start(
        self,
        queue: Queue,
        step: Step,
        launch: _Prepared,
        wait: list[Any],
        values: Sequence[Any] | None,
    ) -> Any:
        """Enqueue a launch, with what the call passes; without, if that is set already."""
        grid, kernel = step.grid, launch.kernel
        try:
            if values is not None:
                for index, position in launch.passed:
                    kernel.set_arg(index, values[position])
            return self._enqueue(queue, kernel, grid.size, grid.group, None, wait)
        except self._error as error:
            if is_fault(error):
                raise
            raise _refused(step.function, kernel, self._queue.device, grid, error) from None

    def _run_all(
        self,
        queue: Queue,
        wait: list[Any],
        values: Sequence[Any],
        note: RecordedCall | None = None,
    ) -> Any:
        if self._chained:
            wait = wait + self._last
        event = None
        if self._temporaries and not self._buffers:
            self._allocate()
        buffers = self._buffers
        for launch in self._launches.values():
            for index, name in launch.temporaries:
                launch.kernel.set_arg(index, buffers[name])
        wait = self._cleared(queue, wait)

        def is_set(name: str) -> bool:
            return self._is_set(queue, name, wait)

        new, clocks = set(self._launches), Clocks()
        for step in self._script.steps(is_set):
            name = step.function.name
            launch = self._launches[name]
            for (index, to_type), (_, value) in zip(launch.looped, step.loops, strict=True):
                launch.kernel.set_arg(index, to_type(value))
            event = self._start(queue, step, launch, wait, values if name in new else None)
            if note is not None:
                note.add(name, clocks.of(event))
            new.discard(name)
            wait = [event] if self._chained else []
        if event is None:
            event = self._enqueue_marker(queue, wait_for=wait)
        self._last = [event]
        return event

    def _cleared(self, queue: Queue, wait: list[Any]) -> list[Any]:
        """Set the flags of loops to 0, after some events; return what to wait for then."""
        for name in self._script.flags:
            buffer = self._buffers[name]
            done = self._fill(queue, buffer, np.int8(0), 0, buffer.size, wait)
            wait = [done] if self._chained else []
        return wait

    def _is_set(self, queue: Queue, name: str, wait: list[Any]) -> bool:
        """Tell whether a flag is set, once some events are over, and what is on a queue."""
        dtype = self._temporaries[name].dtype
        assert dtype is not None
        found = np.empty(1, dtype)
        self._copy(queue, found, self._buffers[name], wait_for=wait, is_blocking=True)
        return bool(found[0])

    def _allocate(self) -> None:
        """Allocate temporaries, which are kept for the next call; few programs keep theirs.

        What is enqueued holds on to those that it uses.
        """
        with _KEEPING:
            others = [run for run in _WITH_BUFFERS if run is not self]
            for run in others[: max(0, len(others) + 1 - _MOST_WITH_BUFFERS)]:
                run._release()
            _WITH_BUFFERS[self] = None
            try:
                self._buffers = self._new_buffers()
            except OutOfMemory:
                for run in others:
                    run._release()
                self._buffers = self._new_buffers()

    def _new_buffers(self) -> dict[str, Any]:
        return {n: new_buffer(self._queue, t, self._fixed) for n, t in self._temporaries.items()}

    def _release(self) -> None:
        self._buffers = {}
        _WITH_BUFFERS.pop(self, None)


# Programs that keep buffers, those first that have had them for longest.
_WITH_BUFFERS: WeakKeyDictionary[Run, None] = WeakKeyDictionary()
_MOST_WITH_BUFFERS = 16
_KEEPING = threading.Lock()


@dataclass(frozen=True)
class _Prepared:
    """A launch whose arguments are set as far as they are known.

    Attributes:
        kernel: its kernel.
        passed: the position in the kernel, and in the call, of what a call passes.
        looped: position and type of the variables of loops on the host, as in `Step.loops`.
        temporaries: position and name of the global temporaries.
    """

    kernel: Any
    passed: tuple[tuple[int, int], ...]
    looped: tuple[tuple[int, Any], ...]
    temporaries: tuple[tuple[int, str], ...]


def new_buffer(queue: Queue, temporary: TemporaryVariable, sizes: Mapping[str, int]) -> Any:
    """Return a buffer on a device for a global temporary.

    Raises:
        OutOfMemory: if the device has not as much memory.
    """
    cl = pyopencl()
    size = bytes_of(temporary, sizes)
    try:
        return cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, size)
    except cl.Error as error:
        raise out_of_memory(temporary, size, f"the device refuses ({error})") from None


def check_local_memory(device: Any, launches: Sequence[DeviceFunction]) -> None:
    """Raise LaunchFailed if launches use more local memory than a device has."""
    for launch in launches:
        if launch.local_bytes > device.local_mem_size:
            raise LaunchFailed(
                f"launch '{launch.name}' has {launch.local_bytes} bytes of local memory; device "
                f"'{device.name}' has at most {device.local_mem_size} for a group",
                where=caller_location(),
                remedy="use smaller tiles",
            )


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


def _refused(
    launch: DeviceFunction, kernel: Any, device: Any, grid: Grid, error: Any
) -> LaunchFailed | OutOfMemory:
    if is_no_memory(error):
        return no_memory(f"launch '{launch.name}' begins", error)
    asked = pyopencl().kernel_work_group_info
    most = kernel.get_work_group_info(asked.WORK_GROUP_SIZE, device)
    local = kernel.get_work_group_info(asked.LOCAL_MEM_SIZE, device)
    return LaunchFailed(
        f"the device refused launch '{launch.name}' with {grid.size} work items in groups of "
        f"{grid.group}: {error}; groups of this launch have at most {most} work items, and take "
        f"{local} of {device.local_mem_size} bytes of local memory",
        where=caller_location(),
        remedy="do all arrays belong to the queue's context, and are the groups too large?",
    )
