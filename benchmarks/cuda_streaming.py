"""Kernels that are bound by memory, beside a copy on the device of as many bytes.

    python benchmarks/cuda_streaming.py

Each reads and writes every element once; the table has the ratio of its time to that of a copy of
the same bytes.
"""

from __future__ import annotations

import warnings
from statistics import median
from typing import Any

import polygen as pg

N, SIDE = 2**28, 16384
STREAMS = {
    "copy": ("b[i] = a[i]", "ab"),
    "scale": ("b[i] = s*a[i]", "ab"),
    "saxpy": ("b[i] = s*a[i] + b[i]", "ab"),
    "triad": ("c[i] = a[i] + s*b[i]", "abc"),
}
BYTES = {"copy": 8, "scale": 8, "saxpy": 12, "triad": 12}


def stream(text: str, names: str) -> pg.Kernel:
    """Let each work item compute four neighbours, as vectors."""
    arrays = [pg.GlobalArg(name, "float32", "n", alignment=16) for name in names]
    knl = pg.make_kernel("{ [i]: 0<=i<n }", text, [*arrays, "..."])
    knl = pg.assume(knl, "n mod 1024 = 0 and n >= 1")
    knl = pg.split_iname(knl, "i", 4, inner_tag="vec")
    return pg.split_iname(knl, "i_outer", 256, outer_tag="g.0", inner_tag="l.0")


def stencil() -> pg.Kernel:
    """Let each work item compute 4 x 4 elements; what tiles do not fill has code of its own."""
    knl = pg.make_kernel(
        "{ [i, j]: 1<=i<m-1 and 1<=j<m-1 }",
        "b[i,j] = 0.25*(a[i-1,j] + a[i+1,j] + a[i,j-1] + a[i,j+1]) - a[i,j]",
        [pg.GlobalArg("a", "float32", "m, m"), pg.GlobalArg("b", "float32", "m, m"), "..."],
    )
    knl = pg.split_iname(knl, "j", 512, outer_tag="g.0", slabs=(0, 1))
    knl = pg.split_iname(knl, "j_inner", 128, outer_tag="unr", inner_tag="l.0")
    knl = pg.split_iname(knl, "i", 8, outer_tag="g.1")
    return pg.split_iname(knl, "i_inner", 4, inner_tag="unr", outer_tag="l.1")


def transposition() -> pg.Kernel:
    """Let a group load a tile of 64 x 64 in rows, and write it in rows, too."""
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i,j<m }",
        "b[j,i] = a[i,j]",
        [pg.GlobalArg("a", "float32", "m, m"), pg.GlobalArg("b", "float32", "m, m"), "..."],
        assumptions="m mod 64 = 0",
    )
    knl = pg.split_iname(knl, "i", 64, outer_tag="g.1")
    knl = pg.split_iname(knl, "j", 64, outer_tag="g.0")
    knl = pg.add_prefetch(
        knl,
        "a",
        "i_inner, j_inner",
        default_tag=None,
        dim_arg_names=("row", "column"),
        temporary_address_space=pg.AddressSpace.LOCAL,
    )
    knl = pg.split_iname(knl, "row", 8, outer_tag="unr", inner_tag="l.1")
    knl = pg.split_iname(knl, "j_inner", 8, outer_tag="unr", inner_tag="l.1")
    return pg.add_bank_padding(pg.tag_inames(knl, "column:l.0, i_inner:l.0"), "a_fetch")


def milliseconds(run: Any, cupy: Any, times: int = 30) -> float:
    for _ in range(3):
        run()
    events = [(cupy.cuda.Event(), cupy.cuda.Event()) for _ in range(times)]
    for start, end in events:
        start.record()
        run()
        end.record()
    cupy.cuda.Device().synchronize()
    return float(median(cupy.cuda.get_elapsed_time(*pair) for pair in events))


def main() -> None:
    import cupy  # noqa: PLC0415  (the recipes need none)

    warnings.simplefilter("ignore")
    a, b, c = (cupy.random.rand(N, dtype="float32") for _ in range(3))
    to_device = 3  # cudaMemcpyDeviceToDevice
    copy = milliseconds(
        lambda: cupy.cuda.runtime.memcpyAsync(b.data.ptr, a.data.ptr, 4 * N, to_device, 0), cupy
    )
    print(cupy.cuda.runtime.getDeviceProperties(0)["name"].decode())
    print(f"copy on the device: {8 * N / copy / 1e9:.2f} TB/s")
    print("kernel          TB/s   ratio of times")

    def show(name: str, moved: int, run: Any) -> None:
        taken = milliseconds(run, cupy)
        print(f"{name:14} {moved / taken / 1e9:5.2f}   {taken / (copy * moved / (8 * N)):.3f}")

    arrays = {"a": a, "b": b, "c": c}
    for name, (text, names) in STREAMS.items():
        knl = stream(text, names)
        given: dict[str, Any] = {n: arrays[n] for n in names} | ({"s": 2.0} if "s*" in text else {})
        show(name, BYTES[name] * N, lambda: knl(**given))  # noqa: B023
    x, y = (v[: SIDE * SIDE].reshape(SIDE, SIDE) for v in (a, b))
    five, turned = stencil(), transposition()
    show("5-point stencil", 8 * SIDE**2, lambda: five(a=x, b=y))
    expected = (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) / 4 - x[1:-1, 1:-1]
    assert bool((abs(y[1:-1, 1:-1] - expected) < 1e-5).all())
    show("transposition", 8 * SIDE**2, lambda: turned(a=x, b=y))
    assert bool((y == x.T).all())


if __name__ == "__main__":
    main()
