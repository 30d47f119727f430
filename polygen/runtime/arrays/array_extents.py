"""The extents of arrays, once sizes are known."""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from polygen.analysis.integers.isl_affine import to_val
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.runtime.arrays.expression_values import value_of

_PARAM = isl.dim_type.param


def extent_of(kernel: Kernel, expression: Expression, sizes: Mapping[str, int]) -> int:
    """Return the extent of an axis; of an array that nothing touches, at least 0.

    Where it is negative although no size in it is, as ``n - 1`` for ``n = 0``, the array is
    empty if the call executes no instruction.  Else it stays negative: proofs count on arrays
    whose extents are not.
    """
    extent = value_of(expression, sizes)
    if (
        isinstance(expression, ex.Product)
        and min(value_of(f, sizes) for f in expression.children) < 0
    ):
        return -abs(extent)  # a product of sizes below 0 is no extent
    if extent >= 0 or any(sizes[name] < 0 for name in walk.free_variables(expression)):
        return extent
    return 0 if _does_nothing(kernel, sizes) else extent


def _does_nothing(kernel: Kernel, sizes: Mapping[str, int]) -> bool:
    """Return whether each instruction is within a loop that is empty whatever is around it."""
    empty: set[str] = set()
    for domain in kernel.domains:
        flat = domain.flat
        for name in domain.parameters:
            position = flat.find_dim_by_name(_PARAM, name)
            if name in sizes and position >= 0:
                flat = flat.fix_val(_PARAM, position, to_val(sizes[name]))
        if flat.is_empty():
            empty.update(domain.inames)
    return all(empty & insn.within_inames for insn in kernel.instructions)
