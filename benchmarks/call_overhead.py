"""What a call costs beyond the launch itself, beside Loo.py on the same kernel.

    .venv/bin/pip install -e '.[benchmarks]'
    .venv/bin/python benchmarks/call_overhead.py

The queue is held shut while calls are timed, so that the kernel's own time does not count and
PoCL's threads do not disturb.  For C, the bare call of the compiled function is what is compared
with, addresses known; and, for scale, one that asks NumPy for the two addresses.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import loopy
import numpy as np
import pyopencl as cl
import pyopencl.array

import polygen as pg
from polygen.runtime.c_function import load_function

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


def _compare(calls: dict[str, Callable[[], Any]], queue: Any) -> None:
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(REPEATS):
        # In turn, so that all meet the same disturbances.
        for name, call in calls.items():
            times[name].append(_microseconds(call, queue))
    first = next(iter(calls))
    print(f"{'':40}  minimum   median   beyond {first}, medians")
    for name, found in times.items():
        more = statistics.median(found) - statistics.median(times[first])
        print(f"{name:40} {min(found):8.2f} {statistics.median(found):8.2f} {more:8.2f} us")


def _opencl(queue: Any) -> None:
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


def _c(queue: Any) -> None:
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


def main() -> None:
    """Measure and print."""
    warnings.simplefilter("ignore")
    queue = cl.CommandQueue(cl.create_some_context(interactive=False))
    print(f"OpenCL on {queue.device.name}; {CALLS} calls, {REPEATS} times")
    _opencl(queue)
    print("C")
    _c(queue)


if __name__ == "__main__":
    main()
