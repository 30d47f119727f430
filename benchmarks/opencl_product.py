"""A product of matrices in single precision through OpenCL, beside cuBLAS (TF32 off).

    python benchmarks/opencl_product.py

The recipe is that of examples/fast_product.py.  cuBLAS runs in a process of its own: NVIDIA's
OpenCL and NVRTC cannot share one.  Times are medians, by the device's own clock.
"""

from __future__ import annotations

import runpy
import subprocess
import sys
import warnings
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

import numpy as np

EXAMPLE = Path(__file__).parents[1] / "examples" / "fast_product.py"
FAST = SimpleNamespace(**runpy.run_path(str(EXAMPLE)))

# Two pairs of such tiles are more than a group may have.
SHAPE = FAST.Shape(columns=128, items=(8, 16, 2), ahead=False, resident=2)
SIZES = (2048, 4096, 8192)
TIMES = 20


def of_cublas(n: int) -> float:
    """Return the milliseconds of a product of matrices, in this process."""
    import cupy  # noqa: PLC0415  (not in the process that uses OpenCL)

    a, b = (cupy.random.rand(n, n, dtype="float32") for _ in range(2))
    c = cupy.empty_like(a)
    events = [(cupy.cuda.Event(), cupy.cuda.Event()) for _ in range(TIMES + 3)]
    for start, end in events:
        start.record()
        cupy.matmul(a, b, out=c)
        end.record()
    cupy.cuda.Device().synchronize()
    return float(median(cupy.cuda.get_elapsed_time(*pair) for pair in events[3:]))


def elsewhere(n: int) -> float:
    """Return the milliseconds of cuBLAS, in another process."""
    command = [sys.executable, __file__, "cublas", str(n)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def of_polygen(n: int, queue: Any) -> float:
    """Return the milliseconds of polygen's kernel, whose result is checked."""
    import pyopencl.array as cla  # noqa: PLC0415

    knl = FAST.recipe("float32", SHAPE, n=n, m=n, l=n)
    rng = np.random.default_rng(n)
    values = [rng.random((n, n), dtype=np.float32) - np.float32(0.5) for _ in range(2)]
    a, b = (cla.to_device(queue, x) for x in values)
    c = cla.zeros_like(a)
    events = [knl(queue, a=a, b=b, c=c)[0] for _ in range(TIMES + 3)]
    queue.finish()
    some = rng.integers(0, n, 64)
    expected = values[0][some].astype(np.float64) @ values[1]
    assert abs(c.get()[some] - expected).max() < 1e-5 * n
    return float(median((e.profile.end - e.profile.start) * 1e-6 for e in events[3:]))


def main() -> None:
    import pyopencl as cl  # noqa: PLC0415

    warnings.simplefilter("ignore")
    context = cl.create_some_context(interactive=False)
    profiling = cl.command_queue_properties.PROFILING_ENABLE
    queue = cl.CommandQueue(context, properties=profiling)
    print(context.devices[0].name)
    print("    n  cuBLAS             polygen            ratio of times")
    for n in SIZES:
        theirs, ours = elsewhere(n), of_polygen(n, queue)
        rates = [f"{ms:7.3f} ms {2 * n**3 / ms / 1e9:5.1f} TF" for ms in (theirs, ours)]
        print(f"{n:5}  {rates[0]}  {rates[1]}  {ours / theirs:.3f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["cublas"]:
        print(of_cublas(int(sys.argv[2])))
    else:
        main()
