"""Libraries whose arrays functions are traced for: NumPy's on the host, CuPy's on a GPU.

Arrays of both have what is asked of them here: ``dtype`` (NumPy's), ``ndim``, ``shape``, ``flags``,
views by subscripts, ``transpose`` and ``reshape``.  CuPy is not loaded: without it, there is no
array of its.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np


@dataclass(frozen=True)
class ArrayLibrary:
    """A library of arrays.

    Attributes:
        module: what statements that stay Python have for NumPy.
        target: where kernels run that are given its arrays.
    """

    module: Any
    target: str


class _NumpyOnGpu:
    """CuPy's names, and NumPy's where it has none."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(sys.modules["cupy"], name, None)
        return getattr(np, name) if found is None else found


NUMPY, CUPY = ArrayLibrary(np, "c"), ArrayLibrary(_NumpyOnGpu(), "cuda")


# Classes whose objects stand for an array, by the attribute that has it.
HOLDERS: dict[type, str] = {}


def library_of(value: Any) -> ArrayLibrary | None:
    """Return the library that an array is of; None for what is no array."""
    cupy: Any = sys.modules.get("cupy")
    if cupy is not None and type(value) is cupy.ndarray:
        return CUPY
    return NUMPY if isinstance(value, np.ndarray) else None


def library_of_results(values: Iterable[Any]) -> ArrayLibrary:
    """Return the library for new arrays of a call: a GPU's, if one of its arguments is there."""
    return CUPY if any(library_of(one) is CUPY for one in arrays_in(values)) else NUMPY


def arrays_in(values: Iterable[Any]) -> Iterator[Any]:
    """Go through the arrays among values, and those in tuples and lists."""
    for value in values:
        holder = HOLDERS.get(value.__class__)
        if isinstance(value, tuple | list):
            yield from arrays_in(cast("Any", value))
        elif holder is not None:
            yield getattr(value, holder)
        elif library_of(value) is not None:
            yield value
