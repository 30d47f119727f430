"""What a call costs beyond the launch itself, beside Loo.py on the same kernel.

    .venv/bin/pip install -e '.[benchmarks]'
    .venv/bin/python benchmarks/call_overhead.py [opencl] [c] [cuda]

OpenCL's queue is held shut while calls are timed, so that the kernel's own time does not count and
PoCL's threads do not disturb.  For C, the bare call of the compiled function is what is compared
with, addresses known; and, for scale, one that asks NumPy for the two addresses.  For CUDA it is
CuPy's RawKernel, and, for scale, the driver's launch with all that it is passed prepared; Loo.py
does not run there: its own executor on the same GPU is measured through OpenCL, in another process.
Last comes a loop on the host around two launches, to its end, per launch.

Then come calls with one argument and with many: arrays of 16 float32, and as many scalars as said.
For C, Numba's dispatcher is measured beside it where Numba is installed, on the same loops.
"""

from __future__ import annotations

import ctypes
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array

import polygen as pg
from polygen.runtime.backends.c.c_function import load_function
from polygen.runtime.backends.opencl.opencl_driver import default_context

CALLS = 300
REPEATS = 25
DOMAIN, INSTRUCTION = "{ [i]: 0<=i<n }", "out[i] = 2*a[i]"


def _microseconds(call: Callable[[], Any], queue: Any) -> float:
    queue.finish()
    gate = cl.UserEvent(queue.context)
    cl.enqueue_barrier(queue, wait_for=[gate])
    start = time.perf_counter()
    for _ in range(CALLS):
        call()
    taken = time.perf_counter() - start
    gate.set_status(cl.command_execution_status.COMPLETE)
    queue.finish()
    return taken / CALLS * 1e6


def _on_gpu(call: Callable[[], Any], wait: Callable[[], Any]) -> float:
    wait()
    start = time.perf_counter()
    for _ in range(CALLS):
        call()
    taken = time.perf_counter() - start
    wait()
    return taken / CALLS * 1e6


def _compare(
    calls: dict[str, Callable[[], Any]], where: Any, measure: Callable[..., float] = _microseconds
) -> None:
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(REPEATS):
        # In turn, so that all meet the same disturbances.
        for name, call in calls.items():
            times[name].append(measure(call, where))
    first = next(iter(calls))
    print(f"{'':40}  minimum   median   beyond {first}, medians")
    for name, found in times.items():
        more = statistics.median(found) - statistics.median(times[first])
        print(f"{name:40} {min(found):8.2f} {statistics.median(found):8.2f} {more:8.2f} us")


def _opencl() -> None:
    queue = cl.CommandQueue(cl.create_some_context(interactive=False))
    print(f"OpenCL on {queue.device.name}")
    loopy: Any = import_module("loopy")
    knl = pg.make_kernel(DOMAIN, INSTRUCTION)
    knl = pg.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
    peer = loopy.make_kernel(DOMAIN, INSTRUCTION)
    peer = loopy.split_iname(peer, "i", 16, outer_tag="g.0", inner_tag="l.0")
    a, out = (cl.array.zeros(queue, 16, np.float32) for _ in range(2))

    program = pg.generate_code(pg.add_dtypes(knl, {"a": np.float32}))
    raw = cl.Program(queue.context, program.source).build().polygen_kernel
    raw.set_scalar_arg_dtypes([None, np.int32, None])
    a_data, out_data = a.base_data, out.base_data

    def call_peer() -> None:
        peer_executor(queue, a=a, out=out)
        # It lists every launch here, and would soon wait for the first, behind the closed gate.
        out.events.clear()

    executor = knl.executor(queue)
    peer_executor = peer.executor(queue.context)
    _compare(
        {
            "pyopencl's kernel": lambda: raw(queue, (16,), (16,), a_data, 16, out_data),
            "polygen, knl(queue, ...)": lambda: knl(queue, a=a, out=out),
            "polygen, knl.executor(queue)": lambda: executor(queue, a=a, out=out),
            "Loo.py, knl.executor(context)": call_peer,
        },
        queue,
    )


def _c() -> None:
    print("C")
    queue = cl.CommandQueue(default_context())
    knl = pg.make_kernel(DOMAIN, INSTRUCTION)
    a, out = np.zeros(16, np.float32), np.zeros(16, np.float32)
    program = pg.generate_code(pg.add_dtypes(knl, {"a": np.float32}), target="c")
    function = load_function(program)
    a_data, out_data = a.ctypes.data, out.ctypes.data
    _compare(
        {
            "the C function": lambda: function(a_data, 16, out_data),
            "the C function, with addresses asked for": lambda: function(
                a.ctypes.data, 16, out.ctypes.data
            ),
            "polygen, knl(...)": lambda: knl(a=a, out=out),
            "polygen, knl(...), output allocated": lambda: knl(a=a),
        },
        queue,
    )
    _many(np.zeros, _bare_c, _numba_call, "the C function", "Numba", lambda: None)


# --- many arguments

MANY = ((1, 0), (2, 0), (5, 0), (10, 0), (16, 4), (20, 0), (40, 0))


def _terms(arrays: int, scalars: int, at: str) -> str:
    values = [f"x{k}[{at}]" for k in range(arrays - 1)] + [f"s{k}" for k in range(scalars)]
    return " + ".join(values) or at


def _many(zeros: Any, bare: Any, peer: Any, first: str, second: str, wait: Any) -> None:
    """Print the time of calls with many arguments, beside the bare function's and a peer's."""
    print(f"{'arguments':24} {first:>16} {second:>10} polygen   beyond {first}, medians in us")
    for arrays, scalars in MANY:
        knl = pg.make_kernel("{ [i]: 0<=i<n }", f"out[i] = {_terms(arrays, scalars, 'i')}")
        args = {f"x{k}": zeros(16, np.float32) for k in range(arrays - 1)}
        args |= {f"s{k}": np.float32(1.5) for k in range(scalars)}
        args |= {"out": zeros(16, np.float32)} | ({"n": 16} if arrays == 1 else {})
        ours = partial(_ours, knl, args)
        calls = [bare(knl, args), peer(arrays, scalars, args), ours]
        times: list[list[float]] = [[] for _ in calls]
        for call in calls:
            call()
        for _ in range(REPEATS):
            for call, found in zip(calls, times, strict=True):
                found.append(_on_gpu(call, wait))
        a, b, c = map(statistics.median, times)
        name = f"{arrays} arrays, {scalars} scalars"
        print(f"{name:24} {a:16.2f} {b:10.2f} {c:7.2f} {c - a:8.2f}")


def _ours(knl: pg.Kernel, args: dict[str, Any]) -> None:
    knl(**args)


def _bare_c(knl: pg.Kernel, args: dict[str, Any]) -> Callable[[], Any]:
    types = {name: np.float32 for name in args if name != "n"}
    program = pg.generate_code(pg.add_dtypes(knl, types), target="c")
    function = load_function(program)
    known = {name: v.ctypes.data if isinstance(v, np.ndarray) else v for name, v in args.items()}
    values = [{"n": 16, **known}[arg.name] for arg in program.arguments]
    return lambda: function(*values)


def _numba_call(arrays: int, scalars: int, args: dict[str, Any]) -> Callable[[], Any]:
    if find_spec("numba") is None:
        return lambda: None
    numba: Any = import_module("numba")
    space: dict[str, Any] = {}
    text = f"def f({', '.join(args)}):\n    for i in range(16):\n"
    exec(text + f"        out[i] = {_terms(arrays, scalars, 'i')}\n", space)  # noqa: S102
    function, values = numba.njit(space["f"]), list(args.values())
    return lambda: function(*values)


def _cuda() -> None:
    cupy: Any = import_module("cupy")
    device = cupy.cuda.Device()
    print(f"CUDA on {cupy.cuda.runtime.getDeviceProperties(device.id)['name'].decode()}")
    knl = pg.make_kernel(DOMAIN, INSTRUCTION)
    knl = pg.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
    a, out = cupy.zeros(16, np.float32), cupy.zeros(16, np.float32)
    executor = knl.executor("cuda")
    program = pg.generate_code(pg.add_dtypes(knl, {"a": np.float32}), "cuda")
    raw = cupy.RawKernel(program.source, "polygen_kernel")
    n = np.int32(16)
    values = [ctypes.c_uint64(a.data.ptr), ctypes.c_int32(16), ctypes.c_uint64(out.data.ptr)]
    addresses = (ctypes.c_void_p * 3)(*map(ctypes.addressof, values))
    launch = cupy.cuda.driver.launchKernel
    raw((1,), (16,), (a, n, out))
    handle, where = raw.kernel.ptr, ctypes.addressof(addresses)
    calls = {
        "CuPy's RawKernel": lambda: raw((1,), (16,), (a, n, out)),
        "the driver's launch": lambda: launch(handle, 1, 1, 1, 16, 1, 1, 0, 0, where, 0),
        "polygen, knl(...)": lambda: knl(a=a, out=out),
        "polygen, knl.executor('cuda')": lambda: executor(a=a, out=out),
        "polygen, knl(...), output allocated": lambda: knl(a=a),
        "CuPy, cupy.multiply(a, 2, out)": lambda: cupy.multiply(a, 2, out),
    }
    if find_spec("torch") is not None:
        torch: Any = import_module("torch")
        tensors = [torch.zeros(16, device="cuda") for _ in range(2)]
        calls |= {
            "polygen, PyTorch's tensors": lambda: knl(a=tensors[0], out=tensors[1]),
            "PyTorch, torch.mul(a, 2, out=out)": lambda: torch.mul(tensors[0], 2, out=tensors[1]),
        }
    for call in calls.values():
        call()  # type: ignore[no-untyped-call]
    _compare(calls, device.synchronize, _on_gpu)
    _loop_on_the_host(cupy)
    _many(cupy.zeros, _bare_cuda, _cupy_launch, "RawKernel", "Elementwise", device.synchronize)


def _bare_cuda(knl: pg.Kernel, args: dict[str, Any]) -> Callable[[], Any]:
    cupy: Any = import_module("cupy")
    types = {name: np.float32 for name in args if name != "n"}
    program = pg.generate_code(pg.add_dtypes(knl, types), "cuda")
    raw = cupy.RawKernel(program.source, "polygen_kernel")
    values = tuple([{"n": np.int32(16), **args}[arg.name] for arg in program.arguments])
    return lambda: raw((1,), (1,), values)


def _cupy_launch(arrays: int, scalars: int, args: dict[str, Any]) -> Callable[[], Any]:
    """Return an element-wise kernel of CuPy's with as many arguments."""
    cupy: Any = import_module("cupy")
    names = [name for name in args if name not in ("out", "n")]
    terms = _terms(arrays, scalars, "i").replace("[i]", "")
    inputs = ", ".join(f"float32 {name}" for name in names)
    function = cupy.ElementwiseKernel(inputs, "float32 out", f"out = {terms}", "many")
    values = [args[name] for name in names]
    out = args["out"]
    return lambda: function(*values, out)


def _loop_on_the_host(cupy: Any) -> None:
    text = "for t\n u[i] = a[(i+1) % n] + 1 {id=u, dep=*}\n a[j] = u[j] {dep=u}\nend"
    u = pg.TemporaryVariable("u", shape="n", address_space=pg.AddressSpace.GLOBAL)
    knl = pg.make_kernel("{ [t,i,j]: 0<=t<steps and 0<=i,j<n }", text, [u, "..."])
    for iname in "ij":
        knl = pg.split_iname(knl, iname, 128, outer_tag="g.0", inner_tag="l.0")
    program = pg.generate_code(pg.add_dtypes(knl, {"a": np.float64}), "cuda")
    module = cupy.RawModule(code=program.source)
    first, second = (module.get_function(launch.name) for launch in program.launches)
    n, wait = np.int32(4096), cupy.cuda.Device().synchronize
    a, memory = cupy.arange(4096.0), cupy.zeros(4096)
    order = [[arg.name for arg in launch.arguments] for launch in program.launches]
    given = {"a": a, "u": memory, "n": n}

    def by_hand() -> None:
        for _ in range(CALLS):
            for function, names in ((first, order[0]), (second, order[1])):
                function((32,), (128,), [given[name] for name in names])

    def ours() -> None:
        knl(a=a, steps=CALLS)

    for name, run in (("CuPy's RawKernel", by_hand), ("polygen, knl(...)", ours)):
        times: list[float] = []
        for _ in range(REPEATS):
            wait()
            start = time.perf_counter()
            run()
            wait()
            times.append((time.perf_counter() - start) / (2 * CALLS) * 1e6)
        print(f"a loop on the host, {name:30} {min(times):6.2f} {statistics.median(times):6.2f} us")


def main(wanted: list[str]) -> None:
    """Measure and print."""
    warnings.simplefilter("ignore")
    print(f"{CALLS} calls, {REPEATS} times")
    for name in wanted:
        {"opencl": _opencl, "c": _c, "cuda": _cuda}[name]()


if __name__ == "__main__":
    main(sys.argv[1:] or ["opencl", "c"])
