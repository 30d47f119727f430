"""CUDA through cuda-python."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from polygen.runtime.backends.cuda.cuda_driver import Driver
from polygen.runtime.backends.cuda.cuda_library import DriverItself
from polygen.runtime.calls.device_errors import DriverError

# They say nothing of their types.
cu: Any = import_module("cuda.bindings.driver")
nvrtc: Any = import_module("cuda.bindings.nvrtc")
_WITHOUT_TIMES = 2  # CU_EVENT_DISABLE_TIMING
_OK = cu.CUresult.CUDA_SUCCESS
_COMPILED = nvrtc.nvrtcResult.NVRTC_SUCCESS


def make() -> Driver:
    """Return CUDA, with the driver started.

    Raises:
        DriverError: if there is no driver.
    """
    _checked(cu.cuInit(0))
    if not int(_checked(cu.cuCtxGetCurrent())):
        _use_first()
    return _Python()


def _use_first() -> int:
    """Make the first device current for this thread, and return it."""
    first = _checked(cu.cuDeviceGet(0))
    _checked(cu.cuCtxSetCurrent(_checked(cu.cuDevicePrimaryCtxRetain(first))))
    return int(first)


def _checked(result: tuple[Any, ...]) -> Any:
    """Return what a function of the driver returned, without its code.

    Raises:
        DriverError: if that is one of an error.
    """
    code, *values = result
    if code != _OK:
        _, text = cu.cuGetErrorString(code)
        raise DriverError(text.decode() if text else str(code), int(code))
    return values[0] if values else None


class _Gate:
    """A number in the host's memory that streams wait for: those that wait for less go on."""

    def __init__(self) -> None:
        flags = cu.CU_MEMHOSTALLOC_PORTABLE | cu.CU_MEMHOSTALLOC_DEVICEMAP
        self._address = int(_checked(cu.cuMemHostAlloc(4, flags)))
        self._number = ctypes.c_uint32.from_address(self._address)
        self._number.value = 0
        self._lock, self._last = threading.Lock(), 0

    def shut(self, stream: int) -> Callable[[], None]:
        """Let a stream wait, and return what lets it go on: at once, it has to be called."""
        with self._lock:
            self._last += 1
            wanted = self._last
        at_least = cu.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_GEQ
        _checked(cu.cuStreamWaitValue32(stream, self._address, wanted, int(at_least)))

        def open_again() -> None:
            with self._lock:
                self._number.value = max(self._number.value, wanted)

        return open_again


class _Python(DriverItself):
    """The driver of cuda-python, under the names of `Driver`."""

    _gate: _Gate | None = None  # made when it is first needed

    def device(self) -> int:
        code, device = cu.cuCtxGetDevice()
        return _use_first() if code else int(device)  # another thread than at first

    def attribute(self, name: str, device: int) -> int:
        wanted = getattr(cu.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(_checked(cu.cuDeviceGetAttribute(wanted, device)))

    def identity(self, device: int) -> str:
        name = _checked(cu.cuDeviceGetName(256, device)).partition(b"\0")[0].decode()
        return f"{name}, driver {_checked(cu.cuDriverGetVersion())}"

    def compiler_version(self) -> str:
        _, major, minor = nvrtc.nvrtcVersion()
        return f"{major}.{minor}"

    def compile(self, source: str, options: Sequence[str]) -> tuple[bytes, str]:
        _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"polygen.cu", 0, [], [])
        try:
            given = [option.encode() for option in options]
            (code,) = nvrtc.nvrtcCompileProgram(program, len(given), given)
            _, size = nvrtc.nvrtcGetProgramLogSize(program)
            log = b" " * (size + 1)  # of one byte, it would be what all of Python has for b" "
            nvrtc.nvrtcGetProgramLog(program, log)
            if code != _COMPILED:
                return b"", log.decode(errors="replace")
            _, size = nvrtc.nvrtcGetCUBINSize(program)
            cubin = b" " * size
            nvrtc.nvrtcGetCUBIN(program, cubin)
            return cubin, log.decode(errors="replace")
        finally:
            nvrtc.nvrtcDestroyProgram(program)

    def load(self, code: bytes) -> Any:
        return _checked(cu.cuModuleLoadData(code))

    def function(self, module: Any, name: str, shared: int) -> Any:
        function = _checked(cu.cuModuleGetFunction(module, name.encode()))
        if shared:
            wanted = cu.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            _checked(cu.cuFuncSetAttribute(function, wanted, shared))
        return function

    def launch(
        self,
        function: Any,
        grid: tuple[int, int, int],
        group: tuple[int, int, int],
        shared: int,
        stream: int,
        parameters: int,
    ) -> None:
        (code,) = cu.cuLaunchKernel(function, *grid, *group, shared, stream, parameters, 0)
        if code:
            _checked((code,))

    def new_event(self) -> int:
        return int(_checked(cu.cuEventCreate(_WITHOUT_TIMES)))

    def new_timer(self) -> int:
        return int(_checked(cu.cuEventCreate(0)))

    def seconds_between(self, first: int, last: int) -> float:
        self.device()
        _checked(cu.cuEventSynchronize(first))
        _checked(cu.cuEventSynchronize(last))
        return float(_checked(cu.cuEventElapsedTime(first, last))) / 1e3

    def hold(self, stream: int) -> Callable[[], None]:
        if self._gate is None:
            self._gate = _Gate()
        return self._gate.shut(stream)

    def put_event(self, event: int, stream: int) -> None:
        _checked(cu.cuEventRecord(event, stream))

    def wait_for_event(self, stream: int, event: int) -> None:
        _checked(cu.cuStreamWaitEvent(stream, event, 0))

    def drop_event(self, event: int) -> None:
        if cu is None:  # Python ends, and has taken modules apart
            return
        self.device()
        cu.cuEventDestroy(event)

    def is_recorded(self, stream: int) -> bool:
        status = _checked(cu.cuStreamIsCapturing(stream))
        return bool(status != cu.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_NONE)

    def record(self, start: Callable[[int], None]) -> int:
        # One that the default stream does not wait for, so that this may happen at any time.
        stream = _checked(cu.cuStreamCreate(cu.CUstream_flags.CU_STREAM_NON_BLOCKING))
        try:
            mode = cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
            _checked(cu.cuStreamBeginCapture(stream, mode))
            try:
                start(int(stream))
            except BaseException:
                cu.cuStreamEndCapture(stream)
                raise
            graph = _checked(cu.cuStreamEndCapture(stream))
            found = int(_checked(cu.cuGraphInstantiate(graph, 0)))
            _checked(cu.cuGraphDestroy(graph))
        finally:
            _checked(cu.cuStreamDestroy(stream))
        return found

    def replay(self, graph: int, stream: int) -> None:
        _checked(cu.cuGraphLaunch(graph, stream))

    def drop(self, graph: int) -> None:
        if cu is None:  # Python ends, and has taken modules apart
            return
        self.device()
        cu.cuGraphExecDestroy(graph)

    def allocate(self, size: int) -> int:
        self.device()  # whichever thread this is
        return int(_checked(cu.cuMemAlloc(size)))

    def free(self, address: int) -> None:
        if cu is None:  # Python ends, and has taken modules apart
            return
        self.device()
        cu.cuMemFree(address)

    def copy(self, to: int, source: int, size: int, stream: int, *, to_host: bool) -> None:
        self.device()
        if to_host:
            _checked(cu.cuMemcpyDtoHAsync(to, source, size, stream))
        else:
            _checked(cu.cuMemcpyHtoDAsync(to, source, size, stream))
        self.wait(stream)

    def clear(self, address: int, size: int, stream: int) -> None:
        self.device()
        _checked(cu.cuMemsetD8Async(address, 0, size, stream))

    def wait(self, stream: int) -> None:
        self.device()
        _checked(cu.cuStreamSynchronize(stream))

    def wait_on(self, stream: int, other: int) -> None:
        self.device()
        event = self.new_event()
        try:
            self.put_event(event, other)
            self.wait_for_event(stream, event)
        finally:
            self.drop_event(event)
