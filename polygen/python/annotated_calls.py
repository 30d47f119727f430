"""The functions in `polygen.python.annotations`, as kernels have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.python.affine import Affine, number
from polygen.python.annotations import (
    atomic_add,
    atomic_max,
    atomic_min,
    atomic_sub,
    vidx,
    where,
)
from polygen.python.names.basic_table import TABLE
from polygen.python.refused import Refused
from polygen.python.subscripts import Strip, subscripted
from polygen.python.values import Constant, Number, Several, Value


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
            count = trace.integer(least, number(0), count, "lanes")
            (name,) = count.symbols()
            trace.nodes.ends[name] = short  # a loop up to there has the same iterations
        else:
            end = first.plus(count)
    return Strip(first, count, end)


def _updated(operation: str) -> Callable[..., Value]:
    def row(trace: Any, array: Value, index: Value, value: Value) -> Value:
        keys = index.parts if isinstance(index, Several) else (index,)
        if not all(isinstance(key, Number) for key in keys):
            raise Refused("an atomic update of several elements at once", "write a loop over them")
        old = subscripted(trace, array, keys)  # type: ignore[arg-type]
        if not isinstance(old, Number) or not isinstance(value, Number):
            raise Refused("an atomic update of more than one element", "write a loop over them")
        if operation in {"+", "-"}:
            new = trace.operated(operation, old, value)
        else:
            new = TABLE[np.minimum if operation == "min" else np.maximum](trace, old, value)
        trace.set_part(array, keys, new)
        return Constant(None)

    return row


ROWS: dict[Any, Callable[..., Value]] = {
    vidx: _vidx,
    where: TABLE[np.where],
    atomic_add: _updated("+"),
    atomic_sub: _updated("-"),
    atomic_min: _updated("min"),
    atomic_max: _updated("max"),
}
