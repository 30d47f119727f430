"""Accumulators of reductions and scans, in annotations and in plain Python."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from polygen.workunits.element_types import element_dtype


class Accumulator:
    """A holder of what a reduction adds up, while it runs as plain Python.

    Attributes:
        value: what is added up so far.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __iadd__(self, other: Any) -> Self:
        self.value += other
        return self

    def __isub__(self, other: Any) -> Self:
        self.value -= other
        return self

    def __imul__(self, other: Any) -> Self:
        self.value *= other
        return self


class AccumulatorType:
    """The type of an accumulator, as an annotation says it.

    Attributes:
        dtype: the type that the user named.
    """

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype

    @property
    def start(self) -> Any:
        """The number that a sum begins with: of Python's for Python's types, else of NumPy's."""
        return start_of(self.dtype)


class Acc:
    """An accumulator of a type, in annotations: ``acc: pk.Acc[pk.double]``."""

    def __class_getitem__(cls, dtype: Any) -> AccumulatorType:
        return AccumulatorType(dtype)


def start_of(dtype: Any) -> Any:
    """Return the number that a sum of a type begins with.

    Parameters:
        dtype: the type; None for numbers of Python's.
    """
    if dtype in (int, float, complex, bool):
        return dtype(0)
    if dtype is None:
        return 0.0
    found: Any = element_dtype(dtype).type(0)
    return np.float64(found) if isinstance(found, np.float64) else found
