"""Types as Loo.py's scripts write them: they are NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygen import auto
from polygen.compat._modules import imported as __getattr__
from polygen.compat._ours import making
from polygen.ir.dtype import to_dtype

__all__ = ["LoopyType", "NumpyType", "__getattr__", "to_loopy_type"]


@making(np.dtype)
def NumpyType(dtype: Any) -> Any:  # noqa: N802
    """Return a type of NumPy's."""
    return to_dtype(dtype)


LoopyType = NumpyType


def to_loopy_type(
    dtype: Any,
    allow_auto: bool = False,  # noqa: ARG001
    allow_none: bool = False,  # noqa: ARG001
    for_atomic: bool = False,  # noqa: ARG001
) -> Any:
    """Return a type of NumPy's; what says nothing of it, None or `auto`, as it is."""
    return dtype if dtype is None or dtype is auto else to_dtype(dtype)
