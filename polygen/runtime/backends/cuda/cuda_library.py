"""Direct calls of CUDA's driver, which cuda-python and CuPy do not offer, or slowly."""

from __future__ import annotations

import atexit
import ctypes
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from typing import Any

from polygen.runtime.backends.cuda import cuda_loops
from polygen.runtime.backends.cuda.driver_library import check, driver_library

_MAY_BEGIN_EARLY = 6  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED
_NO_SYNC = 1  # CU_USER_OBJECT_NO_DESTRUCTOR_SYNC
_MOVE = 1  # CU_GRAPH_USER_OBJECT_MOVE
_SEMAPHORE = 64  # bytes; a sem_t of glibc's has 32


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute, with a number as its value."""

    _fields_ = (
        ("id", ctypes.c_int),
        ("pad", ctypes.c_int),
        ("value", ctypes.c_int),
        ("rest", ctypes.c_char * 60),
    )


class _Launch(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("group", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint),
    )


_EARLY = (_Attribute * 1)(_Attribute(id=_MAY_BEGIN_EARLY, value=1))


class DriverItself:
    """The part of `Driver` that is the same whatever else is asked through."""

    def early_launch(
        self,
        function: Any,
        grid: tuple[int, int, int],
        group: tuple[int, int, int],
        shared: int,
        parameters: int,
    ) -> Callable[[int], None]:
        """Return what starts a function on a stream, maybe before what is ahead of it is over."""
        launch = _Launch(grid, group, shared, 0, _EARLY, 1)
        address, handle, run = (
            ctypes.byref(launch),
            int(function),
            driver_library().cuLaunchKernelEx,
        )

        def start(stream: int) -> None:
            launch.stream = stream
            code = run(address, handle, parameters, None)
            if code:
                check(code)

        return start

    def has_loops(self) -> bool:
        """Tell whether graphs may have loops that flags on the device end."""
        return cuda_loops.has_loops()

    def linked(self, code: bytes) -> bytes:
        """Return machine code with what it needs of CUDA's library of the device."""
        return cuda_loops.linked(code)

    def put_loop(
        self, stream: int, ask: Callable[[int, int, bool], None], body: Callable[[int], None]
    ) -> None:
        """Put a loop into the graph that a stream is recorded for."""
        cuda_loops.put_loop(stream, ask, body)

    def recording(self, stream: int) -> int:
        """Return the number of the recording that makes a graph of what a stream does."""
        return _recording(stream)[0]

    @contextmanager
    def unrestricted(self) -> Generator[None]:
        """Let this thread allocate memory while a stream is recorded."""
        mode = ctypes.c_int(_RELAXED)
        exchange = driver_library().cuThreadExchangeStreamCaptureMode
        check(exchange(ctypes.byref(mode)))
        try:
            yield
        finally:
            check(exchange(ctypes.byref(mode)))

    def keep_for_graph(self, stream: int, memory: object) -> None:
        """Keep something while there is the graph that a stream is recorded for, or one of it."""
        with _KEEPING:
            _KEPT[:] = [(end, kept) for end, kept in _KEPT if not end.has_come()]
            _KEPT.append((_EndOfGraph(_recording(stream)[1]), memory))


def _recording(stream: int) -> tuple[int, int]:
    """Return the number of the recording that a stream is part of, and the graph it becomes."""
    status, number = ctypes.c_int(), ctypes.c_uint64()
    graph = ctypes.c_void_p()
    found = (ctypes.byref(status), ctypes.byref(number), ctypes.byref(graph), None, None)
    check(driver_library().cuStreamGetCaptureInfo_v2(stream, *found))
    return number.value, graph.value or 0


class _EndOfGraph:
    """Tells whether a graph, and all that was made of it, is gone.

    The driver says so on a thread of its own, perhaps when Python has ended.  So it calls no
    Python: it posts a semaphore of the C library, whose memory outlives this if the graph does.
    """

    def __init__(self, graph: int) -> None:
        """Let a graph tell; it is one that is being recorded."""
        self._semaphore = _c().calloc(1, _SEMAPHORE)
        _c().sem_init(self._semaphore, 0, 0)
        told = ctypes.c_void_p()
        post = ctypes.cast(_c().sem_post, ctypes.c_void_p)
        made = (ctypes.byref(told), self._semaphore, post, 1, _NO_SYNC)
        check(driver_library().cuUserObjectCreate(*made))
        check(driver_library().cuGraphRetainUserObject(graph, told, 1, _MOVE))

    def has_come(self) -> bool:
        """Tell whether it is gone; not asked again once it is."""
        if _c().sem_trywait(self._semaphore):
            return False
        _c().free(self._semaphore)
        return True


_KEPT: list[tuple[_EndOfGraph, object]] = []
_KEEPING = threading.Lock()
atexit.register(_KEPT.clear)  # while there is a driver to give it back to


@cache
def _c() -> Any:
    library = ctypes.CDLL(None)
    library.calloc.restype = ctypes.c_void_p
    library.calloc.argtypes = (ctypes.c_size_t, ctypes.c_size_t)
    library.free.argtypes = library.sem_trywait.argtypes = (ctypes.c_void_p,)
    library.sem_init.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_uint)
    return library
