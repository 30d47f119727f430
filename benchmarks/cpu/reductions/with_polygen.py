"""Reductions in polygen, for C with OpenMP: as they are written, and `optimize_reductions`."""

from __future__ import annotations

from typing import Any

import numpy as np

import polygen as pg
from benchmarks.cpu.data import Run
from benchmarks.cpu.reductions.data import Reduction, array_of, result_type

_NOTHING_KNOWN = pg.Limits(1.0, 1.0)  # of the processor: nothing is needed


def kernel(one: Reduction) -> pg.Kernel:
    """Return a kernel that reduces an array."""
    axes = range(len(one.shape))
    bounds = " and ".join(f"0<=i{axis}<{one.shape[axis]}" for axis in axes)
    subscripts = ",".join(f"i{axis}" for axis in axes)
    reduced = ",".join(f"i{axis}" for axis in one.axes)
    kept = ",".join(f"i{axis}" for axis in axes if axis not in one.axes)
    over = f"({reduced})" if len(one.axes) > 1 else reduced
    knl = pg.make_kernel(
        f"{{ [{subscripts}]: {bounds} }}",
        f"out[{kept or 0}] = {one.operation}({over}, a[{subscripts}])",
        [
            pg.GlobalArg("a", one.dtype, ",".join(map(str, one.shape))),
            pg.GlobalArg("out", result_type(one), ",".join(map(str, one.kept))),
        ],
        name="reduction",
        target="c",
    )
    return pg.optimize_reductions(knl, _NOTHING_KNOWN)


def prepare(one: Reduction) -> Run:
    """Return what reduces an array."""
    a, out = array_of(one), np.zeros(one.kept, result_type(one))
    reduce = kernel(one).executor("c")

    def run() -> Any:
        reduce(a=a, out=out)
        return out

    return run
