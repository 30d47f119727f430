"""Arguments and temporaries as kernels show them to Loo.py's scripts."""

from __future__ import annotations

from dataclasses import fields, replace
from inspect import getattr_static
from typing import Any, cast

import polygen as pg
from polygen.compat.types import NumpyType


class _Typed:
    """An argument whose type has the attribute ``numpy_dtype``, if it is known."""

    @property
    def dtype(self) -> Any:
        """The type of its elements."""
        found = plain(self).dtype
        return found if found is None else NumpyType(found)

    def __eq__(self, other: object) -> bool:
        return bool(plain(self) == plain(other))

    def __hash__(self) -> int:
        return hash(plain(self))

    def copy(self, **changes: Any) -> Any:
        """Return the argument with other attributes."""
        plainly = {n: getattr(v, "numpy_dtype", v) for n, v in changes.items()}
        return shown(replace(plain(self), **plainly))


_SHOWN: dict[type, type] = {
    kind: type(kind.__name__, (_Typed, kind), {})
    for kind in (pg.GlobalArg, pg.ValueArg, pg.TemporaryVariable)
}
_PLAIN = {shown: kind for kind, shown in _SHOWN.items()}


def shown(argument: Any) -> Any:
    """Return an argument of a kernel as Loo.py's scripts look at it."""
    kind = cast("type", argument.__class__)
    return _as(_SHOWN[kind], kind, argument) if kind in _SHOWN else argument


def plain(argument: Any) -> Any:
    """Return what was shown as polygen has it."""
    kind = _PLAIN.get(cast("type", argument.__class__))
    return argument if kind is None else _as(kind, kind, argument)


def _as(new_kind: type, kind: type, argument: Any) -> Any:
    """Return an argument as one of another class, which has the same fields as `kind`."""
    new = cast("Any", object.__new__(new_kind))
    for field in fields(cast("Any", kind)):
        slot: Any = getattr_static(kind, field.name)
        slot.__set__(new, slot.__get__(argument, kind))
    return new
