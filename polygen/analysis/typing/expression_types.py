"""The type of an expression (see `polygen.analysis.typing.kinds`), of reductions too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from polygen.analysis.typing.function_types import type_of_call, type_of_component
from polygen.analysis.typing.index_arithmetic import is_arithmetic, operands, written_out
from polygen.analysis.typing.kinds import (
    BOOL,
    FLOAT16,
    FLOAT32,
    INT64,
    UINT64,
    Kind,
    can_assign,
    default_dtype,
    kind_name,
    letter,
    literal_kind,
)
from polygen.analysis.typing.operator_types import OPERATORS, REAL, WHOLE, Rule, require
from polygen.errors import InternalError, TypeMismatch, TypeNotFound
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.operation import Definition
from polygen.ir.reduction import Facts, Result, definition_of, dtype_of, facts_of, widens
from polygen.ir.show_expression import show_expression


def type_of(expr: Expression, kinds: Mapping[str, Kind]) -> Kind:
    """Return the type of an expression, or a Python type if it has none of its own.

    Parameters:
        expr: the expression.
        kinds: the type of each variable and element; of inames and sizes, ``int``.

    Raises:
        TypeNotFound: if it mentions a name that `kinds` does not have.
        TypeMismatch: if it has an operation for operands that it does not exist for.
        UnknownFunction: if it calls a function that does not exist.
        WrongArity: if it gives a function the wrong number of arguments.

    >>> from polygen.ir.expression import Variable
    >>> type_of(2 * Variable("a"), {"a": np.dtype("float32")})
    dtype('float32')
    """
    if isinstance(expr, ex.Subscript):
        index = [index_kind(i, kinds) for i in ex.index_tuple(expr)]
        return node_type(expr, [type_of(expr.aggregate, kinds), *index], kinds)
    return node_type(expr, [type_of(part, kinds) for part in walk.parts(expr)], kinds)


def index_kind(node: Expression, kinds: Mapping[str, Kind]) -> Kind:
    """Return the type of a subscript: ``int`` for what is computed of integers, whatever theirs.

    Parameters and errors are those of `type_of`.
    """
    node = written_out(node)
    if not is_arithmetic(node):
        return type_of(node, kinds)
    if isinstance(node, ex.If):
        type_of(node.condition, kinds)
    found = [index_kind(part, kinds) for part in operands(node)]
    parts = [int if letter(kind) in "biu" else kind for kind in found]
    return node_type(node, [BOOL, *parts] if isinstance(node, ex.If) else parts, kinds)


def node_type(node: Expression, parts: Sequence[Kind], kinds: Mapping[str, Kind]) -> Kind:
    """Return the type of a node, given those of its parts (`walk.parts`); see `type_of`.

    Parameters:
        node: the node.
        parts: the type of each part.
        kinds: the type of each variable and element.
    """
    rule = _RULES.get(type(node))
    if rule is not None:
        # By identity, which is quick: NumPy says that int64 equals Python's int.
        if isinstance(node, ex.Sum) and any(kind is INT64 for kind in parts[1:]):
            parts = _subtracted(node, parts, kinds)
        return rule(node, parts)
    if isinstance(node, ex.Variable):
        kind = kinds.get(node.name)
        if kind is None:
            raise TypeNotFound(f"the type of '{node.name}' is not known")
        return kind
    if isinstance(node, ex.ExpressionNode):
        raise InternalError(f"no type for a node of class {type(node).__name__}")
    return literal_kind(node)


def _subtracted(node: ex.Sum, parts: Sequence[Kind], kinds: Mapping[str, Kind]) -> list[Kind]:
    """Return the types of summands, of ``-b`` with a truth value `b` that of `b`.

    Negative, truth values are integers; what they are subtracted from keeps its type.
    """
    if len(parts) < len(node.children):  # some are not known yet
        return list(parts)
    found = list(parts)
    for position, child in enumerate(node.children):
        others = opposite_of(child)
        if position and others and all(type_of(other, kinds) == BOOL for other in others):
            found[position] = BOOL
    if all(kind == BOOL for kind in found):
        raise TypeMismatch(
            f"'{show_expression(node)}' subtracts truth values",
            remedy="tell them apart with !=, or convert one of them: int8(...)",
        )
    return found


def opposite_of(node: Expression) -> tuple[Expression, ...]:
    """Return the factors of a product after the -1 that stands for a sign; none of others."""
    if isinstance(node, ex.Product) and type(node.children[0]) is int and node.children[0] == -1:
        return node.children[1:]
    return ()


def _several(_node: Expression, parts: Sequence[Kind]) -> Any:
    return tuple(parts)  # no kind: only reductions and their components meet it


def _reduction(node: Any, parts: Sequence[Any]) -> Any:
    facts = facts_of(node.operation)
    if facts.seconds is None:
        return _result(node, parts[0], facts)
    first, second = parts[0]
    require(node, [second], facts.operands, _NUMBERS.get(facts.operands, REAL))
    result = _result(node, first, facts)
    types = {Result.TRUTH: BOOL, Result.FIRST: result}
    return result, types.get(facts.seconds, second)


def _result(node: Any, kind: Kind, facts: Facts) -> Kind:
    """Return the type of the only, or the first, result of a reduction."""
    require(node, [kind], facts.operands, _NUMBERS.get(facts.operands, REAL))
    dtype = dtype_of(node.operation)
    definition = definition_of(node.operation)
    if definition is not None:
        _check_definition(node, definition, kind)
    if dtype is not None:
        return _as_said(node, kind, dtype, facts)
    if facts.result is Result.TRUTH:
        return BOOL
    if isinstance(kind, np.dtype) and widens(node.operation):
        return FLOAT32 if kind == FLOAT16 else _WIDENED.get(letter(kind), kind)
    return kind


def _as_said(node: Any, kind: Kind, dtype: DType, facts: Facts) -> DType:
    """Return the type that a reduction is said to be computed in, if it can be."""
    possible = can_assign(kind, dtype) and dtype.kind in facts.operands
    if facts.result is Result.TRUTH:
        possible = dtype == BOOL
    if not possible:
        raise TypeMismatch(
            f"'{show_expression(node)}' cannot compute in '{dtype.name}' with operands of type "
            f"'{kind_name(kind)}'",
            remedy="leave out the type, or name one of their kind of number",
        )
    return dtype


def _check_definition(node: Any, definition: Definition, kind: Kind) -> None:
    """Check that a user's own operation combines values of this type."""
    dtype = dtype_of(node.operation) or default_dtype(kind)
    made = type_of(definition.combined, dict(zip(definition.arguments, (dtype, kind), strict=True)))
    if not can_assign(made, dtype):
        raise TypeMismatch(
            f"'{show_expression(node)}' is computed in '{kind_name(dtype)}', and makes "
            f"'{kind_name(made)}' of two values",
            remedy=f"say what it is computed in: {node.operation.name}<{kind_name(made)}>(...)",
        )
    if definition.identity_of(dtype) is None:
        raise TypeMismatch(
            f"'{show_expression(node)}' is computed in '{kind_name(dtype)}', for which "
            f"'{node.operation.name}' has no identity",
            remedy="register the reduction with an identity for this type",
        )


# NumPy's sums and products of small integers are as wide as its default integers; those of halves
# it adds up in single precision, and rounds in the end, which would lose that between stages.
_WIDENED: dict[str, DType] = {"b": INT64, "i": INT64, "u": UINT64}

# What operations take that do not take all real numbers, by NumPy's letters.
_NUMBERS = {"biu": WHOLE, "f": "floating-point numbers"}


_RULES: dict[type, Rule] = {
    **OPERATORS,
    ex.Call: type_of_call,
    ex.Component: type_of_component,
    ex.Reduction: _reduction,
    ex.Several: _several,
}


def reduction_types(reduction: ex.Reduction, kinds: Mapping[str, Kind]) -> tuple[DType, ...]:
    """Return the types in which the results of a reduction are computed; see `type_of`.

    Where one has none of its own, as in ``sum(j, 1)``, it is NumPy's default.
    """
    found: Any = type_of(reduction, kinds)
    kinds_found = cast("tuple[Kind, ...]", found if isinstance(found, tuple) else (found,))
    return tuple([default_dtype(kind) for kind in kinds_found])
