"""CUDA's driver and compiler, through cuda-python or CuPy: whichever is installed.

Neither is loaded before a kernel is to run there.  Handles are plain integers, but those of
functions, which are what launches take the least time with.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, Protocol

from polygen.errors import DeviceLacks, NoDevice
from polygen.runtime.backends.compiler_errors import failure
from polygen.runtime.calls.device_errors import DriverError
from polygen.runtime.disk import cache as disk
from polygen.source import caller_location
from polygen.targets.programs.program import Program

_REMEDY = "pip install 'polygen[cuda]', on a machine with an NVIDIA GPU and its driver"
_UPDATE = "is the driver as new as NVRTC, and is there memory left on the device?"
# Functions that a user's text defines without saying where they run are for the device.
_OPTIONS = ("-default-device", "--std=c++17")


class Driver(Protocol):
    """The interface to CUDA."""

    def device(self) -> int:
        """Return the number of the device whose context is current; make one current if none is."""
        ...

    def attribute(self, name: str, device: int) -> int:
        """Return an attribute of a device, by the driver's name without its prefix."""
        ...

    def identity(self, device: int) -> str:
        """Return the name of a device, and the version of its driver."""
        ...

    def compiler_version(self) -> str:
        """Return which NVRTC it is."""
        ...

    def compile(self, source: str, options: Sequence[str]) -> tuple[bytes, str]:
        """Return the machine code of a source, empty if there are errors, and the log."""
        ...

    def load(self, code: bytes) -> Any:
        """Return a module in the current context."""
        ...

    def function(self, module: Any, name: str, shared: int) -> Any:
        """Return a function that may use so many bytes of dynamic shared memory."""
        ...

    def launch(
        self,
        function: Any,
        grid: tuple[int, int, int],
        group: tuple[int, int, int],
        shared: int,
        stream: int,
        parameters: int,
    ) -> None:
        """Start a function; parameters are the address of addresses of their values."""
        ...

    def early_launch(
        self,
        function: Any,
        grid: tuple[int, int, int],
        group: tuple[int, int, int],
        shared: int,
        parameters: int,
    ) -> Callable[[int], None]:
        """Return what starts a function on a stream, maybe before what is ahead of it is over.

        The function has to wait for that itself.
        """
        ...

    def new_event(self) -> int:
        """Return an event, of which the time is not asked."""
        ...

    def new_timer(self) -> int:
        """Return an event that has the time at which it was over."""
        ...

    def seconds_between(self, first: int, last: int) -> float:
        """Wait for two events with times, and return how long after the first the last was."""
        ...

    def hold(self, stream: int) -> Callable[[], None]:
        """Let what is started on a stream from now on wait; return what lets it go on."""
        ...

    def put_event(self, event: int, stream: int) -> None:
        """Let an event be over when all is that was started on a stream until now."""
        ...

    def wait_for_event(self, stream: int, event: int) -> None:
        """Let what is started on a stream from now on wait for an event."""
        ...

    def drop_event(self, event: int) -> None:
        """Give an event back."""
        ...

    def is_recorded(self, stream: int) -> bool:
        """Tell whether what is started on a stream becomes part of a graph."""
        ...

    def record(self, start: Callable[[int], None]) -> int:
        """Return a graph of what a function starts on the stream that it is given."""
        ...

    def replay(self, graph: int, stream: int) -> None:
        """Start all that is in a graph."""
        ...

    def drop(self, graph: int) -> None:
        """Give a graph back, once it is over."""
        ...

    def has_loops(self) -> bool:
        """Tell whether graphs may have loops that flags on the device end."""
        ...

    def linked(self, code: bytes) -> bytes:
        """Return machine code with what it needs of CUDA's library of the device."""
        ...

    def put_loop(
        self, stream: int, ask: Callable[[int, int, bool], None], body: Callable[[int], None]
    ) -> None:
        """Put a loop into the graph that a stream is recorded for.

        `ask` starts what decides whether it goes on: of a stream, the loop's handle, and whether it
        is before the first trip; `body` starts a trip.
        """
        ...

    def recording(self, stream: int) -> int:
        """Return the number of the recording that makes a graph of what a stream does."""
        ...

    def unrestricted(self) -> AbstractContextManager[None]:
        """Let this thread allocate memory while a stream is recorded."""
        ...

    def keep_for_graph(self, stream: int, memory: object) -> None:
        """Keep something while there is the graph that a stream is recorded for, or one of it."""
        ...

    def allocate(self, size: int) -> int:
        """Return the address of new memory on the current device."""
        ...

    def free(self, address: int) -> None:
        """Give memory back."""
        ...

    def copy(self, to: int, source: int, size: int, stream: int, *, to_host: bool) -> None:
        """Copy between host and device, after what was started on a stream, and wait."""
        ...

    def clear(self, address: int, size: int, stream: int) -> None:
        """Set memory of the device to zero, after what was started on a stream."""
        ...

    def wait(self, stream: int) -> None:
        """Wait until all that was started on a stream is over."""
        ...

    def wait_on(self, stream: int, other: int) -> None:
        """Let what is started on a stream from now on wait for all that was on another."""
        ...


@cache
def driver() -> Driver:
    """Return CUDA.

    Raises:
        NoDevice: if there is no library for it, or no device.
    """
    reasons: list[str] = []
    for module in (
        "polygen.runtime.backends.cuda.cuda_python",
        "polygen.runtime.backends.cuda.cuda_cupy",
    ):
        try:
            found: Driver = importlib.import_module(module).make()
            found.device()
        except (ImportError, OSError, DriverError, RuntimeError) as error:
            reasons.append(str(error))
        else:
            return found
    raise NoDevice(
        f"CUDA cannot be used: {'; '.join(reasons)}", where=caller_location(), remedy=_REMEDY
    )


def has_cuda() -> bool:
    """Tell whether kernels can run on an NVIDIA GPU here."""
    try:
        driver()
    except NoDevice:
        return False
    return True


def architecture(device: int) -> str:
    """Return what compilers call the instructions of a device: ``sm_90``."""
    parts = ("COMPUTE_CAPABILITY_MAJOR", "COMPUTE_CAPABILITY_MINOR")
    return "sm_" + "".join(str(driver().attribute(part, device)) for part in parts)


def check_clusters(program: Program) -> None:
    """Check that the current device has clusters of blocks, if a program's groups are these.

    Raises:
        DeviceLacks: if it has not.
    """
    if program.target.blocks_along is None:
        return
    device = driver().device()
    if driver().attribute("COMPUTE_CAPABILITY_MAJOR", device) < 9:
        raise DeviceLacks(
            f"the device ({architecture(device)}) has no clusters of blocks, which kernel "
            f"'{program.loop_program.name}' needs with the option 'clusters'",
            where=caller_location(),
            remedy="set_options(kernel, clusters=False), with at most 1024 work items in a group; "
            "devices have clusters from sm_90 on",
        )


_MODULES: dict[tuple[int, str, tuple[str, ...]], Any] = {}


def build(
    source: str,
    options: tuple[str, ...] = (),
    kernel: str | None = None,
    *,
    is_linked: bool = False,
) -> Any:
    """Return a module with the functions of a source, on the current device.

    Parameters:
        source: the text.
        options: passed to the compiler after polygen's own.
        kernel: the name of the kernel that this is the source of.
        is_linked: whether it needs CUDA's library of the device.

    Raises:
        CompilationFailed: if NVRTC does not accept the source or the options, or the driver not
            what it makes of them.
    """
    cuda = driver()
    device = cuda.device()
    key = (device, source, options)
    if disk.caching() and key in _MODULES:
        return _MODULES[key]
    every = (f"--gpu-architecture={architecture(device)}", *_OPTIONS, *options)

    def make() -> bytes:
        code, log = cuda.compile(source, every)
        if not code:
            raise failure("NVRTC", log, options, source, kernel)
        return cuda.linked(code) if is_linked else code

    name = disk.key_of("cuda", cuda.compiler_version(), source, *every)
    code = disk.kept(f"{name}.cubin", make)
    try:
        module = cuda.load(code)
    except DriverError as error:
        if error.is_fatal:
            raise
        raise failure("CUDA's driver", str(error), options, source, kernel, _UPDATE) from None
    if disk.caching():
        _MODULES[key] = module
    return module
