"""Values as text, and back: kernels and programs in the cache on disk, which holds no pickles.

    {"classes": ["constant", "...Variable", ...], "values": [[0, "n"], [1, 0], [2, 1, 5], ...]}

A value is the number of a class and, for each of its fields, the number of a value before it; equal
values have one number.  Reading makes objects of the classes that were named, and of no others.
"""

from __future__ import annotations

import base64
import enum
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from types import ModuleType
from typing import Any, TypeAlias, cast

import numpy as np
from constantdict import constantdict

from polygen.errors import PolygenError
from polygen.ir.dtype import to_dtype

_Read: TypeAlias = Callable[[list[Any], list[Any]], Any]
_CONSTANTS = frozenset({type(None), bool, int, float, str})
# Where a thing was written, and how it came about, is no part of its value.
_LEFT_OUT = frozenset({"location", "original", "history"})


class NotText(Exception):
    """A value that no text stands for, or a text that stands for no value."""


@dataclass(frozen=True)
class Leaf:
    """A kind of values that are written as a few texts and numbers.

    Attributes:
        name: what it is called in a text.
        parts: returns the texts and numbers of a value; None for a value of another kind.
        made: returns the value that they stand for.
    """

    name: str
    parts: Callable[[Any], list[Any] | None]
    made: Callable[..., Any]


def classes_in(modules: Iterable[ModuleType]) -> Iterator[type]:
    """Yield the dataclasses and enumerations that modules define.

    Parameters:
        modules: the modules.
    """
    for module in modules:
        for kind in vars(module).values():
            if not isinstance(kind, type) or kind.__module__ != module.__name__:
                continue
            if is_dataclass(kind) or issubclass(kind, enum.Enum):
                yield kind


class ValueTexts:
    """Texts of values of certain classes.

    Parameters:
        classes: dataclasses and enumerations that values consist of.
        leaves: other kinds.
    """

    def __init__(self, classes: Iterable[type], leaves: Sequence[Leaf] = ()) -> None:
        self._classes = {_name(kind): kind for kind in classes}
        self._leaves = (*leaves, *_LEAVES)
        self._fields = {
            name: [f.name for f in fields(cast("Any", kind)) if f.init and f.name not in _LEFT_OUT]
            for name, kind in self._classes.items()
            if is_dataclass(kind)
        }

    def text(self, value: Any) -> str:
        """Return a value as text.

        Parameters:
            value: the value.

        Raises:
            NotText: if it is, or holds, one of another class.
        """
        writer = _Writer(self._parts)
        writer.number(value)
        return json.dumps({"classes": list(writer.classes), "values": writer.values})

    def value(self, text: str) -> Any:
        """Return the value whose text is `text`.

        Parameters:
            text: what `text` returned.

        Raises:
            NotText: if it is none of a value.
        """
        try:
            content = json.loads(text)
            made: list[Any] = []
            make = [self._reader(name) for name in content["classes"]]
            for kind, *parts in content["values"]:
                made.append(make[kind](made, parts))
            return made[-1]
        except (ValueError, TypeError, KeyError, IndexError, PolygenError) as error:
            raise NotText(f"this text stands for no value: {error}") from error

    def _parts(self, value: Any, number: Callable[[Any], int]) -> tuple[str, list[Any]]:
        """Return what a value is, and what it is made of: texts, or numbers of values."""
        kind = cast("Any", type(value))
        if kind in _CONSTANTS:
            return "constant", [value]
        if kind is tuple:
            return "tuple", [number(part) for part in value]
        name = _name(kind)
        if name in self._fields:
            return name, [number(getattr(value, field)) for field in self._fields[name]]
        if name in self._classes:
            return name, [value.name]
        if kind is frozenset:
            return "frozenset", sorted([number(part) for part in value])
        if kind is dict or kind is constantdict:
            return kind.__name__, [number(part) for pair in value.items() for part in pair]
        for leaf in self._leaves:
            parts = leaf.parts(value)
            if parts is not None:
                return leaf.name, parts
        raise NotText(f"no text stands for {value!r}")

    def _reader(self, name: str) -> _Read:
        """Return what makes a value, given the values before it and its parts."""
        if name in _READERS:
            return _READERS[name]
        for leaf in self._leaves:
            if leaf.name == name:
                return lambda _, parts: leaf.made(*parts)
        kind: Any = self._classes[name]
        if issubclass(kind, enum.Enum):
            return lambda _, parts: kind[parts[0]]
        names = self._fields[name]

        def read(known: list[Any], parts: list[Any]) -> Any:
            return kind(**dict(zip(names, [known[part] for part in parts], strict=True)))

        return read


class _Writer:
    """Numbers values, those that others hold before these."""

    def __init__(self, parts: Callable[[Any, Any], tuple[str, list[Any]]]) -> None:
        self.classes: dict[str, int] = {}
        self.values: list[list[Any]] = []
        self._parts = parts
        self._known: dict[Any, int] = {}
        self._seen: dict[int, tuple[Any, int]] = {}  # by identity; the value is kept alive

    def number(self, value: Any) -> int:
        """Return the number of a value."""
        seen = self._seen.get(id(value))
        if seen is not None:
            return seen[1]
        name, parts = self._parts(value, self.number)
        kind = self.classes.setdefault(name, len(self.classes))
        key = (kind, repr(parts))
        if key not in self._known:
            self._known[key] = len(self.values)
            self.values.append([kind, *parts])
        self._seen[id(value)] = value, self._known[key]
        return self._known[key]


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _pairs(known: list[Any], parts: list[Any]) -> dict[Any, Any]:
    return {known[key]: known[value] for key, value in zip(parts[::2], parts[1::2], strict=True)}


_READERS: Mapping[str, _Read] = {
    "constant": lambda _, parts: parts[0],
    "tuple": lambda known, parts: tuple([known[part] for part in parts]),
    "frozenset": lambda known, parts: frozenset([known[part] for part in parts]),
    "dict": _pairs,
    "constantdict": lambda known, parts: constantdict(_pairs(known, parts)),
}


def _array_parts(value: Any) -> list[Any] | None:
    if not isinstance(value, np.ndarray | np.generic):
        return None
    data = np.asarray(cast("Any", value))
    shown = base64.b64encode(data.tobytes()).decode("ascii")
    return [data.dtype.name, list(data.shape), isinstance(value, np.generic), shown]


def _array(name: str, shape: list[int], is_scalar: bool, shown: str) -> Any:
    data = np.frombuffer(base64.b64decode(shown), to_dtype(name)).reshape(shape)
    return data[()] if is_scalar else data


_LEAVES = (
    Leaf("dtype", lambda v: [v.name] if isinstance(v, np.dtype) else None, to_dtype),
    Leaf("complex", lambda v: [v.real, v.imag] if type(v) is complex else None, complex),
    Leaf("array", _array_parts, _array),
)
