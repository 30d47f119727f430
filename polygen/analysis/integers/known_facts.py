"""Facts about the parameters of a kernel that hold in every call."""

from __future__ import annotations

from functools import reduce

import islpy as isl

from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.products import size_facts
from polygen.ir import expression as ex
from polygen.ir.array import GlobalArg, TemporaryVariable
from polygen.ir.domain import intersection
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel


@per_kernel
def is_never_written(kernel: Kernel, name: str) -> bool:
    """Tell whether a variable is an array that keeps its values while the kernel runs."""
    variable = kernel.variables.get(name)
    if isinstance(variable, TemporaryVariable):
        return variable.read_only
    if not isinstance(variable, GlobalArg) or name in kernel.writers:
        return False
    written = [a for a in kernel.arguments if isinstance(a, GlobalArg) and a.name in kernel.writers]
    return not any(a.may_alias or variable.may_alias for a in written)


@per_kernel
def known_parameters(kernel: Kernel) -> isl.Set:
    """Return the values that the parameters may have, as a flat set.

    Those that the assumptions allow, and for which no array has an extent less than 0: calls check
    both.  Derived sizes are as far as isl can say what they are.
    """
    extents = {
        extent: None
        for array in (*kernel.arguments, *kernel.temporaries)
        if isinstance(array, GlobalArg | TemporaryVariable)
        for extent in array.shape or ()
        if not isinstance(extent, int)
    }
    conditions = (condition_set(ex.Comparison(extent, ">=", 0)) for extent in extents)
    known = kernel.assumptions.flat
    if kernel.derived_sizes:
        known = known.intersect(size_facts(kernel))
    return reduce(intersection, [c for c in conditions if c is not None], known)
