"""CUDA without a GPU: a driver that compiles CUDA C++ for the host, and runs it on threads.

The memory of this device is the host's, so that what is copied there can be compared with NumPy.
Halves are the compiler's own: on a GPU, instructions convert them.  Asynchronous copies are made
when they are waited for.
"""

from __future__ import annotations

import ctypes
import itertools
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

_HALF = r"""struct \1 {
    _Float16 value;
    \1() = default;
    template <typename T> explicit \1(T a) : value((_Float16) a) {}
    \1 &operator=(float a) { value = (_Float16) a; return *this; }
    operator float() const { return value; }
};"""
_INSTRUCTION = r'asm\("(\w+)\.approx\.ftz\.f32 %0, %1;" : "=f"\(b\) : "f"\(a\)\);'
# Here, waits matter, too.
_COPY = r"\*to = \*from;"
_WAIT = r'#if .*\n    asm volatile\("cp.async.wait_all;" ::: "memory"\);\n#endif'
_ADD_HALF = r"    unsigned short bits;\n.*\n    asm volatile\(\"red.relaxed.*;"
_CONDITION = r'extern "C" __device__ void cudaGraphSetConditional[^\n]*;'
_SET_CONDITION = """extern "C" { unsigned pg_goes_on; }
static void cudaGraphSetConditional(unsigned long long, unsigned value) { pg_goes_on = value; }"""
_POOL = r"extern __shared__ [^\n]*"
_SHIM = Path(__file__).with_name("shim.hpp")
_COMPILER = [
    *("g++", "-std=c++20", "-O0", "-ffp-contract=off", "-fno-strict-aliasing"),
    *("-w", "-fPIC", "-pthread"),
]
_FUNCTION = re.compile(r'extern "C" __global__ void [^\n]*\n(\w+)\(([^)]*)\)\n\{')
_SEPARATOR = re.compile(r",(?![^<]*>)")
_ATTRIBUTES = {
    "COMPUTE_CAPABILITY_MAJOR": 9,
    "COMPUTE_CAPABILITY_MINOR": 0,
    "MAX_THREADS_PER_BLOCK": 1024,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 232448,
    "CLOCK_RATE": 1_000_000,
    "MULTIPROCESSOR_COUNT": 132,
    "MEMORY_CLOCK_RATE": 2_000_000,
    "GLOBAL_MEMORY_BUS_WIDTH": 5120,
    "L2_CACHE_SIZE": 50 * 2**20,
    "MAX_THREADS_PER_MULTIPROCESSOR": 2048,
    **{f"MAX_BLOCK_DIM_{axis}": 64 if axis == "Z" else 1024 for axis in "XYZ"},
    **{f"MAX_GRID_DIM_{axis}": 2**31 - 1 if axis == "X" else 65535 for axis in "XYZ"},
}


# The names of the parameters are the protocol's.
# ruff: noqa: ARG002


def compiled_shim(folder: Path) -> Path:
    """Return a copy in a folder of what stands before every source, parsed already."""
    copy = folder / _SHIM.name
    copy.write_bytes(_SHIM.read_bytes())
    subprocess.run([*_COMPILER, str(copy), "-o", f"{copy}.gch"], check=True)
    return copy


class HostDriver:
    """The names of `polygen.runtime.backends.cuda.cuda_driver.Driver`.

    Parameters:
        shim: what stands before every source.

    Attributes:
        live: the memory that was allocated and not given back, by address.
        compiled: how many sources were compiled.
        events: how many there are.
        held: how many streams wait to be let go on.
        launches: how many calls of `launch` there were.
        early: how many of these may begin before what is ahead of them is over.
        recorded: the streams of which a user makes a graph: what is started on them runs at once,
            too, which is what such a graph does later.
        recordings: the number of the latest graph that a user makes.
        kept: what lives as long as graphs of users do.
        graphs: those that were not given back: functions, and copies of what they are passed; lists
            of these are loops.
        with_loops: whether graphs may have loops.
    """

    def __init__(self, shim: Path) -> None:
        self._shim = shim
        self.live: dict[int, Any] = {}
        self.compiled = 0
        self._loaded: list[Any] = []
        self.launches = self.early = self.events = self.held = 0
        self._numbers = itertools.count(1)
        self._times: dict[int, float] = {}  # when each event was put on a stream
        self.recorded: set[int] = set()
        self.with_loops = False
        self.graphs: dict[int, list[Any]] = {}
        self._recording: list[Any] | None = None
        self.recordings = 1
        self.kept: list[Any] = []

    def stop(self) -> None:
        """Forget what was loaded."""
        self._loaded.clear()

    def device(self) -> int:
        return 0

    def attribute(self, name: str, device: int) -> int:
        return _ATTRIBUTES[name]

    def identity(self, device: int) -> str:
        return "this processor"

    def compiler_version(self) -> str:
        return "host"

    def compile(self, source: str, options: Sequence[str]) -> tuple[bytes, str]:
        self.compiled += 1
        with tempfile.TemporaryDirectory() as folder:
            text, library = Path(folder, "a.cpp"), Path(folder, "a.so")
            halves = re.sub(r"struct (pg_\w*half) \{.*?\n\};", _HALF, source, flags=re.DOTALL)
            halves = re.sub(_INSTRUCTION, r"b = pg_\1(a);", halves)
            halves = re.sub(_COPY, "pg_begin(to, from);", halves)
            halves = re.sub(_ADD_HALF, "    pg_add(at, a);", halves)
            halves = re.sub(_WAIT, "    pg_finish();", halves)
            halves = re.sub(_CONDITION, _SET_CONDITION, halves)
            halves = re.sub(_POOL, "static unsigned char pg_shared[232448];", halves)
            text.write_text(f'#include "{self._shim}"\n{halves}\n{_launchers(source)}')
            command = [*_COMPILER, "-shared", str(text), "-o", str(library)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            return (b"", done.stderr) if done.returncode else (library.read_bytes(), done.stderr)

    def load(self, code: bytes) -> Any:
        with tempfile.NamedTemporaryFile(suffix=".so") as file:
            file.write(code)
            file.flush()
            return ctypes.CDLL(file.name)

    def function(self, module: Any, name: str, shared: int) -> int:
        function = getattr(module, f"pg_launch_{name}")
        count = ctypes.c_uint.in_dll(module, f"pg_count_{name}").value
        sizes = (ctypes.c_uint * count).in_dll(module, f"pg_sizes_{name}")
        self._loaded.append((module, function, tuple(sizes)))
        return len(self._loaded) - 1

    def launch(
        self,
        function: int,
        grid: tuple[int, int, int],
        group: tuple[int, int, int],
        shared: int,
        stream: int,
        parameters: int,
    ) -> None:
        self.launches += 1
        if self._recording is not None:
            copies = self._copied(function, parameters)
            self._recording.append((function, grid, group, copies))
        else:
            self._run(function, grid, group, parameters)

    def early_launch(
        self,
        function: int,
        grid: tuple[int, int, int],
        group: tuple[int, int, int],
        shared: int,
        parameters: int,
    ) -> Callable[[int], None]:
        def start(stream: int) -> None:
            self.early += 1
            self.launch(function, grid, group, shared, stream, parameters)

        return start

    def _run(self, function: int, grid: Any, group: Any, parameters: int) -> None:
        three = ctypes.c_uint * 3
        _, run, _ = self._loaded[function]
        run(ctypes.c_void_p(parameters), three(*grid), three(*group))

    def _copied(self, function: int, parameters: int) -> Any:
        """Return addresses of copies of parameters, and the copies."""
        _, _, sizes = self._loaded[function]
        addresses = (ctypes.c_void_p * len(sizes)).from_address(parameters)
        copies = [ctypes.create_string_buffer(size) for size in sizes]
        for copy, address, size in zip(copies, addresses, sizes, strict=True):
            ctypes.memmove(copy, address, size)
        return (ctypes.c_void_p * len(sizes))(*map(ctypes.addressof, copies)), copies

    def new_event(self) -> int:
        self.events += 1
        return next(self._numbers)

    def new_timer(self) -> int:
        return self.new_event()

    def seconds_between(self, first: int, last: int) -> float:
        return self._times[last] - self._times[first]

    def hold(self, stream: int) -> Callable[[], None]:
        self.held += 1

        def release() -> None:
            self.held -= 1

        return release

    def put_event(self, event: int, stream: int) -> None:
        self._times[event] = time.perf_counter()

    def wait_for_event(self, stream: int, event: int) -> None:
        pass

    def drop_event(self, event: int) -> None:
        self.events -= 1

    def is_recorded(self, stream: int) -> bool:
        return stream in self.recorded

    def record(self, start: Callable[[int], None]) -> int:
        assert self._recording is None
        self._recording = []
        try:
            start(99)
            graph = 1 + max(self.graphs, default=0)
            self.graphs[graph] = self._recording
        finally:
            self._recording = None
        return graph

    def replay(self, graph: int, stream: int) -> None:
        self._replay(self.graphs[graph])

    def _replay(self, nodes: Sequence[Any]) -> None:
        for node in nodes:
            if isinstance(node, list):
                while self._goes_on():
                    self._replay(node)
                continue
            function, grid, group, (addresses, _) = node
            self._run(function, grid, group, ctypes.addressof(addresses))

    def has_loops(self) -> bool:
        return self.with_loops

    def linked(self, code: bytes) -> bytes:
        return code

    def put_loop(
        self, stream: int, ask: Callable[[int, int, bool], None], body: Callable[[int], None]
    ) -> None:
        ask(stream, 0, True)
        if self._recording is None:  # what is recorded for a user runs at once
            while self._goes_on():
                body(stream)
                ask(stream, 0, False)
            return
        outer, self._recording = self._recording, []
        body(stream)
        ask(stream, 0, False)
        outer.append(self._recording)
        self._recording = outer

    def _goes_on(self) -> bool:
        """Tell what the function that decides on loops said last."""
        asker = next(m for m, f, _ in self._loaded if f.__name__ == "pg_launch_pg_ask")
        return bool(ctypes.c_uint.in_dll(asker, "pg_goes_on").value)

    def drop(self, graph: int) -> None:
        del self.graphs[graph]

    def recording(self, stream: int) -> int:
        return self.recordings

    def unrestricted(self) -> AbstractContextManager[None]:
        return nullcontext()

    def keep_for_graph(self, stream: int, memory: object) -> None:
        assert stream in self.recorded
        self.kept.append(memory)

    def allocate(self, size: int) -> int:
        memory = ctypes.create_string_buffer(size + 255)
        address = -(-ctypes.addressof(memory) // 256) * 256
        self.live[address] = memory
        return address

    def free(self, address: int) -> None:
        del self.live[address]

    def copy(self, to: int, source: int, size: int, stream: int, *, to_host: bool) -> None:
        ctypes.memmove(to, source, size)

    def clear(self, address: int, size: int, stream: int) -> None:
        ctypes.memset(address, 0, size)

    def wait(self, stream: int) -> None:
        pass

    def wait_on(self, stream: int, other: int) -> None:
        pass


def _launchers(source: str) -> str:
    """Return a function for each of a source's that starts a grid of it."""
    found: list[str] = []
    for name, parameters in _FUNCTION.findall(source):
        types = [_type_of(p) for p in _SEPARATOR.split(parameters) if p.strip() != "void"]
        values = [f"*({t} *) at[{k}]" for k, t in enumerate(types)]
        sizes = ", ".join([*(f"sizeof({t})" for t in types), "0"])
        found.append(
            f'extern "C" {{ unsigned pg_count_{name} = {len(types)}, '
            f"pg_sizes_{name}[] = {{{sizes}}}; }}\n"
            f'extern "C" void pg_launch_{name}(void **at, unsigned *groups, unsigned *items)\n'
            f"{{\n    pg_grid(groups, items, [=] {{ {name}({', '.join(values)}); }});\n}}\n"
        )
    return "\n".join(found)


def _type_of(parameter: str) -> str:
    """Return the type of ``float const *__restrict__ a``."""
    return re.sub(r"(__restrict__ )?\w+$", "", parameter.strip())
