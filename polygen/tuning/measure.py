"""Measuring candidates, once for a kernel, its sizes and a device."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import SupportsIndex

from polygen.inspection.compare.random_arguments import laid_out, random_arguments
from polygen.inspection.devices.limits import Limits
from polygen.ir.kernel import Kernel
from polygen.runtime.backends.c.c_compiler import find_compiler
from polygen.runtime.backends.cuda.cuda_driver import architecture, driver, has_cuda
from polygen.runtime.disk import cache as disk
from polygen.runtime.timing import seconds_of


def fastest(
    kernel: Kernel,
    candidates: Sequence[str],
    made: Callable[[int], Kernel],
    sizes: Mapping[str, SupportsIndex],
) -> int:
    """Return which of some candidates takes the least time: on CUDA's device if there is one.

    What was measured is kept on disk, beside what was compiled.

    Parameters:
        kernel: what all of them compute.
        candidates: what tells them apart.
        made: makes the kernel of a candidate.
        sizes: the value of each size.
    """
    on_gpu = has_cuda()
    where = _gpu() if on_gpu else find_compiler().identity
    given = json.dumps({name: sizes[name].__index__() for name in sorted(sizes)})
    name = disk.key_of("tuned", where, str(kernel), given, *candidates)

    def measure() -> bytes:
        arguments = random_arguments(kernel, sizes)

        def seconds(candidate: int) -> float:
            new = made(candidate)
            run = new.executor("cuda" if on_gpu else "c")
            return seconds_of(run, partial(laid_out, new, arguments))

        return json.dumps([seconds(k) for k in range(len(candidates))]).encode()

    times: list[float] = json.loads(disk.kept(name, measure))
    return min(range(len(candidates)), key=lambda k: times[k])


def _gpu() -> str:
    """Return what tells CUDA's device from others."""
    device = driver().device()
    return f"{architecture(device)} {Limits.of_device()}"
