"""Random words of a counter and a key: Philox, in compiled functions and as plain Python.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.python.expressions import Expressions
from polygen.python.names.arguments import Row
from polygen.python.operators import operand_tree
from polygen.python.refused import Refused
from polygen.python.values import Number, Value

_MASK = 2**64 - 1
_FACTORS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_STEPS = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
_ROUNDS = 10
_UINT64 = np.dtype(np.uint64)


def random_word(key: Any, more: Any, i: Any, j: Any, k: Any, count: Any) -> Any:
    """Return 64 random bits that depend on six integers alone: the first word of Philox 4x64.

    Parameters:
        key, more: the key.
        i, j, k, count: the counter.

    >>> hex(random_word(0, 0, 0, 0, 0, 0))
    '0x16554d9eca36314c'
    """
    c0, c1, c2, c3 = (int(one) & _MASK for one in (i, j, k, count))
    k0, k1 = int(key) & _MASK, int(more) & _MASK
    for _ in range(_ROUNDS):
        one, other = _FACTORS[0] * c0, _FACTORS[1] * c2
        c0, c1, c2, c3 = other >> 64 ^ c1 ^ k0, other & _MASK, one >> 64 ^ c3 ^ k1, one & _MASK
        k0, k1 = (k0 + _STEPS[0]) & _MASK, (k1 + _STEPS[1]) & _MASK
    return np.uint64(c0)


def _random_word(
    trace: Expressions, key: Value, more: Value, i: Value, j: Value, k: Value, count: Value
) -> Value:
    del trace
    trees: list[ex.Expression] = []
    for one in (i, j, k, count, key, more):
        if not isinstance(one, Number) or one.dtype.kind not in "iu":
            raise Refused("a random word of what is no integer")
        if one.is_constant:
            one = Number(_UINT64, value=np.uint64(int(one.value) & _MASK))  # noqa: PLW2901
        trees.append(operand_tree(one, one.element(), _UINT64))
    call = ex.Call(ex.Variable("philox4x64"), tuple(trees))
    return Number(_UINT64, tree=ex.Component(call, 0))


ROWS: dict[Any, Row] = {random_word: _random_word}
