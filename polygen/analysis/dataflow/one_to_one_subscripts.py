"""Proves that other subscripts of an array are a bijective renaming of its elements.

What data decides of subscripts is beyond proofs of order and of values.  But if each use of an
array has other subscripts by one rule, by which no two elements become one, then each element is
called otherwise wherever it is touched, whichever it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import islpy as isl

from polygen.analysis.dataflow.read_sources import readers_tell
from polygen.analysis.integers.isl_affine import condition_set
from polygen.ir import expression as ex
from polygen.ir.domain import universe
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel

_ELEMENT, _OTHER = "__element_", "__other_"


def is_beyond_proofs(kernel: Kernel, name: str) -> bool:
    """Tell whether data decides which elements of an array are touched."""
    return not readers_tell(kernel.expanded, name)


def is_one_to_one(
    kernel: Kernel,
    name: str,
    index: Callable[[tuple[Expression, ...]], tuple[Expression, ...]],
) -> bool:
    """Tell whether no two elements of an array have the same new subscripts.

    Parameters:
        kernel: the kernel, which knows something of sizes.
        name: the array.
        index: returns the new subscripts of an element.
    """
    shape = kernel.array(name).shape or ()
    first, second = (
        tuple([ex.Variable(f"{start}{axis}") for axis in range(len(shape))])
        for start in (_ELEMENT, _OTHER)
    )
    inside = [
        ex.Comparison(element, operator, bound)
        for elements in (first, second)
        for element, extent in zip(elements, shape, strict=True)
        for operator, bound in ((">=", 0), ("<", extent))
    ]
    pairs = zip(index(first), index(second), strict=True)
    met = _where([*inside, *(ex.Comparison(a, "==", b) for a, b in pairs)])
    same = _where([ex.Comparison(a, "==", b) for a, b in zip(first, second, strict=True)])
    if met is None or same is None:
        return False
    return bool(met.intersect(kernel.assumptions.flat).is_subset(same))


def _where(conditions: Sequence[Expression]) -> isl.Set | None:
    """Return the points at which all of these hold; None if no set can say that."""
    found: list[isl.Set] = []
    for condition in conditions:
        holds = condition_set(condition)
        if holds is None:
            return None
        found.append(holds)
    return reduce(isl.Set.intersect, found, universe())
