"""CUDA through CuPy."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from polygen.runtime.backends.cuda.cuda_driver import Driver
from polygen.runtime.backends.cuda.cuda_library import DriverItself
from polygen.runtime.calls.device_errors import DriverError

# They say nothing of their types.
cupy: Any = import_module("cupy")
cu: Any = import_module("cupy_backends.cuda.api.driver")
runtime: Any = import_module("cupy_backends.cuda.api.runtime")
nvrtc: Any = import_module("cupy_backends.cuda.libs.nvrtc")

# CUDA's numbers: which of their names CuPy has, depends on its version.
_ATTRIBUTES = {
    "COMPUTE_CAPABILITY_MAJOR": 75,
    "COMPUTE_CAPABILITY_MINOR": 76,
    "MAX_THREADS_PER_BLOCK": 1,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 97,
    "CLOCK_RATE": 13,
    "MULTIPROCESSOR_COUNT": 16,
    "MEMORY_CLOCK_RATE": 36,
    "GLOBAL_MEMORY_BUS_WIDTH": 37,
    "L2_CACHE_SIZE": 38,
    "MAX_THREADS_PER_MULTIPROCESSOR": 39,
    **{f"MAX_BLOCK_DIM_{a}": 2 + k for k, a in enumerate("XYZ")},
    **{f"MAX_GRID_DIM_{a}": 5 + k for k, a in enumerate("XYZ")},
}
_DYNAMIC_SHARED_SIZE = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_TO_DEVICE, _TO_HOST = 1, 2


def make() -> Driver:
    """Return CUDA.

    Raises:
        RuntimeError: if there is no device.
    """
    runtime.getDeviceCount()
    return _CuPy()


@contextmanager
def _driver_errors() -> Generator[None]:
    """Raise DriverError for what CuPy raises."""
    try:
        yield
    except (cu.CUDADriverError, runtime.CUDARuntimeError) as error:
        raise DriverError(str(error), error.status) from None


def _go_on() -> None:
    """Do nothing: nobody waits."""


class _CuPy(DriverItself):
    """CuPy's functions, under the names of `Driver`."""

    def device(self) -> int:
        try:
            return int(cu.ctxGetDevice())
        except cu.CUDADriverError:  # a thread that begins has no context
            return int(cupy.cuda.Device().use().id)

    @_driver_errors()
    def attribute(self, name: str, device: int) -> int:
        return int(runtime.deviceGetAttribute(_ATTRIBUTES[name], device))

    @_driver_errors()
    def identity(self, device: int) -> str:
        name = runtime.getDeviceProperties(device)["name"].decode()
        return f"{name}, driver {runtime.driverGetVersion()}"

    def compiler_version(self) -> str:
        return ".".join(map(str, nvrtc.getVersion()))

    def compile(self, source: str, options: Sequence[str]) -> tuple[bytes, str]:
        program = nvrtc.createProgram(source, "polygen.cu", (), ())
        try:
            nvrtc.compileProgram(program, tuple(options))
            return nvrtc.getCUBIN(program), nvrtc.getProgramLog(program)
        except nvrtc.NVRTCError:
            return b"", nvrtc.getProgramLog(program)
        finally:
            nvrtc.destroyProgram(program)

    @_driver_errors()
    def load(self, code: bytes) -> Any:
        return cu.moduleLoadData(code)

    @_driver_errors()
    def function(self, module: Any, name: str, shared: int) -> int:
        function = cu.moduleGetFunction(module, name)
        if shared:
            cu.funcSetAttribute(function, _DYNAMIC_SHARED_SIZE, shared)
        return int(function)

    def launch(
        self,
        function: int,
        grid: tuple[int, int, int],
        group: tuple[int, int, int],
        shared: int,
        stream: int,
        parameters: int,
    ) -> None:
        try:
            cu.launchKernel(function, *grid, *group, shared, stream, parameters, 0)
        except cu.CUDADriverError as error:  # not with _driver_errors: this takes time
            raise DriverError(str(error), error.status) from None

    @_driver_errors()
    def new_event(self) -> int:
        return int(runtime.eventCreateWithFlags(runtime.eventDisableTiming))

    @_driver_errors()
    def new_timer(self) -> int:
        return int(runtime.eventCreate())

    @_driver_errors()
    def seconds_between(self, first: int, last: int) -> float:
        runtime.eventSynchronize(first)
        runtime.eventSynchronize(last)
        return float(runtime.eventElapsedTime(first, last)) / 1e3

    def hold(self, stream: int) -> Callable[[], None]:  # noqa: ARG002  (the protocol's)
        return _go_on  # CuPy has no way to do it

    @_driver_errors()
    def put_event(self, event: int, stream: int) -> None:
        runtime.eventRecord(event, stream)

    @_driver_errors()
    def wait_for_event(self, stream: int, event: int) -> None:
        runtime.streamWaitEvent(stream, event)

    def drop_event(self, event: int) -> None:
        runtime.eventDestroy(event)

    @_driver_errors()
    def is_recorded(self, stream: int) -> bool:
        return bool(runtime.streamIsCapturing(stream))

    @_driver_errors()
    def record(self, start: Callable[[int], None]) -> int:
        # One that the default stream does not wait for, so that this may happen at any time.
        stream = runtime.streamCreateWithFlags(runtime.streamNonBlocking)
        try:
            runtime.streamBeginCapture(stream, runtime.streamCaptureModeRelaxed)
            try:
                start(stream)
            except BaseException:
                with suppress(runtime.CUDARuntimeError):
                    runtime.streamEndCapture(stream)
                raise
            graph = runtime.streamEndCapture(stream)
            found = int(runtime.graphInstantiate(graph))
            runtime.graphDestroy(graph)
        finally:
            runtime.streamDestroy(stream)
        return found

    @_driver_errors()
    def replay(self, graph: int, stream: int) -> None:
        runtime.graphLaunch(graph, stream)

    def drop(self, graph: int) -> None:
        runtime.graphExecDestroy(graph)

    @_driver_errors()
    def allocate(self, size: int) -> int:
        return int(runtime.malloc(size))

    def free(self, address: int) -> None:
        with suppress(runtime.CUDARuntimeError):  # nothing is to be done where a context is lost
            runtime.free(address)

    @_driver_errors()
    def copy(self, to: int, source: int, size: int, stream: int, *, to_host: bool) -> None:
        runtime.memcpyAsync(to, source, size, _TO_HOST if to_host else _TO_DEVICE, stream)
        self.wait(stream)

    @_driver_errors()
    def clear(self, address: int, size: int, stream: int) -> None:
        runtime.memsetAsync(address, 0, size, stream)

    @_driver_errors()
    def wait(self, stream: int) -> None:
        runtime.streamSynchronize(stream)

    @_driver_errors()
    def wait_on(self, stream: int, other: int) -> None:
        event = self.new_event()
        try:
            self.put_event(event, other)
            self.wait_for_event(stream, event)
        finally:
            self.drop_event(event)
