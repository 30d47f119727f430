"""What a kernel offers although it stands below the parts that do it: they fill these in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polygen.errors import InternalError

_SLOTS: dict[str, Callable[..., Any]] = {}


def fill_slot(name: str, function: Callable[..., Any]) -> None:
    """Let kernels use `function`: for ``"show"``, ``"inlined"``, ``"space"``, ``"axes"``, ..."""
    _SLOTS[name] = function


def slot(name: str) -> Callable[..., Any]:
    """Return the function that a kernel uses.

    Raises:
        InternalError: if the part of polygen that has it was not imported.
    """
    if name not in _SLOTS:
        raise InternalError(f"nothing is there for '{name}'; import polygen, not parts of it")
    return _SLOTS[name]
