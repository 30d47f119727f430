"""Types of inputs that nobody said: to choose by, never part of the result."""

from __future__ import annotations

import numpy as np

from polygen.analysis.access.accesses import references
from polygen.analysis.typing.index_type import index_type
from polygen.analysis.typing.inference import infer_types
from polygen.errors import TypeNotFound
from polygen.ir import walk
from polygen.ir.kernel import Kernel
from polygen.transforms.kernels.add_dtypes import add_dtypes


def with_types(kernel: Kernel) -> Kernel:
    """Return the kernel with types for all inputs; itself if all are known."""
    try:
        infer_types(kernel, index_type(kernel))
    except TypeNotFound:
        return add_dtypes(kernel, _guesses(kernel))
    return kernel


def _guesses(kernel: Kernel) -> dict[str, object]:
    """Return a type for each input without one."""
    found = infer_types(kernel, index_type(kernel), complete=False)
    unknown = [a.name for a in found.arguments if a.dtype is None]
    indices = {
        name
        for insn in kernel.expanded.instructions
        for reference in references(insn)
        for index in reference.index
        for name in walk.free_variables(index)
    }
    written = kernel.writers
    return {
        name: np.dtype(np.int32 if name in indices else np.float64)
        for name in unknown
        if name not in written or name in indices
    }
