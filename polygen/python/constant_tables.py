"""Lists of constants that a kernel has as tables: their subscripts may vary.

K = [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]
for i in range(3):
    for j in range(3): s += K[i][j]*a[y + i, x + j]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from polygen.python.affine import number
from polygen.python.nodes import Storage
from polygen.python.refused import Refused
from polygen.python.subscripts import position
from polygen.python.trace import Trace
from polygen.python.values import FLOAT64, INT64, Number, Several, View, whole

_TYPES: dict[type, np.dtype] = {int: INT64, float: FLOAT64}


def element_of_table(trace: Trace, value: Several, keys: Sequence[Number]) -> Number:
    """Return ``value[key][key]...``: a number of a list of lists, at places that the call finds.

    Parameters:
        trace: what is being traced.
        value: the list.
        keys: a subscript for each level.

    Raises:
        Refused: if parts are no constants, of several types, or lists of different lengths.
    """
    table = _table(trace, value)
    if len(keys) != len(table.shape):
        raise Refused("the subscript of a list of lists is no constant", "write both: x[i][j]")
    places = [position(trace, key, extent) for key, extent in zip(keys, table.shape, strict=True)]
    return Number(table.dtype, weak=True, tree=table.element(tuple(places)))


def _table(trace: Trace, value: Several) -> View:
    numbers = _numbers(value)
    kinds: set[type] = {type(number) for number in _flat(numbers)}
    (kind,) = kinds if len(kinds) == 1 else (None,)
    if kind not in _TYPES:
        raise Refused("the subscript of a list is no constant, and its parts are of several types")
    try:
        elements = np.array(numbers, _TYPES[kind])
    except (ValueError, OverflowError):
        raise Refused("the subscript of a list of different lists is no constant") from None
    for storage in trace.nodes.storages.values():
        if _is_same(storage, elements):
            return whole(storage)
    elements.flags.writeable = False
    shape = tuple([number(extent) for extent in elements.shape])
    made = Storage(trace.name("table"), elements.dtype, shape, "temporary", table=elements)
    trace.nodes.storages[made.name] = made
    return whole(made)


def _is_same(storage: Storage, elements: np.ndarray[Any, Any]) -> bool:
    """Tell whether an array is a table of certain elements, to the last bit."""
    known = storage.table
    if known is None or (known.dtype, known.shape) != (elements.dtype, elements.shape):
        return False
    return known.tobytes() == elements.tobytes()


def _numbers(value: Any) -> Any:
    """Return a list of constants as Python has it."""
    if isinstance(value, Several):
        return [_numbers(part) for part in value.parts]
    if isinstance(value, Number) and value.is_constant and value.weak:
        return value.value
    if isinstance(value, Number) and value.affine is not None and value.affine.is_constant:
        return value.affine.constant
    raise Refused("the subscript of a list is no constant, and its parts are none", "use an array")


def _flat(numbers: Any) -> list[Any]:
    found: list[Any] = []
    pending: list[Any] = [numbers]
    while pending:
        one = pending.pop()
        if isinstance(one, list):
            pending.extend(cast("Any", one))
        else:
            found.append(one)
    return found


__all__ = ["element_of_table"]
