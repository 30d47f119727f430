"""Attributes that `polygen.compat` adds to kernels, instructions and programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

_LOOK_UP: list[Callable[[object, str], Any]] = []


class Offering:
    """Base class of objects that gain attributes once `polygen.compat` is imported."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return an attribute that the class itself does not have."""
            if _LOOK_UP and not name.startswith("_"):
                return _LOOK_UP[-1](self, name)
            raise no_attribute(self, name)


def no_attribute(owner: object, name: str, hint: str = "") -> AttributeError:
    """Return the error for an attribute that there is not."""
    kind = type(owner).__name__
    what = f"'{kind}' object has no attribute '{name}'" + (f": {hint}" if hint else "")
    return AttributeError(what, name=name, obj=owner)


def offer(look_up: Callable[[object, str], Any]) -> None:
    """Have attributes that a class does not have looked up by a function."""
    _LOOK_UP[:] = [look_up]
