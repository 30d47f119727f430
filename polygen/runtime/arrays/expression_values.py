"""The values of integer expressions, once sizes are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any, cast

from pymbolic.mapper.evaluator import evaluate as _evaluate

from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression

_Values = Mapping[str, int]


def value_of(expression: Expression, values: Mapping[str, int]) -> int:
    """Return the value of an integer expression.

    Parameters:
        expression: a size, bound or stride.
        values: the value of each name in it.
    """
    if isinstance(expression, int):
        return expression
    try:
        return int(_value(expression, values))
    except KeyError:
        missing = walk.free_variables(expression) - values.keys()
        raise InternalError(f"'{expression}' needs a value of '{min(missing)}'") from None


def _value(node: object, values: _Values) -> Any:
    """Return a value; a loop on the host asks for some for each launch, so that time counts."""
    if isinstance(node, int):
        return node
    rule = _RULES.get(type(node))
    if rule is not None:
        return rule(node, values)
    other = cast("Expression", node)
    return _evaluate(other, {name: values[name] for name in walk.free_variables(other)})


def _sum(node: Any, values: _Values) -> Any:
    return sum([_value(part, values) for part in node.children])


def _product(node: Any, values: _Values) -> Any:
    return prod([_value(part, values) for part in node.children])


def _floor_div(node: Any, values: _Values) -> Any:
    return _value(node.numerator, values) // _value(node.denominator, values)


_RULES: Mapping[type, Callable[[Any, _Values], Any]] = {
    ex.Variable: lambda node, values: values[node.name],
    ex.Sum: _sum,
    ex.Product: _product,
    ex.FloorDiv: _floor_div,
}
