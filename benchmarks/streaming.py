"""Kernels that are bound by memory, and the bytes that they have to move.

Each reads and writes every element once; the recipes of the stencils and of the transposition are
those of examples/register_stencils.py and examples/vector_transpose.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import polygen as pg
from benchmarks.on_device import Cuda, Device, copied_bytes_per_second
from examples import register_stencils, vector_transpose

N, SIDE, EDGE = 2**28, 16384, 768  # 1 GiB of an array; the block's are 1.8 GB
STREAMS = {
    "copy": ("b[i] = a[i]", "ab"),
    "scale": ("b[i] = s*a[i]", "ab"),
    "saxpy": ("b[i] = s*a[i] + b[i]", "ab"),
    "triad": ("c[i] = a[i] + s*b[i]", "abc"),
}
ARRAYS = {"copy": 2, "scale": 2, "saxpy": 3, "triad": 3}  # that are read or written
WEIGHTS = np.array([0.5, 0.1, 0.02, 0.01], np.float32)


@dataclass(frozen=True)
class Case:
    """A kernel on a device.

    Attributes:
        name: what it is called.
        kernel: the kernel.
        given: its arguments.
        moved: how many bytes are read and written.
        check: tells whether the result is right, after a call.
    """

    name: str
    kernel: pg.Kernel
    given: Mapping[str, Any]
    moved: int
    check: Any


def stream(text: str, names: str) -> pg.Kernel:
    """Let each work item compute four neighbours, as vectors."""
    arrays = [pg.GlobalArg(name, "float32", "n", alignment=16) for name in names]
    knl = pg.make_kernel("{ [i]: 0<=i<n }", text, [*arrays, "..."])
    knl = pg.assume(knl, "n mod 1024 = 0 and n >= 1")
    knl = pg.split_iname(knl, "i", 4, inner_tag="vec")
    return pg.split_iname(knl, "i_outer", 256, outer_tag="g.0", inner_tag="l.0")


def streams(device: Device, n: int) -> Iterator[Case]:
    arrays = {name: device.random((n,)) for name in "abc"}
    for name, (text, used) in STREAMS.items():
        given: dict[str, Any] = {x: arrays[x] for x in used}
        given |= {"s": np.float32(2)} if "s*" in text else {}
        knl, expression = stream(text, used), text.partition("=")[2].replace("[i]", "")

        def check(
            knl: pg.Kernel = knl,
            given: dict[str, Any] = given,
            expression: str = expression,
            used: str = used,
        ) -> bool:
            before = {x: device.download(arrays[x][:1000]) for x in used}
            device.call(knl, **given)
            wanted = eval(expression.strip(), {"s": 2}, before)  # noqa: S307  (STREAMS has it)
            found = device.download(arrays[used[-1]][:1000])
            return bool(np.allclose(found, wanted, rtol=1e-6))

        yield Case(name, knl, given, 4 * ARRAYS[name] * n, check)


def plate(device: Device, side: int) -> Case:
    larger = {} if isinstance(device, Cuda) else {"across": 1024, "groups": 1}
    knl = register_stencils.plate(**larger)
    knl = pg.assume(knl, "n mod 4 = 0 and m mod 4096 = 0")
    a, out = device.random((side + 2, side + 8)), device.random((side, side))

    def check() -> bool:
        x = device.download(a[:12])
        around = x[:-2, 4:-4] + x[2:, 4:-4] + x[1:-1, 3:-5] + x[1:-1, 5:-3]
        wanted = 0.25 * around - x[1:-1, 4:-4]
        return bool(np.allclose(device.download(out[:10]), wanted, atol=1e-6))

    return Case("5-point stencil", knl, {"a": a, "out": out}, 8 * side**2, check)


def block(device: Device, edge: int) -> Case:
    knl = register_stencils.block()
    a, out = device.random((edge + 2, edge + 2, edge + 8)), device.random((edge, edge, edge))

    def check() -> bool:
        away = np.abs(np.indices((3, 3, 3)) - 1).sum(axis=0)
        wanted = register_stencils.weighed(device.download(a[:10]), WEIGHTS[away])
        return bool(np.allclose(device.download(out[:8]), wanted, rtol=1e-5))

    given = {"a": a, "out": out, "w": device.upload(WEIGHTS)}
    return Case("27-point stencil", knl, given, 8 * edge**3, check)


def transposition(device: Device, side: int) -> Case:
    knl = pg.assume(vector_transpose.in_vectors(), "n mod 64 = 0 and m mod 64 = 0")
    a, out = device.random((side, side)), device.random((side, side))

    def check() -> bool:
        rows = device.download(a[:64])
        return bool((device.download(out)[:, :64] == rows.T).all())

    return Case("transposition", knl, {"a": a, "out": out}, 8 * side**2, check)


def measure(device: Device, n: int = N, side: int = SIDE, edge: int = EDGE) -> None:
    """Print the time of each kernel beside that of a copy of as many bytes."""
    copied = copied_bytes_per_second(device, n)
    print(device.name)
    print(f"copy on the device: {copied / 1e12:.2f} TB/s")
    print("kernel            TB/s   ratio of times")

    def show(case: Case) -> None:
        device.milliseconds(lambda: device.call(case.kernel, **case.given), 1)
        assert case.check(), case.name
        taken = device.milliseconds(lambda: device.call(case.kernel, **case.given))
        achieved = case.moved / taken * 1e3
        print(f"{case.name:16} {achieved / 1e12:5.2f}   {copied / achieved:.3f}", flush=True)

    for case in streams(device, n):
        show(case)
    show(plate(device, side))
    show(block(device, edge))
    show(transposition(device, side))
