"""Copies of values with some fields changed."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

_T = TypeVar("_T")


def changed(value: _T, **changes: Any) -> _T:
    """Return a copy of a frozen dataclass's object, as `dataclasses.replace` does.

    That takes ten times as long, as it calls ``__init__``: this is for classes that do nothing
    there.

    Raises:
        TypeError: if there is no such field.
    """
    kind: Any = type(value)
    names = _names(kind)
    if not changes.keys() <= names.keys():
        raise TypeError(f"no field is called {', '.join(sorted(changes.keys() - names.keys()))}")
    new: _T = object.__new__(kind)
    if not hasattr(new, "__dict__"):  # it has slots
        for name in names:
            object.__setattr__(
                new, name, changes.get(name) if name in changes else getattr(value, name)
            )
        return new
    own = new.__dict__
    # What else the old object has are answers that it keeps.
    own.update(zip(names, map(value.__dict__.__getitem__, names), strict=True))
    own.update(changes)
    return new


@cache
def _names(kind: Any) -> dict[str, None]:
    return dict.fromkeys([field.name for field in fields(kind)])
