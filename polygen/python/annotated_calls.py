"""The functions in `polygen.python.annotations`, as kernels have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.python import fetch_calls, print_calls
from polygen.python.affine import Affine, number
from polygen.python.annotations import UNREAD, UPDATES, unread_array, vidx, where
from polygen.python.names.arguments import dtype_of, shape_of
from polygen.python.names.basic_table import TABLE
from polygen.python.refused import Refused
from polygen.python.subscripts import subscripted
from polygen.python.values import (
    Arrayed,
    Constant,
    Indices,
    Lazy,
    Number,
    Several,
    Value,
    View,
    affine_number,
    strip,
)


def _integer(value: Value, what: str) -> Affine:
    if not isinstance(value, Number) or value.affine is None:
        raise Refused(f"{what} of pg.vidx is no integer of sizes and loops", "use a slice")
    return value.affine


def _vidx(trace: Any, start: Value, step: Value, bound: Value | None = None) -> Any:
    """Return ``start, start + 1, ...``: `step` of them, those below `bound` alone."""
    first, count = _integer(start, "the start"), _integer(step, "the step")
    end = first.plus(count)
    if bound is not None and not (isinstance(bound, Constant) and bound.value is None):
        end = _integer(bound, "the bound")
        left = end.minus(first)
        if not trace.facts.is_never_negative(left.minus(count)):
            least = ex.Max((0, ex.Min((count.tree(), left.tree()))))
            short = ex.Min((count.tree(), left.tree()))
            has_some = trace.facts.is_never_negative(left.minus(1))
            count = trace.integer(least, number(1 if has_some else 0), count, "lanes")
            (name,) = count.symbols()
            if has_some:
                trace.facts.know(left.minus(count))
            trace.nodes.ends[name] = short  # a loop up to there has the same iterations
        else:
            end = first.plus(count)
    return strip(first, count, end)


def _unread_array(trace: Any, shape: Value, dtype: Value) -> Value:
    found: Value = trace.made(dtype_of(dtype), shape_of(trace, shape), UNREAD, zeros=False)
    return found


def _updated(operation: str) -> Callable[..., Value]:
    def row(trace: Any, array: Value, index: Value, value: Value) -> Value:
        if not isinstance(array, View):
            raise Refused("an atomic update of what is no array in memory")
        keys: tuple[Value, ...] = index.parts if isinstance(index, Several) else (index,)
        if not all(isinstance(key, Number | Lazy | View) for key in keys):
            raise Refused("an atomic update at what is no subscript", "pass integers")
        if not isinstance(value, Number | Lazy | View):
            raise Refused("an atomic update by what is no number")
        is_read = isinstance(value, Lazy | View) and _reads(value, array)
        given: Number | Arrayed = trace.stored(value) if is_read else value
        update = _update if all(isinstance(key, Number) for key in keys) else _update_each
        update(trace, operation, array, keys, given)
        return Constant(None)

    return row


def _reads(value: Arrayed, array: View) -> bool:
    index = tuple([Affine.of(f"?{axis}") for axis in range(len(value.shape))])
    return array.base.name in walk.free_variables(value.element(index))


def _update(
    trace: Any, operation: str, array: View, keys: tuple[Any, ...], value: Number | Arrayed
) -> None:
    """Update what has one place: an element, or a row."""
    old = subscripted(trace, array, keys)
    if operation in {"min", "max"}:
        new = TABLE[np.minimum if operation == "min" else np.maximum](trace, old, value)
    else:
        new = trace.operated(operation, old, value)
    trace.set_part(array, keys, new)


def _update_each(
    trace: Any, operation: str, array: View, keys: tuple[Any, ...], value: Number | Arrayed
) -> None:
    """Update elements at places that arrays of integers tell; one that comes twice, twice."""
    if len(keys) != len(array.shape) or any(key.dtype.kind not in "iu" for key in keys):
        raise Refused("an atomic update at places without an integer for each axis", "write a loop")
    shape = trace.broadcast([key.shape for key in keys])
    whole = trace.broadcast([shape, value.shape])
    if len(whole) > len(shape) or not all(map(trace.extents_agree, whole, shape)):
        raise Refused("an atomic update by more elements than there are places")
    with trace.each(shape) as index:
        own = tuple([_element(trace, key, index) for key in keys])
        _update(trace, operation, array, own, _element(trace, value, index))


def _element(trace: Any, value: Number | Arrayed, index: Indices) -> Number:
    if isinstance(value, Number):
        return value
    places = trace.index_of(value, index)
    form = value.form(places) if isinstance(value, Lazy) and value.form else None
    if form is not None:
        return affine_number(form)
    return Number(value.dtype, tree=value.element(places))


ROWS: dict[Any, Callable[..., Value]] = {
    **print_calls.ROWS,
    **fetch_calls.ROWS,
    vidx: _vidx,
    unread_array: _unread_array,
    where: TABLE[np.where],
    **{function: _updated(operation) for function, operation in UPDATES.items()},
}
