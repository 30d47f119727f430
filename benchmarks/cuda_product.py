"""Products of matrices by transformations alone, beside cuBLAS (TF32 off).

    python benchmarks/cuda_product.py [whole] [others] [double]

The recipes are those of examples/fast_product.py.  In double precision, cuBLAS works on tensor
cores; the peer is what units without them can do: as many multiply-adds in a row as fit, none of
which waits for memory.
"""

from __future__ import annotations

import runpy
import sys
import warnings
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

EXAMPLE = Path(__file__).parents[1] / "examples" / "fast_product.py"
FAST = SimpleNamespace(**runpy.run_path(str(EXAMPLE)))

SINGLE = FAST.Shape()
DOUBLE = FAST.Shape(rows=64, columns=64, depth=16, items=(4, 8, 2), lanes=2, resident=4)
SMALL = FAST.Shape(columns=128, items=(8, 16, 2), resident=2)
# For 2049 rows and columns, there are as many groups as run at once.
FEW = FAST.Shape(rows=96, columns=128, depth=16, items=(8, 8, 2), resident=3)

CHAIN = """
extern "C" __global__ void __launch_bounds__(256) chain(double *out, double x, int n)
{
    double r[8];
    for (int i = 0; i < 8; ++i)
        r[i] = threadIdx.x + i;
    for (int k = 0; k < n; ++k) {
        #pragma unroll
        for (int i = 0; i < 128; ++i)
            r[i % 8] = r[i % 8] * x + x;
    }
    double s = 0;
    for (int i = 0; i < 8; ++i)
        s += r[i];
    if (s == 12345)
        *out = s;
}
"""


def milliseconds(run: Any, cupy: Any, times: int = 20) -> float:
    for _ in range(3):
        run()
    events = [(cupy.cuda.Event(), cupy.cuda.Event()) for _ in range(times)]
    for start, end in events:
        start.record()
        run()
        end.record()
    cupy.cuda.Device().synchronize()
    return float(median(cupy.cuda.get_elapsed_time(*pair) for pair in events))


def compare(name: str, knl: Any, n: int, dtype: str, cupy: Any) -> None:
    """Print the rates of cuBLAS and of a kernel for square matrices, whose product it checks."""
    a, b = (cupy.random.rand(n, n, dtype=dtype) - 0.5 for _ in range(2))
    c, expected = cupy.empty_like(a), a @ b
    theirs = milliseconds(lambda: cupy.matmul(a, b, out=c), cupy)
    c[:] = 0
    ours = milliseconds(lambda: knl(a=a, b=b, c=c), cupy)
    assert float(abs(c - expected).max() / abs(expected).max()) < 1e-5
    rates = [f"{ms:7.3f} ms {2 * n**3 / ms / 1e9:5.1f} TF" for ms in (theirs, ours)]
    print(f"{name:9} {n:5}  {rates[0]}  {rates[1]}  {ours / theirs:.3f}", flush=True)


def limit(cupy: Any) -> float:
    """Return how many TFLOP/s units for double precision do without memory."""
    chain, out, times = cupy.RawKernel(CHAIN, "chain"), cupy.zeros(1), 4000
    blocks = 8 * cupy.cuda.runtime.getDeviceProperties(0)["multiProcessorCount"]
    ms = milliseconds(lambda: chain((blocks,), (256,), (out, 0.5, cupy.int32(times))), cupy)
    return float(2 * 128 * 256 * blocks * times / ms / 1e9)


def whole(cupy: Any) -> None:
    """Compare products in single precision of sizes that tiles divide."""
    for n in (2048, 4096, 8192):
        compare("whole", FAST.recipe("float32", SINGLE, n=n, m=n, l=n), n, "float32", cupy)


def others(cupy: Any) -> None:
    """Compare those of sizes that no tile divides, known when the kernel is made or not."""
    for n, shape in ((2049, FEW), (4093, SMALL)):
        knl = FAST.padded_recipe("float32", shape, n=n, m=n, l=n)
        compare("padded", knl, n, "float32", cupy)
        compare("any size", FAST.padded_recipe("float32", shape), n, "float32", cupy)


def double(cupy: Any) -> None:
    """Compare products in double precision."""
    print(f"float64: multiply-adds alone {limit(cupy):.1f} TF; cuBLAS on tensor cores")
    for n in (2048, 4096, 8192):
        compare("whole", FAST.recipe("float64", DOUBLE, n=n, m=n, l=n), n, "float64", cupy)


def main() -> None:
    import cupy  # noqa: PLC0415  (the recipes need none)

    warnings.simplefilter("ignore")
    print(cupy.cuda.runtime.getDeviceProperties(0)["name"].decode())
    print("              n  cuBLAS             polygen            ratio of times")
    parts = {"whole": whole, "others": others, "double": double}
    for name in sys.argv[1:] or parts:
        parts[name](cupy)


if __name__ == "__main__":
    main()
