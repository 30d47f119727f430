"""Checks that each written element of an array has a place of its own.

What depends on sizes is no error: a call looks at what it is given (`runtime.distinct`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from polygen.analysis.access.element_overlap import Index, find_overlap
from polygen.errors import OverlappingElements
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import Array, GlobalArg, TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Auto, Strided, element_strides
from polygen.ir.show import show_tuple
from polygen.ir.show_expression import show_expression
from polygen.ir.verify import excerpt


def check_distinct(kernel: Kernel) -> None:
    """Check that no two elements of an array that is written lie in one place, whatever the sizes.

    Raises:
        OverlappingElements: if two do as soon as there are two along each axis.
    """
    for array in (*kernel.arguments, *kernel.temporaries):
        if isinstance(array, GlobalArg | TemporaryVariable) and array.name in kernel.writers:
            tags = array.dim_tags or ()
            if any(isinstance(tag, Strided) for tag in tags):
                _check(kernel, array)


def _check(kernel: Kernel, array: Array) -> None:
    found = _overlap(kernel, array)
    if found is None:
        return
    first, second = (f"{array.name}[{', '.join(map(str, index))}]" for index in found)
    shape, strides = array.shape or (), element_strides(array) or ()
    sized = any(not isinstance(extent, int) for extent in shape)
    writer = kernel.writers[array.name][0]
    raise OverlappingElements(
        f"kernel '{kernel.name}' writes '{array.name}', and {first} and {second} lie in one place"
        + (", where the sizes are 2" if sized else "")
        + f": its shape is {show_tuple(shape)}, its strides are {_shown(strides)}",
        where=writer.location or kernel.location,
        excerpt=excerpt(kernel, writer.id),
        remedy="give each axis a stride that is more than the others reach, or use N0, N1, ...",
    )


def _overlap(kernel: Kernel, array: Array) -> tuple[Index, Index] | None:
    """Return two elements that lie in one place, whatever the values of parameters."""
    extents = [_least(kernel, extent) for extent in array.shape or ()]
    strides = element_strides(array) or ()
    # Parts along axes tagged sep are arrays of their own; strides that a call gives, it checks.
    numbers = [axis for axis, stride in enumerate(strides) if isinstance(stride, int)]
    known = [strides[axis] for axis in numbers]
    found = find_overlap(
        [extents[axis] for axis in numbers], [s for s in known if isinstance(s, int)]
    )
    if found is not None:
        first, second = (_full(array, numbers, index) for index in found)
        return first, second
    for one, other in combinations(range(len(strides)), 2):
        same = strides[one] == strides[other] and isinstance(strides[one], ex.ExpressionNode)
        if same and extents[one] > 1 and extents[other] > 1:
            return _full(array, [one], [1]), _full(array, [other], [1])
    return None


def _least(kernel: Kernel, extent: Expression) -> int:
    """Return an extent; for one that is no number, how many there are where it matters."""
    if isinstance(extent, int):
        return extent
    assumed = kernel.assumptions.parameters
    return 2 if walk.free_variables(extent).isdisjoint(assumed) else 1


def _full(array: Array, axes: Sequence[int], index: Sequence[int]) -> Index:
    """Return subscripts along all axes: 0 along the others."""
    given = dict(zip(axes, index, strict=True))
    return tuple([given.get(axis, 0) for axis in range(len(array.shape or ()))])


def _shown(strides: Sequence[Expression | Auto | None]) -> str:
    parts = ["auto" if isinstance(s, Auto) or s is None else show_expression(s) for s in strides]
    return f"({', '.join(parts)})"
