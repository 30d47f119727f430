"""Atomic updates of Kokkos' as statements and calls of compiled functions.

pk.atomic_add(h, [k], 1)             ->   h[k] += 1, which is said to be atomic
old = pk.atomic_fetch_add(h, [k], 1) ->   old = pg.atomic_fetch_add(h, (k,), 1)
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polygen.python.atomic_fetches import OPERATIONS
from polygen.python.tree_parts import placed
from polygen.workunits.atomics import FETCHES, atomic_increment

_OPERATORS: dict[str, type[ast.operator]] = {
    "+": ast.Add,
    "-": ast.Sub,
    "*": ast.Mult,
    "&": ast.BitAnd,
    "|": ast.BitOr,
    "^": ast.BitXor,
}
_EXTREMES: dict[str, Any] = {"min": np.minimum, "max": np.maximum}
_Constant = Callable[[Any, ast.AST], ast.expr]


def fetching_call(
    function: Any, given: Sequence[ast.expr], call: ast.Call, constant: _Constant
) -> ast.expr:
    """Return a call of a function that updates an element and returns its old value.

    Parameters:
        function: the function of Kokkos'.
        given: what it is passed.
        call: where that stands.
        constant: returns what a statement writes for a value.
    """
    view, index, *values = given
    values = values or [ast.Constant(1)]
    if isinstance(index, ast.List):
        index = placed(ast.Tuple(index.elts, ast.Load()), index)
    fetch = constant(FETCHES[function], call)
    return placed(ast.Call(fetch, [view, index, *values], []), call)


def updating_statement(
    function: Any, given: Sequence[ast.expr], call: ast.Call, constant: _Constant
) -> ast.stmt | None:
    """Return an update whose old value nobody reads; None where only a call can say it."""
    sign = OPERATIONS.get(FETCHES[function], "")
    if function is not atomic_increment and len(given) != 3:
        return None
    view, index = given[:2]
    if isinstance(index, ast.List):
        index = index.elts[0] if len(index.elts) == 1 else ast.Tuple(index.elts, ast.Load())
    value = ast.Constant(1) if function is atomic_increment else given[2]
    target = ast.Subscript(view, index, ast.Store())
    if sign in _OPERATORS:
        return placed(ast.AugAssign(target, _OPERATORS[sign](), value), call)
    if sign in _EXTREMES:
        old = ast.Subscript(view, index, ast.Load())
        found = ast.Call(constant(_EXTREMES[sign], call), [old, value], [])
        return placed(ast.Assign([target], found), call)
    return None


def updated_array(node: ast.stmt) -> str:
    """Return the name of the array that ``a[i] += x`` updates; empty for other statements."""
    if not isinstance(node, ast.AugAssign):
        return ""
    root: ast.expr = node.target
    while isinstance(root, ast.Subscript):
        root = root.value
    return root.id if isinstance(root, ast.Name) and root is not node.target else ""
