"""Shapes, strides and offsets as they are given: numbers, texts, expressions."""

from __future__ import annotations

from typing import Any

from polygen.errors import InvalidArgument, MalformedExpression
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.language.handles import tree_of
from polygen.language.parser import parse_expression, parse_expressions
from polygen.source import caller_location


def to_extents(given: Any, name: str, what: str = "shape") -> tuple[Expression, ...]:
    """Return a shape, or strides, as a tuple of expressions.

    Parameters:
        given: a number, a text, or a sequence of these and of expressions.
        name: the array's.
        what: what it is, for the error.

    Raises:
        InvalidArgument: if it is something else.
        MalformedExpression: if a text in it is no expression.
    """
    try:
        return _to_extents(given, name, what)
    except MalformedExpression as error:
        error.what = f"the {what} of '{name}': {error.what}"
        error.remedy = error.remedy or "separate them by commas, as in 'n, 2*m'"
        raise


def _to_extents(given: Any, name: str, what: str) -> tuple[Expression, ...]:
    if isinstance(given, str):
        text = given.strip()
        enclosed = text.startswith("(") and text.endswith(")") and text.count("(") == 1
        return parse_expressions(text[1:-1] if enclosed else text)
    parts: list[Any] = [*given] if isinstance(given, tuple | list) else [given]
    found: list[Expression] = []
    for part in map(tree_of, parts):
        if isinstance(part, str):
            found.append(parse_expression(part))
        elif isinstance(part, ex.ExpressionNode):
            found.append(part)
        elif hasattr(part, "__index__") and not isinstance(part, bool):
            found.append(int(part))
        else:
            raise InvalidArgument(
                f"the {what} of '{name}' is given as {given!r}",
                where=caller_location(),
                remedy="pass numbers, parameters, or a text such as 'n, 2*m'",
            )
    return tuple(found)
