"""Arguments of functions of arrays: values, types, axes, shapes, options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polygen.python.affine import Affine, number
from polygen.python.expressions import Expressions
from polygen.python.refused import Refused
from polygen.python.values import (
    Arrayed,
    Constant,
    Lazy,
    Masked,
    Number,
    Several,
    Value,
    View,
    constant_number,
    converted_tree,
)

Row = Callable[..., Value]


def array_of(trace: Expressions, value: Value) -> Number | Arrayed:
    """Return a value that functions of arrays take.

    Raises:
        Refused: if it is none.
    """
    if isinstance(value, Number | Lazy | View):
        return value
    if isinstance(value, Several):
        return _stacked(trace, value)
    if isinstance(value, Masked):
        raise Refused("data decides how many elements there are", "use a sum, or np.where")
    raise Refused("a function of arrays is given something else")


def array_with_axes(trace: Expressions, value: Value) -> Arrayed:
    """Return an array.

    Raises:
        Refused: if it is a scalar, or no array.
    """
    found = array_of(trace, value)
    if isinstance(found, Number):
        raise Refused("a function of arrays is given a scalar")
    return found


def _stacked(trace: Expressions, value: Several) -> Arrayed:
    parts = [array_of(trace, part) for part in value.parts]
    if not parts:
        raise Refused("an array is made of an empty list")
    dtype = common_type(parts)
    shape = trace.broadcast([part.shape for part in parts])
    view = trace.made(dtype, (number(len(parts)), *shape), "array", zeros=False)
    for at, part in enumerate(parts):
        trace.assign(_layer(view, at), part)
    return view


def _layer(view: View, at: int) -> View:
    """Return what has one subscript along the first axis."""
    return View(view.base, view.shape[1:], lambda index: (number(at), *index), recipe=None)


def common_type(parts: Sequence[Number | Arrayed]) -> np.dtype:
    """Return the type of an array of all these, as NumPy has it."""
    weak = {"b": np.bool_(0), "i": 0, "f": 0.0, "c": 0j}
    asked: list[Any] = [weak[p.dtype.kind] if p.weak else p.dtype for p in parts]
    return np.result_type(*asked)


def stored_into(trace: Expressions, out: Value, found: Value) -> Value:
    """Return an argument `out`, which a result was assigned to.

    Raises:
        Refused: if it is no array.
    """
    if not isinstance(out, View) or not isinstance(found, Number | Lazy | View):
        raise Refused("'out' is no array")
    trace.assign(out, found)
    return out


def flag_of(value: Value | None) -> bool:
    """Return an option that is true or false, as `keepdims`.

    Raises:
        Refused: if it is no constant.
    """
    if value is None or value == Constant(None):
        return False
    if isinstance(value, Number) and value.is_constant:
        return bool(value.value)
    raise Refused("an option is no constant")


def axes_of(axis: Value | None, rank: int) -> list[int]:
    """Return the axes that an argument names, from 0; all of them for None."""
    if axis is None or axis == Constant(None):
        return list(range(rank))
    parts = axis.parts if isinstance(axis, Several) else (axis,)
    found: list[int] = []
    for part in parts:
        if not (isinstance(part, Number) and part.is_constant and part.dtype.kind == "i"):
            raise Refused("an axis is no constant")
        at = int(part.value)
        if not -rank <= at < rank:
            raise Refused(f"there is no axis {at}")
        found.append(at % rank)
    return found


def dtype_of(value: Value) -> np.dtype:
    """Return the type that an argument names.

    Raises:
        Refused: if it is none that kernels have.
    """
    if isinstance(value, Constant):
        try:
            found: np.dtype = np.dtype(value.value)
        except TypeError:
            raise Refused(f"{value.value!r} is no type") from None
        if found.kind in "biufc" and found.itemsize <= 16 and found.char not in "gG":
            return found
    raise Refused("a type is none that kernels have")


def shape_of(trace: Expressions, value: Value) -> tuple[Affine, ...]:
    """Return a shape that is an argument: an integer, or several.

    Raises:
        Refused: if it is none.
    """
    parts = value.parts if isinstance(value, Several) else (value,)
    found: list[Affine] = []
    for part in parts:
        if not isinstance(part, Number) or part.dtype.kind not in "iu":
            raise Refused("a shape has something that is no integer")
        form = part.affine if part.affine is not None else trace.frozen(part).affine
        assert form is not None
        found.append(form)
    return tuple(found)


def constant_int(value: Value) -> int:
    """Return an option that is an integer.

    Raises:
        Refused: if it is no constant.
    """
    if isinstance(value, Number) and value.is_constant and value.dtype.kind == "i":
        return int(value.value)
    raise Refused("an option is no constant integer")


def axis_of(axis: Value | None, rank: int) -> int:
    """Return the one axis that an argument names, from 0.

    Raises:
        Refused: if it names several, or all.
    """
    found = axes_of(axis, rank)
    if len(found) != 1:
        raise Refused("several axes where there may be one", "name one: axis=0")
    return found[0]


def converted(value: Number | Arrayed, dtype: np.dtype) -> Number | Lazy:
    """Return a value of another type: ``astype``."""
    if isinstance(value, Number):
        if value.is_constant:
            return constant_number(np.asarray(value.value).astype(dtype)[()])
        return Number(dtype, tree=converted_tree(value.element(), value.dtype, dtype))
    own = value
    return Lazy(
        dtype,
        value.shape,
        lambda i: converted_tree(own.element(i), own.dtype, dtype),
        isinstance(value, Lazy) and value.is_costly,
    )
