"""Layouts of arrays as text: ``"N1, N0"``, ``"x:stride:ld, y:stride:1"``, ``"F"``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from polygen.errors import InvalidArgument, MalformedTag, UserError
from polygen.ir import expression as ex
from polygen.ir.array import GlobalArg, TemporaryVariable
from polygen.ir.layout import (
    Auto,
    AxisTag,
    DimTags,
    Nested,
    Separate,
    Strided,
    Vector,
    auto,
    is_axis_tag,
)
from polygen.language.extents import to_extents
from polygen.language.parser import located, parse_expression
from polygen.source import caller_location

_NAMED = re.compile(r"\s*([A-Za-z_]\w*)\s*:(?!\s*$)")
_STRIDE = re.compile(r"stride\s*:\s*(?P<stride>.*\S)\s*", re.DOTALL)
_PAD = r"(?:\(\s*pad_to\s*=\s*(?P<pad>\d+)\s*\))?"
_NESTED = re.compile(rf"N(?P<level>\d)\s*{_PAD}")
_ORDERED = re.compile(rf"(?P<order>[CFcf])\s*{_PAD}")
_PLAIN: dict[str, AxisTag] = {"vec": Vector(), "sep": Separate()}
_REMEDY = "tags are N0 to N9, C, F, stride:..., vec and sep"

_Array = TypeVar("_Array", bound=GlobalArg | TemporaryVariable)


@dataclass(frozen=True, slots=True)
class _Ordered:
    """``C`` or ``F``: a place in the order that the axes have.

    Attributes:
        order: ``"C"`` or ``"F"``.
        pad_to: see `Nested`.
    """

    order: str
    pad_to: int


def with_layout(array: _Array) -> _Array:
    """Return an array with its layout in the form that kernels have.

    ``strides``, ``order``, and texts in ``dim_tags`` are gone then.  Where the number of axes is
    not known yet, ``order`` stays: see `with_order`.

    Raises:
        MalformedTag: if a text in ``dim_tags`` is no tag, or if they give no order of the axes.
        InvalidArgument: if the layout is said in two ways, or is something else than text and tags.
        MalformedExpression: if a stride is no expression.
    """
    said = [n for n in ("dim_tags", "strides", "order") if getattr(array, n) is not None]
    if len(said) > 1:
        raise InvalidArgument(
            f"the layout of '{array.name}' is said twice: with {' and '.join(said)}=",
            where=caller_location(),
            remedy="leave out one of them",
        )
    names: object = array.dim_names
    if names is not None:
        array = replace(array, dim_names=_names(array.name, names))
    if isinstance(array, GlobalArg) and array.offset != 0:
        array = replace(array, offset=_offset(array))
    if said == ["strides"]:
        given: object = array.strides
        tags = None if isinstance(given, Auto) else _of_strides(given, array.name)
        array = replace(array, strides=None, dim_tags=tags)
    elif said == ["dim_tags"]:
        array = _with_tags(array, array.dim_tags)
    elif said == ["order"]:
        array = replace(array, order=_checked_order(array.name, array.order))
    return with_order(array)


def with_order(array: _Array) -> _Array:
    """Return an array with ``order=`` turned into a tag for each axis, if its shape is known."""
    if array.order is None or array.shape is None:
        return array
    tags = [_Ordered(array.order, 1)] * len(array.shape)
    return replace(array, order=None, dim_tags=_nested(tags, array.order))


def with_dim_tags(array: _Array, dim_tags: object) -> _Array:
    """Return an array with another layout, said as in ``dim_tags=``; whatever it had is forgotten.

    Raises:
        MalformedTag: if a text is no tag, or if the tags give no order of the axes.
        InvalidArgument: if it is something else than text and tags.
        MalformedExpression: if a stride is no expression.
    """
    return with_layout(replace(array, dim_tags=dim_tags, dim_names=None))  # type: ignore[arg-type]


def axis_count(text: str) -> int:
    """Return the number of tags in a text."""
    return len(_pieces(text))


def _with_tags(array: _Array, given: Any) -> _Array:
    text = given if isinstance(given, str) else None
    if isinstance(given, list | tuple):
        items = [*cast("Sequence[object]", given)]
        if all(isinstance(item, str) for item in items):
            text = ", ".join(map(str, items))
        elif all(is_axis_tag(item) for item in items):
            return replace(array, dim_tags=tuple(cast("list[AxisTag]", items)))
    if text is None:
        raise InvalidArgument(
            f"the dim_tags of '{array.name}' are given as {given!r}",
            where=caller_location(),
            remedy='pass a text such as "N1, N0", with a tag for each axis',
        )
    names, tags = _read(text)
    if len(tags) == 1 and isinstance(tags[0], _Ordered) and tags[0].pad_to == 1 and not names[0]:
        return replace(array, dim_tags=None, order=tags[0].order)  # for all axes
    if any(names):
        array = replace(array, dim_names=_merged(array, names, text))
    return replace(array, dim_tags=_nested(tags, text))


def _merged(
    array: GlobalArg | TemporaryVariable, names: Sequence[str | None], text: str
) -> tuple[str, ...]:
    """Return the names in a layout."""
    found = tuple([name for name in names if name is not None])
    if len(found) < len(names):
        what = "some axes have names, and others have none"
        raise located(MalformedTag, what, text, 0, "name all of them, as in 'x:N1, y:N0'")
    if array.dim_names not in (None, found):
        raise located(
            MalformedTag,
            f"the axes have other names in dim_names: {', '.join(array.dim_names or ())}",
            text,
            0,
            "leave out one of them",
        )
    return _names(array.name, found)


# --- text


def _read(text: str) -> tuple[list[str | None], list[AxisTag | _Ordered]]:
    names: list[str | None] = []
    tags: list[AxisTag | _Ordered] = []
    for start, piece in _pieces(text):
        named = _NAMED.match(piece)
        name = None if named is None or named[1] == "stride" else named[1]
        rest = piece if named is None or name is None else piece[named.end() :]
        names.append(name)
        tags.append(_tag(text, rest.strip(), start + len(piece) - len(rest.lstrip())))
    return names, tags


def _pieces(text: str) -> list[tuple[int, str]]:
    """Return what is between commas that are in no parentheses, each with its position."""
    found: list[tuple[int, str]] = []
    start = depth = 0
    for position, letter in enumerate(f"{text},"):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and (depth <= 0 or position == len(text)):
            found.append((start, text[start:position]))
            start = position + 1
    return found


def _tag(text: str, tag: str, start: int) -> AxisTag | _Ordered:
    if found := _STRIDE.fullmatch(tag):
        stride = found["stride"]
        return Strided(auto if stride == "auto" else parse_expression(stride))
    if found := _NESTED.fullmatch(tag):
        return Nested(int(found["level"]), _pad(text, found, start))
    if found := _ORDERED.fullmatch(tag):
        return _Ordered(found["order"].upper(), _pad(text, found, start))
    if tag in _PLAIN:
        return _PLAIN[tag]
    raise located(MalformedTag, f"'{tag}' is no tag of an axis", text, start, _REMEDY)


def _pad(text: str, found: re.Match[str], start: int) -> int:
    if found["pad"] is None:
        return 1
    pad = int(found["pad"])
    if pad < 1:
        remedy = "write N0(pad_to=8), say: then there is room for a multiple of 8"
        raise located(MalformedTag, "an axis is padded to 0", text, start, remedy)
    return pad


def _nested(tags: Sequence[AxisTag | _Ordered], text: str) -> DimTags:
    """Return the tags with a level in place of each C and F.

    Raises:
        MalformedTag: if the levels are not 0, 1, 2, ..., each once.
    """
    axes = [axis for axis, tag in enumerate(tags) if isinstance(tag, _Ordered | Nested)]
    orders = {tag.order for tag in tags if isinstance(tag, _Ordered)}
    levels = sorted(tag.level for tag in tags if isinstance(tag, Nested))
    if len(orders) > 1 or (orders and levels) or (not orders and levels != [*range(len(axes))]):
        expected = ", ".join(f"N{level}" for level in range(len(axes)))
        raise located(
            MalformedTag,
            "these tags give no order of the axes",
            text,
            len(text) - len(text.lstrip()),
            f"use C for all axes, or F, or each of {expected} once",
        )
    order = axes[::-1] if orders == {"C"} else axes
    return tuple(
        [
            Nested(order.index(axis), tag.pad_to) if isinstance(tag, _Ordered) else tag
            for axis, tag in enumerate(tags)
        ]
    )


# --- what else is said


def _of_strides(given: Any, name: str) -> DimTags:
    parts: list[Any] = [*given] if isinstance(given, tuple | list) else [given]
    if not any(isinstance(part, Auto) for part in parts):
        parts = [given]
    found: list[AxisTag] = []
    for part in parts:
        if isinstance(part, Auto):
            found.append(Strided(part))
        else:
            found += [Strided(stride) for stride in to_extents(part, name, "strides")]
    return tuple(found)


def _offset(array: GlobalArg) -> ex.Expression | Auto:
    given: object = array.offset
    if isinstance(given, Auto):
        return given
    found = to_extents(given, array.name, "offset")
    if len(found) != 1:
        raise InvalidArgument(
            f"the offset of '{array.name}' is given as {given!r}",
            where=caller_location(),
            remedy="pass one number of elements, or polygen.auto",
        )
    return found[0]


def _checked_order(name: str, given: object) -> str:
    if isinstance(given, str) and given.upper() in ("C", "F"):
        return given.upper()
    raise InvalidArgument(
        f"the order of '{name}' is given as {given!r}",
        where=caller_location(),
        remedy="pass 'C' (the last subscript runs fastest) or 'F' (the first does)",
    )


def _names(array: str, given: Any) -> tuple[str, ...]:
    names: list[Any] = [*given] if isinstance(given, tuple | list) else [given]
    if isinstance(given, str):
        names = [name.strip() for name in given.split(",")]
    for name in names:
        if not isinstance(name, str) or not (name.isascii() and name.isidentifier()):
            raise _refused(array, f"'{name}' is no name")
        if names.count(name) > 1:
            raise _refused(array, f"'{name}' is there twice")
    return tuple(names)


def _refused(array: str, why: str) -> UserError:
    return InvalidArgument(
        f"the axes of '{array}' cannot have these names: {why}",
        where=caller_location(),
        remedy="pass one identifier for each axis, as in dim_names='x, y'",
    )
