"""Arrays of other libraries as NumPy's and CuPy's, without copies, for the time of a call.

PyTorch's tensors, and whatever has `__cuda_array_interface__`; what a call returns is a tensor, if
one of its arguments was.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, cast

import numpy as np

from polygen.errors import NoLibrary
from polygen.python.array_libraries import library_of
from polygen.source import caller_location


class BorrowedArrays:
    """The arguments of a call, with arrays that the tracer knows.

    Parameters:
        given: the arguments by name.

    Attributes:
        names: the same, with arrays of NumPy's and CuPy's.

    Raises:
        NoLibrary: for arrays on a GPU where CuPy is not installed.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._originals: dict[int, Any] = {}
        self._has_tensors = False
        self.names = {name: self._seen(value) for name, value in given.items()}

    def _seen(self, value: Any) -> Any:
        if isinstance(value, tuple | list):
            several = cast("Any", value)
            parts = [self._seen(part) for part in several]
            return several if all(map(_is, parts, several)) else _like(several, parts)
        is_tensor = _is_tensor(value)
        if library_of(value) is not None or not (is_tensor or _is_on_gpu(value)):
            return value
        if is_tensor and not value.is_cuda:
            found = value.detach().numpy()
        else:
            found = _cupy().asarray(value.detach() if is_tensor else value)
        self._has_tensors |= is_tensor
        self._originals[id(found)] = value
        return found

    def returned(self, value: Any) -> Any:
        """Return a result as the library of the arguments has it.

        Parameters:
            value: what the function returned.
        """
        if isinstance(value, tuple | list):
            return _like(value, [self.returned(part) for part in cast("Any", value)])
        if id(value) in self._originals:
            return self._originals[id(value)]
        if not self._has_tensors or library_of(value) is None:
            return value
        if any(stride < 0 for stride in value.strides):  # which PyTorch does not have
            value = value.copy()
        torch: Any = sys.modules["torch"]
        return (
            torch.from_numpy(value) if isinstance(value, np.ndarray) else torch.from_dlpack(value)
        )


def has_foreign_arrays(values: Any) -> bool:
    """Tell whether the tracer does not know the library of one of several values."""
    return any(
        has_foreign_arrays(cast("Any", value))
        if isinstance(value, tuple | list)
        else library_of(value) is None and (_is_tensor(value) or _is_on_gpu(value))
        for value in values
    )


def _is(one: Any, other: Any) -> bool:
    return one is other


def _like(value: Any, parts: list[Any]) -> Any:
    return parts if isinstance(value, list) else tuple(parts)


def _is_tensor(value: Any) -> bool:
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _is_on_gpu(value: Any) -> bool:
    return hasattr(cast("Any", type(value)), "__cuda_array_interface__")


def _cupy() -> Any:
    try:
        return import_module("cupy")
    except ImportError:
        raise NoLibrary(
            "a function under pg.jit is given arrays on a GPU, whose parts CuPy names, and CuPy is "
            "not installed",
            where=caller_location(),
            remedy="pip install cupy-cuda13x, or as many digits as your driver's CUDA has",
        ) from None
