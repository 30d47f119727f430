"""Lambdas as definitions: a lambda of a reduction returns what the accumulator becomes.

lambda i, acc: acc + x[i]     ->     def lambda_(i, acc):
                                         acc = acc + x[i]
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Sequence
from types import CodeType, FunctionType
from typing import Any

from polygen.errors import NoSource
from polygen.python.function_source import FunctionSource
from polygen.python.tree_parts import placed
from polygen.source import SourceLocation

LAMBDA = "<lambda>"


def is_lambda(value: Any) -> bool:
    """Tell whether a value is a lambda."""
    return isinstance(value, FunctionType) and value.__name__ == LAMBDA


def definition_of(node: ast.Lambda, accumulators: Sequence[str]) -> ast.FunctionDef:
    """Return a lambda as a definition.

    Parameters:
        node: the lambda.
        accumulators: its parameters that it returns the new values of.
    """
    body: ast.stmt = ast.Expr(node.body)
    if accumulators:
        targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in accumulators]
        target = targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())
        body = ast.Assign([target], node.body)
    made = ast.FunctionDef("lambda_", node.args, [body], [], None, None)
    if "type_params" in ast.FunctionDef._fields:  # of Python 3.12
        made.__dict__["type_params"] = []
    return placed(made, node)


def read_lambda(function: FunctionType, accumulators: Sequence[str]) -> FunctionSource:
    """Return a lambda as the source of a definition.

    Parameters:
        function: the lambda.
        accumulators: its parameters that it returns the new values of.

    Raises:
        NoSource: if its text cannot be had.
    """
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    try:
        module = ast.parse("".join(lines))
    except SyntaxError:
        module = ast.Module([], [])
    places = _places(code)
    found = [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.Lambda)
        and [p.arg for p in node.args.args] == list(code.co_varnames[: code.co_argcount])
        and _place(node.body) == places
    ]
    if not found:
        raise NoSource(
            "the source of a lambda cannot be had: its file does not have it",
            where=SourceLocation(code.co_filename, code.co_firstlineno),
            remedy="write a work unit: @pk.workunit above 'def'",
        )
    return FunctionSource(function, code.co_filename, definition_of(found[0], accumulators), {})


def _place(node: ast.expr) -> tuple[Any, ...]:
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def _places(code: CodeType) -> tuple[Any, ...]:
    """Return where the body of a lambda begins and ends, in columns of bytes."""
    places = [p for p in code.co_positions() if None not in p and p[2] != p[3]]
    starts = [(line, column) for line, _, column, _ in places]
    ends = [(line, column) for _, line, _, column in places]
    return (min(starts), max(ends)) if places else ()
