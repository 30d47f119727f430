"""Bytes a second of streaming kernels through OpenCL, beside a device's own copy.

    python benchmarks/opencl_streaming.py [millions of elements]

Times are the device's own, from OpenCL's events; medians.  Bytes are those that have to move:
each input read once, each output written once.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

import polygen as pg

REPEATS = 20
LINE = "{ [i]: 0<=i<n }"
KERNELS = (
    ("copy", "y[i] = x[i]", 2),
    ("scale", "y[i] = 2*x[i]", 2),
    ("saxpy", "y[i] = 2*x[i] + y[i]", 3),
    ("triad", "y[i] = x[i] + 2*z[i]", 3),
)


def _seconds(run: Callable[[], Any]) -> float:
    times: list[float] = []
    for _ in range(REPEATS + 3):
        event = run()
        event.wait()
        times.append((event.profile.end - event.profile.start) * 1e-9)
    return statistics.median(times[3:])


def main() -> None:
    """Measure and print."""
    context = cl.create_some_context(interactive=False)
    profiling = cl.command_queue_properties.PROFILING_ENABLE
    queue = cl.CommandQueue(context, properties=profiling)
    n = int(float(sys.argv[1] if len(sys.argv) > 1 else 4) * 1e6)
    rng = np.random.default_rng(0)
    x, y, z = (cla.to_device(queue, rng.random(n, dtype=np.float32)) for _ in range(3))
    source: Any = x.base_data
    target: Any = y.base_data
    copied = _seconds(lambda: cl.enqueue_copy(queue, target, source))
    peak = 2 * x.nbytes / copied
    print(f"{context.devices[0].name}, {n} float32")
    print(f"{'device copy':12}{peak / 1e9:10.1f} GB/s")
    for name, instruction, arrays in KERNELS:
        knl = pg.make_kernel(LINE, instruction, name=name)
        knl = pg.split_iname(knl, "i", 256, outer_tag="g.0", inner_tag="l.0")
        passed = {"x": x, "y": y} | ({"z": z} if "z" in instruction else {})

        def run(knl: Any = knl, passed: dict[str, Any] = passed) -> Any:
            return knl(queue, **passed)[0]

        rate = arrays * x.nbytes / _seconds(run)
        print(f"{name:12}{rate / 1e9:10.1f} GB/s{peak / rate:8.3f} x the copy's time")


if __name__ == "__main__":
    main()
