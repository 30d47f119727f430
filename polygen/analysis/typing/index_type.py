"""Decides whether loop counters and subscripts need 64 bits, as far as the kernel tells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

import numpy as np

from polygen.analysis.typing.inference import sizes
from polygen.analysis.typing.magnitude import MOST_FOR_INT32, fits, values_fit
from polygen.ir import walk
from polygen.ir.array import GlobalArg, TemporaryVariable, ValueArg
from polygen.ir.dtype import DType
from polygen.ir.kernel import Kernel
from polygen.ir.layout import element_strides, offset_of
from polygen.ir.remembered import per_kernel
from polygen.ir.sizes import products

INT32: DType = np.dtype(np.int32)
INT64: DType = np.dtype(np.int64)
USUAL = 2**20  # sizes that code is generated for, if nothing is known of them


def index_type(kernel: Kernel, largest: int | None = None, places: int = 0) -> DType:
    """Return the type of loop counters and subscripts that a kernel asks for.

    Parameters:
        kernel: the kernel.
        largest: what no size exceeds.  None if that is not known: then 32 bits will do if they
            hold what is computed of numbers up to a million, and no size is declared of a type
            that holds more; calls know their sizes, and may ask for more.
        places: what no place of an element exceeds, if sizes are known.
    """
    if largest is None:
        enough = values_fit(kernel, USUAL) and _sizes_fit(kernel)
    else:
        most = max(largest, places)
        counted = largest if _is_bounded_by_sizes(kernel) else most
        enough = most < MOST_FOR_INT32 and fits(kernel, counted)
    return INT32 if enough and _constants_fit(kernel) else INT64


@per_kernel
def _is_bounded_by_sizes(kernel: Kernel) -> bool:
    """Tell whether sizes that calls pass bound all loops: no data does, and no product of sizes."""
    known = {*kernel.parameters, *kernel.inames}
    return not products(kernel.derived_sizes) and all(
        known.issuperset(domain.parameters) for domain in kernel.domains
    )


def _sizes_fit(kernel: Kernel) -> bool:
    typed = [(a.name, a.dtype) for a in kernel.arguments if isinstance(a, ValueArg)]
    wide = [name for name, t in typed if t is not None and not np.can_cast(t, INT32)]
    return not wide or sizes(kernel).isdisjoint(wide)


@per_kernel
def _constants_fit(kernel: Kernel) -> bool:
    return all(number < MOST_FOR_INT32 for number in _numbers(kernel))


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
