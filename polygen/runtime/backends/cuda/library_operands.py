"""Arrays that a call of a library is given: where they are, and how they lie in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from polygen.ir.dtype import DType

_MOST = 2**31 - 1


@dataclass(frozen=True)
class Operand:
    """Part of an array in a GPU's memory.

    Attributes:
        address: where its first element is.
        shape: its extents.
        strides: how far neighbours are apart along each axis, in elements.
        dtype: the type of its elements.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: DType

    @property
    def as_column(self) -> Operand:
        """A vector as a matrix with one column."""
        return Operand(self.address, (*self.shape, 1), (*self.strides, 1), self.dtype)

    def view(self, cupy: Any) -> Any:
        """Return the array as CuPy's."""
        size = self.dtype.itemsize
        strides = tuple([stride * size for stride in self.strides])
        spans = [max(0, n - 1) * stride for n, stride in zip(self.shape, strides, strict=True)]
        low, high = sum(s for s in spans if s < 0), sum(s for s in spans if s > 0)
        device = cupy.cuda.Device().id
        memory = cupy.cuda.UnownedMemory(self.address + low, high - low + size, None, device)
        place = cupy.cuda.MemoryPointer(memory, -low)
        return cupy.ndarray(self.shape, self.dtype, place, strides)


@dataclass(frozen=True)
class Lying:
    """How a matrix lies in memory: by rows or by columns, and how far these are apart."""

    by_rows: bool
    leading: int


def lying(array: Operand, *, by_rows: bool) -> Lying | None:
    """Return how a matrix lies; None if no library takes it.

    Parameters:
        array: the matrix.
        by_rows: how it is said to lie if it lies both ways, as one row or one column does.
    """
    for rows in (by_rows, not by_rows):
        (count, step), (others, apart) = _axes(array, by_rows=rows)
        if (step == 1 or count <= 1) and (apart >= count or others <= 1):
            leading = max(1, count if others <= 1 else apart)
            return None if is_large(leading) else Lying(rows, leading)
    return None


def _axes(array: Operand, *, by_rows: bool) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return extents and strides, first of the axis whose neighbours lie side by side."""
    rows, columns = zip(array.shape, array.strides, strict=True)
    return (columns, rows) if by_rows else (rows, columns)


def is_large(*sizes: int) -> bool:
    """Tell whether libraries, which count with 32 bits, do not count as far."""
    return any(size > _MOST for size in sizes)


def taken(said: str, *, otherwise: bool, is_complex: bool) -> str:
    """Return what a library is told of an operand; empty if it has no word for that.

    Parameters:
        said: what is to be taken: the array (N), its transpose (T) or conjugate transpose (C).
        otherwise: whether the array lies otherwise than the result: what is taken is the opposite.
        is_complex: whether a conjugate differs.
    """
    if not otherwise:
        return said
    if said == "N":
        return "T"
    return "" if said == "C" and is_complex else "N"
