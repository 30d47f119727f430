"""The values of integer expressions, once sizes are known."""

from __future__ import annotations

from collections.abc import Mapping

from pymbolic.mapper.evaluator import evaluate as _evaluate

from polygen.errors import InternalError
from polygen.ir import walk
from polygen.ir.expression import Expression, Variable


def value_of(expression: Expression, values: Mapping[str, int]) -> int:
    """Return the value of an integer expression.

    Parameters:
        expression: a size, bound or stride.
        values: the value of each name in it.
    """
    if isinstance(expression, int):
        return expression
    if isinstance(expression, Variable) and expression.name in values:
        return values[expression.name]
    missing = walk.free_variables(expression) - values.keys()
    if missing:
        raise InternalError(f"'{expression}' needs a value of '{min(missing)}'")
    return int(_evaluate(expression, dict(values)))
