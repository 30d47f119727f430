"""Types as Loo.py's scripts write them: NumPy's, with an attribute more."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygen import auto
from polygen.compat._modules import imported as __getattr__
from polygen.ir.dtype import to_dtype

__all__ = ["LoopyType", "NumpyType", "__getattr__", "to_loopy_type"]


class _OfNumPy(type):
    """Lets types of NumPy's, which arguments have, be instances of `NumpyType`."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, np.dtype) or type.__instancecheck__(cls, instance)


class NumpyType(metaclass=_OfNumPy):
    """A type of NumPy's, with the attribute that scripts ask Loo.py's types for.

    Attributes:
        numpy_dtype: the type.  All its attributes are this one's, too.

    Parameters:
        dtype: the type, or its name.
    """

    def __init__(self, dtype: Any) -> None:
        self.numpy_dtype = self.dtype = to_dtype(getattr(dtype, "numpy_dtype", dtype))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["numpy_dtype"], name)

    def __eq__(self, other: object) -> bool:
        return bool(self.numpy_dtype == getattr(other, "numpy_dtype", other))

    def __hash__(self) -> int:
        return hash(self.numpy_dtype)

    def __repr__(self) -> str:
        return f"np:{self.numpy_dtype!r}"

    def is_integral(self) -> bool:
        """Tell whether its numbers are integers."""
        return self.numpy_dtype.kind in "iu"

    def is_complex(self) -> bool:
        """Tell whether its numbers are complex."""
        return self.numpy_dtype.kind == "c"


LoopyType = NumpyType


def to_loopy_type(
    dtype: Any,
    allow_auto: bool = False,  # noqa: ARG001
    allow_none: bool = False,  # noqa: ARG001
    for_atomic: bool = False,  # noqa: ARG001
) -> Any:
    """Return a type as Loo.py has them; what says nothing of it, None or `auto`, as it is."""
    return dtype if dtype is None or dtype is auto else NumpyType(dtype)
