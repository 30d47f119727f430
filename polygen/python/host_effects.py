"""Whether statements of Python can reach arrays: before these, copies are given back."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_NUMBERS = (bool, int, float, complex, str, type(None), np.generic)
# Those that touch nothing but what they are passed.
_PLAIN = frozenset(
    (
        *("print", "len", "range", "int", "float", "complex", "bool", "str", "repr", "format"),
        *("abs", "min", "max", "sum", "round", "pow", "divmod", "sorted", "tuple", "list"),
        *("enumerate", "zip", "reversed", "isinstance", "ValueError", "TypeError", "IndexError"),
    )
)
_ALLOWED = (
    ast.Expr, ast.Assign, ast.AugAssign, ast.If, ast.For, ast.While, ast.Pass, ast.Break,
    ast.Continue, ast.Return, ast.Raise, ast.Assert, ast.expr, ast.expr_context, ast.operator,
    ast.unaryop, ast.boolop, ast.cmpop, ast.keyword,
)  # fmt: skip
_REFUSED = (
    ast.Attribute, ast.Lambda, ast.Yield, ast.YieldFrom, ast.Await, ast.ListComp, ast.SetComp,
    ast.DictComp, ast.GeneratorExp,
)  # fmt: skip


def reaches_arrays(
    body: Sequence[ast.stmt], names: Mapping[str, Any], outer: Mapping[str, Any]
) -> bool:
    """Tell whether statements may read or write an array, by what they mention.

    Parameters:
        body: the statements.
        names: what names stand for before them.
        outer: globals and closure variables that the function mentions.
    """
    nodes = [node for statement in body for node in ast.walk(statement)]
    return any(_reaches(node, names, outer) for node in nodes)


def _reaches(node: ast.AST, names: Mapping[str, Any], outer: Mapping[str, Any]) -> bool:
    if isinstance(node, _REFUSED) or not isinstance(node, _ALLOWED):
        return True
    if isinstance(node, ast.Call):
        return not isinstance(node.func, ast.Name)
    if not isinstance(node, ast.Name) or isinstance(node.ctx, ast.Store):
        return False
    if node.id in names or node.id in outer:
        return not isinstance(names.get(node.id, outer.get(node.id)), _NUMBERS)
    # Assigned in the statements, or Python's own.
    return hasattr(builtins, node.id) and node.id not in _PLAIN
