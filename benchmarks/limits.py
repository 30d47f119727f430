"""What `polygen.measure_limits` finds on the devices here, and what others reach on them.

    .venv/bin/python -m benchmarks.limits [c] [opencl] [cuda]

On CUDA, a copy is PyTorch's, and arithmetic and reads one after the other are kernels by hand,
compiled by CuPy.  OpenCL and CUDA of NVIDIA's are best looked at in processes of their own.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

import polygen as pg
from polygen.inspection.devices.shown_numbers import shown_time

REPEATS = 7
ELEMENTS = 2**26
GROUPS, ITEMS, STEPS = 132 * 16, 256, 4096
BY_HAND = r"""
extern "C" __global__ void multiply(float *b, float f, float g, int m) {
    float x[8];
    for (int k = 0; k < 8; ++k) x[k] = b[blockIdx.x * 256 + threadIdx.x] + k;
    for (int t = 0; t < m; ++t)
        for (int k = 0; k < 8; ++k) x[k] = x[k] * f + g;
    float sum = 0;
    for (int k = 0; k < 8; ++k) sum += x[k];
    b[blockIdx.x * 256 + threadIdx.x] = sum;
}
extern "C" __global__ void follow(int const *place, int *last, int m) {
    int at = last[0];
    for (int t = 0; t < m; ++t) at = place[at];
    last[0] = at;
}
"""


def _least(call: Callable[[], Any], wait: Callable[[], Any]) -> float:
    found: list[float] = []
    for _ in range(REPEATS):
        wait()
        begin = time.perf_counter()
        for _ in range(10):
            call()
        wait()
        found.append((time.perf_counter() - begin) / 10)
    return min(found[1:])


def _by_others() -> None:
    torch: Any = import_module("torch")
    cupy: Any = import_module("cupy")
    wait = torch.cuda.synchronize
    a = torch.rand(ELEMENTS, device="cuda")
    b = torch.empty_like(a)
    print(
        f"PyTorch, b.copy_(a)            {8 * ELEMENTS / _least(lambda: b.copy_(a), wait):.4g} B/s"
    )
    module = cupy.RawModule(code=BY_HAND)
    x = cupy.zeros(GROUPS * ITEMS, np.float32)
    multiply, given = module.get_function("multiply"), (np.float32(0.999), np.float32(1))
    call = (x, *given, np.int32(STEPS))
    seconds = _least(lambda: multiply((GROUPS,), (ITEMS,), call), wait)
    print(f"by hand, x*f + g in float32    {2 * 8 * STEPS * GROUPS * ITEMS / seconds:.4g} op/s")
    order = np.random.default_rng(0).permutation(ELEMENTS // 64) * 64
    place = np.zeros(ELEMENTS, np.int32)
    place[order] = np.roll(order, -1)
    there, last = cupy.asarray(place), cupy.asarray(order[:1].astype(np.int32))
    follow = module.get_function("follow")
    seconds = _least(lambda: follow((1,), (1,), (there, last, np.int32(4096))), wait)
    print(f"by hand, a[a[a[...]]]          {shown_time(seconds / 4096)}")


def main(wanted: list[str]) -> None:
    """Print a table for each device."""
    for device in wanted:
        begin = time.perf_counter()
        limits = pg.measure_limits(device, refresh=True)
        print(f"{device}, in {time.perf_counter() - begin:.1f} s")
        print(f"  copy                         {limits.bytes_per_second:.4g} B/s")
        for dtype in ("float16", "float32", "float64", "int32"):
            rate = limits.rate_of(dtype)
            if rate is not None:
                print(f"  x*f + g in {dtype:17} {rate:.4g} op/s")
        if limits.local_bytes_per_second is not None:
            print(f"  local memory                 {limits.local_bytes_per_second:.4g} B/s")
        print(f"  launch after launch          {shown_time(limits.launch_seconds)}")
        print(f"  a[a[a[...]]]                 {shown_time(limits.latency_seconds)}")
        print(f"  atomic addition              {shown_time(limits.atomic_seconds)}")
        if device == "cuda":
            _by_others()


if __name__ == "__main__":
    main(sys.argv[1:] or ["c", "opencl"])
