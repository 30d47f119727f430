"""Whether loop counters and subscripts need 64 bits, as far as the kernel itself tells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

import numpy as np

from polygen.ir import walk
from polygen.ir.array import GlobalArg, TemporaryVariable
from polygen.ir.dtype import DType
from polygen.ir.kernel import Kernel, per_kernel
from polygen.ir.layout import element_strides, offset_of

INT32: DType = np.dtype(np.int32)
INT64: DType = np.dtype(np.int64)
# Below this, a 32-bit counter can go a little past the end: a loop by blocks does.
MOST_FOR_INT32 = 2**31 - 2**20


@per_kernel
def index_type(kernel: Kernel) -> DType:
    """Return the type of loop counters and subscripts that the constants in a kernel ask for.

    A call may ask for more, with the sizes that it passes.
    """
    return INT64 if any(number >= MOST_FOR_INT32 for number in _numbers(kernel)) else INT32


def _numbers(kernel: Kernel) -> Iterator[int]:
    """Yield the counts of elements, the bounds of loops, and the numbers in subscripts."""
    for variable in (*kernel.arguments, *kernel.temporaries):
        if isinstance(variable, GlobalArg | TemporaryVariable):
            yield prod(e for e in variable.shape or () if isinstance(e, int))
            strides = (*(element_strides(variable) or ()), offset_of(variable))
            yield from (abs(s) for s in strides if isinstance(s, int))
    for domain in kernel.domains:
        yield from map(int, re.findall(r"\d{10,}", domain.text))
    for insn in kernel.expanded.instructions:
        for access in insn.accesses:
            for index in walk.parts(access)[1:]:
                yield from (abs(n) for n in walk.subexpressions(index) if isinstance(n, int))
