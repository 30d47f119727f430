"""The function that a statement was written in: helpers are inlined, and keep their places."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from polygen.python.function_source import FunctionSource

_ORIGIN = "polygen_origin"


def mark_origin(body: Iterable[ast.stmt], source: FunctionSource) -> None:
    """Note of statements, and of all in them, that they were written in a helper.

    Parameters:
        body: the statements.
        source: the helper.
    """
    for statement in body:
        for node in ast.walk(statement):
            vars(node)[_ORIGIN] = source


def origin_of(node: ast.AST, own: FunctionSource) -> FunctionSource:
    """Return the helper that a node was written in, or the function that is compiled.

    Parameters:
        node: the node.
        own: that function.
    """
    found: FunctionSource = vars(node).get(_ORIGIN, own)
    return found
