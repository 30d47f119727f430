"""NumPy's arrays of coordinates: ``np.indices``, subscripts of ``np.mgrid`` and ``np.ogrid``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.python.affine import Affine, number
from polygen.python.expressions import Expressions
from polygen.python.names.arguments import shape_of
from polygen.python.names.basic_table import TABLE
from polygen.python.refused import Refused
from polygen.python.subscripts import Slice
from polygen.python.values import (
    INT64,
    Arrayed,
    Indices,
    Lazy,
    Number,
    Several,
    Value,
    affine_number,
    index_tree,
)


def indices(trace: Expressions, dimensions: Value) -> Value:
    """Return ``np.indices``."""
    ranges = [_range(trace, number(0), extent, number(1)) for extent in shape_of(trace, dimensions)]
    return _dense(ranges)


def mgrid(trace: Expressions, keys: Sequence[Any]) -> Value:
    """Return ``np.mgrid[keys]``."""
    ranges = [_of_slice(trace, key) for key in keys]
    return ranges[0] if len(ranges) == 1 else _dense(ranges)


def ogrid(trace: Expressions, keys: Sequence[Any]) -> Value:
    """Return ``np.ogrid[keys]``."""
    ranges = [_of_slice(trace, key) for key in keys]
    return ranges[0] if len(ranges) == 1 else Several(tuple(_open(ranges)))


def _dense(ranges: Sequence[Arrayed]) -> Lazy:
    """Return an array with the coordinates along each axis, one after the other."""
    shape = tuple([one.shape[0] for one in ranges])
    layers = [_along(one, at, shape) for at, one in enumerate(ranges)]

    def element(index: Indices) -> Expression:
        first, *rest = index
        if isinstance(first, Affine) and first.is_constant:
            return layers[first.constant].element(tuple(rest))
        found = layers[-1].element(tuple(rest))
        for at, layer in list(enumerate(layers))[-2::-1]:
            is_here = ex.Comparison(index_tree(first), "==", at)
            found = ex.If(is_here, layer.element(tuple(rest)), found)
        return found

    return Lazy(INT64, (number(len(layers)), *shape), element)


def _along(values: Arrayed, axis: int, shape: tuple[Affine, ...]) -> Lazy:
    """Return an array whose elements are those of a vector along an axis."""

    def element(index: Indices) -> Expression:
        return values.element((index[axis],))

    return Lazy(values.dtype, shape, element)


def _open(ranges: Sequence[Arrayed]) -> list[Lazy]:
    one = number(1)
    return [
        _along(values, at, tuple([values.shape[0] if k == at else one for k in range(len(ranges))]))
        for at, values in enumerate(ranges)
    ]


def _of_slice(trace: Expressions, key: Any) -> Arrayed:
    if not isinstance(key, Slice):
        raise Refused("np.mgrid of what is no slice")
    start = number(0) if key.start is None else _form(key.start)
    step = number(1) if key.step is None else _form(key.step)
    return _range(trace, start, _form(key.stop), step)


def _form(value: Any) -> Affine:
    if isinstance(value, Number) and value.dtype == INT64 and value.affine is not None:
        return value.affine
    raise Refused("np.mgrid of something else than integers of sizes", "use np.linspace")


def _range(trace: Expressions, start: Affine, stop: Affine, step: Affine) -> Arrayed:
    found = TABLE[np.arange](trace, *map(affine_number, (start, stop, step)))
    assert isinstance(found, Lazy)
    return found


ROWS: dict[Any, Callable[..., Value]] = {np.indices: indices}
SUBSCRIPTED: dict[int, Callable[..., Value]] = {id(np.mgrid): mgrid, id(np.ogrid): ogrid}
"""Objects of NumPy's that a subscript makes arrays of, by their ids: they have no hash."""
