"""What a reduction does with its values, where a name alone does not say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from polygen.ir.dtype import DType, dtype_name


@dataclass(frozen=True)
class Special:
    """An operation of which more is said than its name, as in ``sum<float64>(j, a[j])``.

    Attributes:
        name: its name.
        dtype: the type it is computed in; None for the one that NumPy would take.
    """

    name: str
    dtype: DType | None = None

    def __str__(self) -> str:
        return self.name if self.dtype is None else f"{self.name}<{dtype_name(self.dtype)}>"


Operation: TypeAlias = str | Special  # ``sum`` is the operation of that name as it is
