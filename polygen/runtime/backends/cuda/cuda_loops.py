"""Loops in graphs of CUDA's: the device itself asks the flags that end them (CUDA 12.4).

Source: CUDA C++ Programming Guide, "Conditional Graph Nodes".
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

from polygen.runtime.backends.cuda.cuda_driver import Driver, build
from polygen.runtime.backends.cuda.driver_library import check, driver_library
from polygen.runtime.calls.device_errors import DriverError

MOST_FLAGS = 8  # of one loop
_OPTIONS = ("--relocatable-device-code=true",)  # of the compiler, for what is linked
_FIRST_WITH_LOOPS = 12040
_CONDITIONAL, _WHILE = 13, 1  # CU_GRAPH_NODE_TYPE_CONDITIONAL, CU_GRAPH_COND_TYPE_WHILE
_CUBIN, _LIBRARY = 0, 4  # CU_JIT_INPUT_CUBIN, CU_JIT_INPUT_LIBRARY
_RELAXED, _NON_BLOCKING, _SET = 2, 1, 1
_NODE = 256  # bytes of CUgraphNodeParams


class _Flags(ctypes.Structure):
    """The structure `pg_flags` of cuda_loops.cu."""

    _fields_ = (("at", ctypes.c_void_p * MOST_FLAGS), ("bytes", ctypes.c_longlong * MOST_FLAGS))


class Asked:
    """The arguments of the function that decides whether a loop goes on.

    Parameters:
        flags: address and bytes of each; the loop goes on while none has only zeros.
        trips: the address of eight bytes, for the number of trips.
        most: how many trips there are at most.
    """

    def __init__(self, flags: Sequence[tuple[int, int]], trips: int, most: int) -> None:
        self._handle, self._first, given = ctypes.c_uint64(), ctypes.c_int(), _Flags()
        for place, (address, size) in enumerate(flags):
            given.at[place], given.bytes[place] = address, size
        at, limit = ctypes.c_void_p(trips), ctypes.c_longlong(most)
        self._values = (self._handle, given, at, limit, self._first)
        self._addresses = (ctypes.c_void_p * 5)(*map(ctypes.addressof, self._values))

    def passed(self, handle: int, *, is_first: bool) -> int:
        """Return the address of addresses of all values; they stay until the next call.

        Parameters:
            handle: that of the loop.
            is_first: whether this is before the first trip.
        """
        self._handle.value, self._first.value = handle, is_first
        return ctypes.addressof(self._addresses)


def asker(cuda: Driver) -> Any:
    """Return the function that decides; None where only the host can.

    The driver may be older than loops in graphs, or than the library that is linked.
    """
    if not cuda.has_loops():
        return None
    text = files("polygen.runtime.backends.cuda").joinpath("cuda_loops.cu").read_text("utf-8")
    try:
        module = build(text, _OPTIONS, is_linked=True)
    except DriverError as error:
        if error.is_fatal:
            raise
        return None
    return cuda.function(module, "pg_ask", 0)


class _Condition(ctypes.Structure):
    """CUDA_CONDITIONAL_NODE_PARAMS."""

    _fields_ = (
        ("handle", ctypes.c_uint64),
        ("type", ctypes.c_int),
        ("size", ctypes.c_uint),
        ("bodies", ctypes.POINTER(ctypes.c_void_p)),
        ("context", ctypes.c_void_p),
    )


class _Node(ctypes.Structure):
    """CUgraphNodeParams, of a condition."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("reserved", ctypes.c_int * 3),
        ("condition", _Condition),
        ("rest", ctypes.c_char * (_NODE - 16 - ctypes.sizeof(_Condition))),
    )


@cache
def _library_of_device() -> str | None:
    """Return the path of CUDA's library of the device; None if it is not installed."""
    try:
        pathfinder = import_module("cuda.pathfinder")
    except ImportError:
        return None
    if not hasattr(pathfinder, "find_static_lib"):  # it is older
        return None
    try:
        found: str = pathfinder.find_static_lib("cudadevrt")
    except pathfinder.StaticLibNotFoundError:
        return None
    return found


@cache
def has_loops() -> bool:
    """Tell whether the driver has loops in graphs, and what they are linked with is here.

    compute-sanitizer ends programs that have some (racecheck and synccheck of CUDA 13.0).
    """
    version = ctypes.c_int()
    check(driver_library().cuDriverGetVersion(ctypes.byref(version)))
    is_new = version.value >= _FIRST_WITH_LOOPS
    return is_new and _library_of_device() is not None and not _is_watched()


def _is_watched() -> bool:
    """Tell whether compute-sanitizer has put its libraries into this process."""
    return "sanitizer" in Path("/proc/self/maps").read_text(encoding="utf-8")


def linked(code: bytes) -> bytes:
    """Return machine code with what it needs of CUDA's library of the device."""
    cuda, library = driver_library(), _library_of_device()
    assert library is not None, "has_loops() says whether it is here"
    state, made, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
    check(cuda.cuLinkCreate_v2(0, None, None, ctypes.byref(state)))
    try:
        kept = ctypes.create_string_buffer(code, len(code))
        check(cuda.cuLinkAddData_v2(state, _CUBIN, kept, len(code), b"loop", 0, None, None))
        check(cuda.cuLinkAddFile_v2(state, _LIBRARY, library.encode(), 0, None, None))
        check(cuda.cuLinkComplete(state, ctypes.byref(made), ctypes.byref(size)))
        return ctypes.string_at(made, size.value)  # the state owns it
    finally:
        cuda.cuLinkDestroy(state)


def put_loop(
    stream: int, ask: Callable[[int, int, bool], None], body: Callable[[int], None]
) -> None:
    """Put a loop into the graph that a stream is recorded for.

    Parameters:
        stream: the stream.
        ask: starts what decides whether it goes on: of a stream, the loop's handle, and whether it
            is before the first trip.
        body: starts a trip on the stream that it is given.
    """
    cuda = _with_loops()
    graph, _ = _recorded(stream)
    handle, context = ctypes.c_uint64(), ctypes.c_void_p()
    check(cuda.cuCtxGetCurrent(ctypes.byref(context)))
    check(cuda.cuGraphConditionalHandleCreate(ctypes.byref(handle), graph, context, 0, 0))
    ask(stream, handle.value, True)
    inside = _new_loop(stream, graph, handle.value, context)
    own = ctypes.c_void_p()
    check(cuda.cuStreamCreate(ctypes.byref(own), _NON_BLOCKING))
    try:
        check(cuda.cuStreamBeginCaptureToGraph(own, inside, None, None, 0, _RELAXED))
        try:
            body(own.value or 0)
            ask(own.value or 0, handle.value, False)
        finally:
            check(cuda.cuStreamEndCapture(own, ctypes.byref(ctypes.c_void_p())))
    finally:
        check(cuda.cuStreamDestroy_v2(own))


def _new_loop(stream: int, graph: int, handle: int, context: ctypes.c_void_p) -> int | None:
    """Put an empty loop behind what a stream has so far; return the graph inside of it."""
    cuda = _with_loops()
    _, behind = _recorded(stream)
    condition = _Condition(handle=handle, type=_WHILE, size=1, context=context)
    params, node = _Node(type=_CONDITIONAL, condition=condition), ctypes.c_void_p()
    nodes = (ctypes.c_void_p * len(behind))(*behind)
    added = (ctypes.byref(node), graph, nodes, len(behind), ctypes.byref(params))
    check(cuda.cuGraphAddNode(*added))
    check(cuda.cuStreamUpdateCaptureDependencies(stream, ctypes.byref(node), 1, _SET))
    inside: int | None = params.condition.bodies[0]
    return inside


def _recorded(stream: int) -> tuple[int, Sequence[int | None]]:
    """Return the graph that a stream is recorded for, and the nodes that what follows waits for."""
    status, number, graph = ctypes.c_int(), ctypes.c_uint64(), ctypes.c_void_p()
    nodes, count = ctypes.POINTER(ctypes.c_void_p)(), ctypes.c_size_t()
    found = map(ctypes.byref, (status, number, graph, nodes, count))
    check(driver_library().cuStreamGetCaptureInfo_v2(stream, *found))
    return graph.value or 0, nodes[: count.value]


@cache
def _with_loops() -> Any:
    """Return the driver's functions, with those that older ones lack."""
    address, number, size = ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t
    cuda = driver_library()
    cuda.cuGraphConditionalHandleCreate.argtypes = (address, address, address, number, number)
    cuda.cuGraphAddNode.argtypes = (address, address, address, size, address)
    to_graph = (address, address, address, address, size, number)
    cuda.cuStreamBeginCaptureToGraph.argtypes = to_graph
    return cuda
