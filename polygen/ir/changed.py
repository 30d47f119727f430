"""Copies of values with some fields changed."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

_T = TypeVar("_T")


def changed(value: _T, **changes: Any) -> _T:
    """Return a copy of a frozen dataclass's object, as `dataclasses.replace` does.

    That takes ten times as long, as it calls ``__init__``: this is for classes that do nothing
    there, and have no slots.

    Raises:
        TypeError: if there is no such field.
    """
    kind: Any = type(value)
    names = _names(kind)
    if unknown := changes.keys() - names:
        raise TypeError(f"no field is called {', '.join(sorted(unknown))}")
    new: _T = object.__new__(kind)
    old = value.__dict__
    # What else is there are answers that the old object keeps.
    new.__dict__.update({name: old[name] for name in names}, **changes)
    return new


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple([field.name for field in fields(kind)])
