"""Marks of the functions and classes that mean something of their own in work units."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

_T = TypeVar("_T")
_MARK = "__polygen_construct__"


def construct(name: str) -> Callable[[_T], _T]:
    """Return a decorator that says what a function or a class means in a work unit.

    Parameters:
        name: what `construct_of` returns of it.
    """

    def mark(function: _T) -> _T:
        setattr(function, _MARK, name)
        return function

    return mark


def construct_of(value: Any) -> str:
    """Return what a function or a class means in a work unit; an empty text for any other value."""
    own = cast("Mapping[str, Any]", vars(value) if hasattr(value, "__dict__") else {})
    found: str = own.get(_MARK, "")
    return found
