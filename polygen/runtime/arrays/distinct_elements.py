"""Arrays that are written have one place for each element."""

from __future__ import annotations

from polygen.analysis.access.element_overlap import find_overlap
from polygen.errors import OverlappingElements
from polygen.ir.kernel import Kernel
from polygen.runtime.arrays.array_facts import ArrayInfo
from polygen.source import caller_location


def check_distinct(kernel: Kernel, array: ArrayInfo) -> None:
    """Check that no two elements of an array that a kernel writes lie in one place.

    Raises:
        OverlappingElements: if two do.
    """
    if array.is_row_major:
        return
    found = find_overlap(array.shape, array.strides)
    if found is not None:
        first, second = (f"{array.name}[{', '.join(map(str, index))}]" for index in found)
        raise OverlappingElements(
            f"kernel '{kernel.name}' writes '{array.name}', and {first} and {second} lie in one "
            f"place: for the shape {array.shape}, its strides are {array.strides}, in elements",
            where=caller_location(),
            remedy="pass an array whose elements lie apart: array.copy()",
        )
