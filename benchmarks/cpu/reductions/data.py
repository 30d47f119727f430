"""The reductions that are measured on processors."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from benchmarks.cpu.data import placed


@dataclass(frozen=True)
class Reduction:
    """What is reduced.

    Attributes:
        shape: the shape of the array.
        axes: those that are reduced.
        operation: a name that polygen has.
        dtype: the type of the array.
    """

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    operation: str = "sum"
    dtype: str = "float32"

    @property
    def name(self) -> str:
        """Return what it is called in the table."""
        shape = "x".join(map(str, self.shape))
        if len(self.shape) == 1 and self.shape[0] & (self.shape[0] - 1) == 0:
            shape = f"2^{self.shape[0].bit_length() - 1}"
        over = "all" if len(self.axes) == len(self.shape) else ",".join(map(str, self.axes))
        kind = "" if (self.operation, self.dtype) == ("sum", "float32") else self.kind
        return f"{shape} over {over}{kind}"

    @property
    def kind(self) -> str:
        """Return the operation and the type."""
        return f" {self.operation} {self.dtype}"

    @property
    def kept(self) -> tuple[int, ...]:
        """Return the shape of the result."""
        kept = tuple(n for axis, n in enumerate(self.shape) if axis not in self.axes)
        return kept or (1,)


_TABLES = (
    (64, 768),
    (1024, 1024),
    (1280, 21128),
    (4093, 4099),
    (8192, 768),
    (1024, 131072),
    (131072, 1024),
    (1048576, 512),
    (3, 16777259),
    (16777259, 3),
)
_SUMS = (
    *(Reduction((1 << bits,), (0,)) for bits in (10, 14, 17, 20, 24, 28, 30)),
    Reduction((16226304,), (0,)),
    *(Reduction(shape, (axis,)) for shape in _TABLES for axis in (0, 1)),
    Reduction((40, 20, 10, 5), (0, 2, 3)),
    *(Reduction((64, 128, 768), axes) for axes in ((0, 1, 2), (0, 1), (2,))),
    *(Reduction((64, 128, 12, 64), axes) for axes in ((0, 1), (0, 1, 3))),
    *(
        Reduction(shape, (0, 1, 2))
        for shape in ((256, 7, 7, 2048), (256, 56, 56, 256), (256, 112, 112, 64))
    ),
)
_KINDS = (
    ("sum", "float64"),
    ("sum", "int32"),
    ("sum", "int8"),
    ("product", "float32"),
    ("max", "float32"),
    ("min", "int32"),
    ("any", "bool"),
)
_MORE = tuple(
    Reduction(shape, axes, *kind)
    for kind in _KINDS
    for shape, axes in (((1 << 24,), (0,)), ((8192, 768), (1,)), ((8192, 768), (0,)))
)
REDUCTIONS = {one.name: one for one in (*_SUMS, *_MORE)}


_RANDOM = (1 << 22) - 3  # then numbers are repeated


def array_of(one: Reduction) -> Any:
    """Return the array of a reduction: the same one in each process."""
    rng, count = np.random.default_rng(seed=1), min(_RANDOM, prod(one.shape))
    if one.dtype == "bool":
        found: Any = np.zeros(count, bool)
    elif one.dtype.startswith("int"):
        found = rng.integers(-99, 99, count, dtype=one.dtype)
    else:
        found = rng.random(count).astype(one.dtype)
        if one.operation == "product":
            found = np.where(found < 0.5, -1, 1)  # others leave the range, or lose digits
    return placed(np.resize(found.astype(one.dtype, copy=False), one.shape))


def result_type(one: Reduction) -> np.dtype[Any]:
    """Return the type of what NumPy returns."""
    if one.operation in ("sum", "product"):
        found: np.dtype[Any] = np.add.reduce(np.zeros(1, one.dtype)).dtype
        return found
    return np.dtype(one.dtype)


def exact(one: Reduction, array: Any) -> Any:
    """Return the result with fewer digits lost than any library loses."""
    ufunc = {"sum": np.add, "product": np.multiply, "max": np.maximum, "min": np.minimum}
    wide = np.float64 if one.dtype == "float32" else None
    found = ufunc.get(one.operation, np.logical_or).reduce(array, axis=one.axes, dtype=wide)
    return np.reshape(found, one.kept)
