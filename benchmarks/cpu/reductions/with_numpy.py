"""Reductions in NumPy, into an array that is there."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.cpu.data import Run
from benchmarks.cpu.reductions.data import Reduction, array_of, result_type

_UFUNCS = {
    "sum": np.add,
    "product": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "any": np.logical_or,
}


def prepare(one: Reduction) -> Run:
    """Return what reduces an array."""
    a, out = array_of(one), np.zeros(one.kept, result_type(one))
    reduce, axes = _UFUNCS[one.operation].reduce, one.axes
    into = out if len(axes) < a.ndim else out[0, ...]

    def run() -> Any:
        reduce(a, axis=axes, out=into)
        return out

    return run
