"""Running a CUDA program: launches, and the loops around them."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from math import prod
from operator import gt
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

from polygen.errors import InternalError, LaunchFailed, LibraryInGraph, OutOfMemory
from polygen.ir.array import ValueArg
from polygen.runtime.arrays.global_temporaries import bytes_of
from polygen.runtime.backends.cuda import cuda_loops
from polygen.runtime.backends.cuda.cuda_driver import Driver, driver
from polygen.runtime.backends.cuda.cuda_graph_memory import GraphMemory
from polygen.runtime.backends.cuda.cuda_graphs import Graphs
from polygen.runtime.backends.cuda.cuda_streams import CudaEvent, Mark
from polygen.runtime.backends.cuda.cuda_times import Stopwatch
from polygen.runtime.backends.cuda.cuda_values import Packed, new_place
from polygen.runtime.backends.cuda.device_array import DeviceMemory
from polygen.runtime.backends.cuda.library_launches import LibraryLaunches
from polygen.runtime.calls.call_recording import Called, RecordedCall
from polygen.runtime.calls.device_errors import DriverError
from polygen.runtime.calls.launch_grids import Grid, Part, Script, Step, WhileLoop
from polygen.source import caller_location
from polygen.targets.programs.program import DeviceFunction

_FIRST_WITH_EARLY = 9  # compute capability
_TRIPS = "trips of loops"  # beside temporaries, whose names are identifiers
_ONE = (1, 1, 1)


class CudaRun:
    """A CUDA program with all sizes, to be started with what changes from call to call.

    What functions are passed is kept here, so one thread at a time may set it and launch.
    """

    def __init__(
        self,
        module: Any,
        called: Called,
        fixed: Mapping[str, int],
        names: Sequence[str],
    ) -> None:
        """Prepare all launches.

        Parameters:
            module: the program as the driver loaded it.
            called: the program, and what else profiles want to know.
            fixed: the sizes, and the values of hidden arguments.
            names: the arguments that a call passes, in order.
        """
        self._called, program = called, called.program
        self._name = program.loop_program.name
        self._driver = driver()
        self._lock = threading.Lock()
        self._last: Mark | None = None  # where temporaries were last in use
        temporaries = program.loop_program.global_temporaries
        self._sizes = {t.name: bytes_of(t, fixed) for t in temporaries}
        self._libraries = LibraryLaunches(program.loop_program, self._driver)
        self._script = Script(program, fixed, _Limits(self._driver).check)
        self._asker: Any = None  # what ends loops in graphs
        self._parts = self._parts_of_graphs()
        if self._script.loops and self._parts:
            self._sizes[_TRIPS] = 8 * self._script.loops
        self._memory: dict[str, DeviceMemory] = {}  # allocated when it is needed
        self._of_graphs = GraphMemory(self._driver, self._sizes)
        arguments = {arg.name: arg for f in program.launches for arg in f.arguments}
        self._passed = Packed([arguments.get(name) for name in names])
        self._places = {n: new_place(a) for n, a in arguments.items() if n not in names}
        for name in fixed.keys() & self._places.keys():
            self._places[name].value = fixed[name]
        self._places.setdefault(_TRIPS, ctypes.c_void_p())
        self._addresses = {name: ctypes.addressof(place) for name, place in self._places.items()}
        self._addresses |= dict(zip(names, self._passed.addresses, strict=True))
        self._launches = {
            function.name: self._prepare(module, function, {*fixed, *self._sizes, *names})
            for function in program.launches
            if not function.calls_library
        }
        self._graphs = Graphs(self._driver, self._parts or (), self._start_part)
        # Older devices begin no launch before those ahead are over.
        major = self._driver.attribute("COMPUTE_CAPABILITY_MAJOR", self._driver.device())
        self._may_begin_early = major >= _FIRST_WITH_EARLY
        self._only = self._script.only if not (temporaries or self._libraries) else None

    @property
    def call(self) -> Callable[..., CudaEvent]:
        """The function that starts everything: of a stream, its owner and what changes.

        It raises LaunchFailed if the device refuses.
        """
        return self._all_at_once if self._only is None else self._single(self._only)

    def _single(self, step: Step) -> Callable[..., CudaEvent]:
        """Return `call` for the usual case, which does nothing but what it has to."""
        set_values, launch = self._passed.set, self._starter(step)
        event = CudaEvent(0, self, self._name)

        def call(stream: int, owner: Any, *values: Any) -> CudaEvent:
            nonlocal event
            with self._lock:
                set_values(*values)
                try:
                    launch(stream)
                except DriverError as error:
                    if error.is_fatal:
                        raise
                    raise _refused(step, error) from None
            if event.owner is not owner:
                event = CudaEvent(stream, owner, self._name)
            return event

        return call

    def _prepare(self, module: Any, function: DeviceFunction, known: AbstractSet[str]) -> _Prepared:
        for arg in function.arguments:
            if arg.name not in known and not isinstance(arg, ValueArg):
                raise InternalError(f"nothing is passed for '{arg.name}' of '{function.name}'")
        handle = self._driver.function(module, function.name, function.shared_bytes)
        addresses = [self._addresses[arg.name] for arg in function.arguments]
        kept = (ctypes.c_void_p * len(addresses))(*addresses)
        return _Prepared(function, handle, kept, ctypes.addressof(kept))

    def _all_at_once(self, stream: int, owner: Any, *values: Any) -> CudaEvent:
        with self._lock:
            self._passed.set(*values)
            if self._driver.is_recorded(stream):
                self._run_recorded(stream)
            else:
                self._run_all(stream)
        return CudaEvent(stream, owner, self._name)

    def recorded(self, stream: int, owner: Any, *values: Any) -> CudaEvent:
        """Start everything as `call` does, one launch after the other, for profiles to know."""
        with self._lock:
            self._passed.set(*values)
            note = RecordedCall(self._called)
            if self._driver.is_recorded(stream):
                self._run_recorded(stream, note)
            else:
                self._run_all(stream, note)
        note.finish()
        return CudaEvent(stream, owner, self._name)

    def _run_all(self, stream: int, note: RecordedCall | None = None) -> None:
        if self._sizes and not self._memory:
            self._allocate()
        for name, memory in self._memory.items():
            self._places[name].value = memory.address
        if self._last is not None:
            self._last.let_wait(stream)
        try:
            self._clear_flags(stream)
            if note is not None:
                self._run_timed(stream, note)
            elif not self._graphs.run(stream, bytes(self._passed.buffer)):
                for step in self._script.steps(self._asking(stream)):
                    self._start(step, stream)
            self._libraries.check(stream)
        finally:
            self._libraries.forget()
            if self._sizes:
                self._last = self._last or Mark()
                self._last.put(stream)

    def _run_timed(self, stream: int, note: RecordedCall) -> None:
        watch = Stopwatch(stream)
        for step in self._script.steps(self._asking(stream)):
            if step.function.name in self._libraries:  # which may ask the device, and so not wait
                note.add(step.function.name, watch.passed(partial(self._start, step, stream)))
                continue
            note.add(step.function.name, watch.timed(partial(self._start, step, stream)))

    def _clear_flags(self, stream: int) -> None:
        for name in sorted(self._script.flags):
            self._driver.clear(self._places[name].value, self._sizes[name], stream)

    def _asking(self, stream: int) -> Callable[[str], bool]:
        """Return what tells whether a flag is set, behind what is on a stream."""
        read = {name: (ctypes.c_char * self._sizes[name])() for name in self._script.flags}

        def is_set(name: str) -> bool:
            size, place = self._sizes[name], read[name]
            address = self._memory[name].address
            self._driver.copy(ctypes.addressof(place), address, size, stream, to_host=True)
            self._driver.wait(stream)
            return any(place.raw)

        return is_set

    def _allocate(self) -> None:
        """Allocate temporaries, which are kept for the next call; few programs keep theirs."""
        with _KEEPING:
            others = [run for run in _WITH_MEMORY if run is not self]
            for run in others[: max(0, len(others) + 1 - _MOST_WITH_MEMORY)]:
                run._release()
            _WITH_MEMORY[self] = None
            try:
                self._memory = self._new_memory()
            except OutOfMemory:
                for run in others:
                    run._release()
                self._memory = self._new_memory()

    def _new_memory(self) -> dict[str, DeviceMemory]:
        return {n: DeviceMemory(size, f"the temporary '{n}'") for n, size in self._sizes.items()}

    def _release(self) -> None:
        """Give memory back, but not while a call is being started."""
        if self._lock.acquire(blocking=False):
            try:
                self._memory = {}
                self._graphs.forget()
                _WITH_MEMORY.pop(self, None)
            finally:
                self._lock.release()

    def _run_recorded(self, stream: int, note: RecordedCall | None = None) -> None:
        """Put everything into a graph that the user makes, with temporaries of its own.

        Raises:
            LaunchFailed: if a loop on the host asks a flag, which has no value yet.
            LibraryInGraph: if it calls a library.
        """
        if self._libraries:
            self._refuse_graph()
        if self._parts is None and self._script.flags:
            raise LaunchFailed(
                f"kernel '{self._name}' is called while a graph is made of its stream, and a loop "
                f"in it ends where '{min(self._script.flags)}' is 0: the host asks that between "
                "launches, for the device cannot",
                where=caller_location(),
                remedy="call it outside of the graph, or bound the loop, and leave out its "
                "condition",
            )
        for name, address in self._of_graphs.on(stream).items():
            self._places[name].value = address
        self._clear_flags(stream)
        if self._parts is None:  # launches are many, or differ
            for step in self._script.steps():
                self._start(step, stream, note)
            return
        for part in self._parts:
            self._start_part(part, stream, note)

    def _refuse_graph(self) -> NoReturn:
        launch = self._libraries.first
        raise LibraryInGraph(
            f"kernel '{self._name}' is called while a graph is made of its stream, and it calls "
            f"{self._libraries.routine(launch)}: the host finds what that is given, and whether it "
            "failed, when it is called",
            where=caller_location(),
            remedy="call it outside of the graph, or make loops of the call: "
            f"inline_callable_kernel(kernel, '{self._libraries.routine(launch)}')",
        )

    def _parts_of_graphs(self) -> tuple[Part, ...] | None:
        """Return what may be in graphs; None if there is too much, or loops that the host ends."""
        if self._libraries:  # their calls are no part of graphs
            return ()
        if not self._script.loops or self._script.parts is None:
            return self._script.parts
        if len(self._script.flags) <= cuda_loops.MOST_FLAGS:
            self._asker = cuda_loops.asker(self._driver)
        return None if self._asker is None else self._script.parts

    def _start_part(
        self, part: Part, stream: int, note: RecordedCall | None = None, *, early: bool = True
    ) -> None:
        if isinstance(part, WhileLoop):
            self._start_loop(part, stream, note)
            return
        for _ in range(part.times):
            for step in part.steps:
                self._start(step, stream, note, early=early)

    def _start_loop(self, loop: WhileLoop, stream: int, note: RecordedCall | None) -> None:
        """Put a loop into the graph that a stream is recorded for."""
        flags = [(self._places[name].value, self._sizes[name]) for name in loop.flags]
        trips = self._places[_TRIPS].value + 8 * loop.number
        asked = cuda_loops.Asked(flags, trips, loop.most)

        def ask(on: int, handle: int, is_first: bool) -> None:
            passed = asked.passed(handle, is_first=is_first)
            self._driver.launch(self._asker, _ONE, _ONE, 0, on, passed)

        def trip(on: int) -> None:
            for part in loop.body:
                self._start_part(part, on, note, early=False)

        self._driver.put_loop(stream, ask, trip)

    def _start(
        self, step: Step, stream: int, note: RecordedCall | None = None, *, early: bool = True
    ) -> None:
        if note is not None:  # of a graph: when it runs, and how often, only the user knows
            note.add(step.function.name, None)
        for name, value in step.loops:
            self._places[name].value = value
        if step.function.calls_library:
            self._libraries.start(step.function.name, stream, self._addresses)
            return
        try:
            self._starter(step, early=early)(stream)
        except DriverError as error:
            if error.is_fatal:
                raise
            raise _refused(step, error) from None

    def _starter(self, step: Step, *, early: bool = True) -> Callable[[int], None]:
        """Return what starts a step on a stream, early if the device may, and it waits itself."""
        prepared, cuda = self._launches[step.function.name], self._driver
        handle, addresses, shared = prepared.handle, prepared.addresses, step.function.shared_bytes
        groups, items = step.grid.launched
        if early and step.function.waits and self._may_begin_early:
            return cuda.early_launch(handle, groups, items, shared, addresses)
        return lambda stream: cuda.launch(handle, groups, items, shared, stream, addresses)


def _refused(step: Step, error: DriverError) -> LaunchFailed:
    grid = step.grid
    return LaunchFailed(
        f"the device refused launch '{step.function.name}' with {grid.size} work items in groups "
        f"of {grid.group}: {error}",
        where=caller_location(),
        remedy="do all arrays belong to the current device, and is there memory for them?",
    )


# Programs that keep memory, those first that have had it for longest.
_WITH_MEMORY: WeakKeyDictionary[CudaRun, None] = WeakKeyDictionary()
_MOST_WITH_MEMORY = 16
_KEEPING = threading.Lock()


@dataclass(frozen=True)
class _Prepared:
    """A function of the program, and what it is passed.

    Attributes:
        function: the function.
        handle: what the driver calls it.
        kept: the addresses of all values.
        addresses: where these are.
    """

    function: DeviceFunction
    handle: int
    kept: Any
    addresses: int


class _Limits:
    """The limits of the current device."""

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
