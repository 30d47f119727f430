"""The types of operators' results, given those of their operands: a rule for each, in a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from polygen.analysis.typing.kinds import (
    BOOL,
    FLOAT64,
    Kind,
    is_index,
    join,
    join_all,
    kind_name,
    letter,
)
from polygen.errors import TypeMismatch
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.show_expression import show_expression

Rule: TypeAlias = Callable[[Any, Sequence[Kind]], Kind]

REAL, WHOLE = "real numbers", "integers"


def require(node: Expression, parts: Iterable[Kind], letters: str, what: str) -> None:
    """Check that operands are of certain kinds of numbers, by NumPy's letters for them.

    Raises:
        TypeMismatch: if they are not.
    """
    for kind in parts:
        if letter(kind) not in letters:
            raise TypeMismatch(
                f"'{show_expression(node)}' has an operand of type '{kind_name(kind)}'; "
                f"it is only there for {what}",
                remedy="a power is written '**'" if isinstance(node, ex.BitwiseXor) else None,
            )


def _element(node: Expression, parts: Sequence[Kind]) -> Kind:
    for kind in parts[1:]:
        if not is_index(kind) and letter(kind) not in "iu":
            raise TypeMismatch(
                f"'{show_expression(node)}' has a subscript of type '{kind_name(kind)}'",
                remedy="subscripts are integers: use // to divide, or convert: int64(...)",
            )
    return parts[0]


def _joined(_node: Expression, parts: Sequence[Kind]) -> Kind:
    return join_all(parts)


def _real(node: Expression, parts: Sequence[Kind]) -> Kind:
    require(node, parts, "biuf", REAL)
    return join_all(parts)


def _whole(node: Expression, parts: Sequence[Kind]) -> Kind:
    require(node, parts, "biu", WHOLE)
    kind = join_all(parts)
    if letter(kind) not in "biu":
        names = " and ".join(f"'{kind_name(part)}'" for part in parts)
        raise TypeMismatch(
            f"'{show_expression(node)}' has operands of types {names}, which have no integer "
            "type in common",
            remedy="convert one of them, as in int64(x)",
        )
    return kind


def number(kind: Kind) -> Kind:
    """Return the type of a result that is a number, for a truth value too."""
    # Truth values are numbers here, as small as they come.
    return np.dtype(np.int8) if kind == BOOL else kind


def whole_number(node: Expression, parts: Sequence[Kind]) -> Kind:
    """Return the type of integers that are computed in one that all of them have in common."""
    return number(_whole(node, parts))


def _floor_quotient(node: Expression, parts: Sequence[Kind]) -> Kind:
    return number(_real(node, parts))


def _quotient(_node: Expression, parts: Sequence[Kind]) -> Kind:
    return floating(join_all(parts))


def floating(kind: Kind) -> Kind:
    """Return the type of the quotient of two integers, or the type itself."""
    if is_index(kind):
        return float
    return FLOAT64 if letter(kind) in "biu" else kind


def _complement(node: Expression, parts: Sequence[Kind]) -> Kind:
    # Of a truth value, NumPy returns the other one, Python and C an integer that is true.
    require(node, parts, "iu", WHOLE)
    return parts[0]


def power(node: Any, parts: Sequence[Kind]) -> Kind:
    """Return the type of a power."""
    base, exponent = parts
    negative = isinstance(node.exponent, int) and node.exponent < 0
    if negative and letter(base) in "biu":
        if is_index(base):
            return float
        raise TypeMismatch(
            f"'{show_expression(node)}' raises integers to a negative power",
            remedy="raise a floating-point number: write 1.0*x or float64(x)",
        )
    return number(join(base, exponent))


def _comparison(node: Any, parts: Sequence[Kind]) -> Kind:
    if node.operator not in ("==", "!="):
        require(node, parts, "biuf", REAL)
    return BOOL


def _choice(_node: Expression, parts: Sequence[Kind]) -> Kind:
    return join_all(parts[1:])


OPERATORS: dict[type, Rule] = {
    ex.Subscript: _element,
    ex.Comparison: _comparison,
    ex.If: _choice,
    ex.Power: power,
    ex.Quotient: _quotient,
    ex.FloorDiv: _floor_quotient,
    ex.Remainder: _floor_quotient,
    ex.LeftShift: whole_number,
    ex.RightShift: whole_number,
    ex.BitwiseNot: _complement,
    **dict.fromkeys((ex.Sum, ex.Product), _joined),
    **dict.fromkeys((ex.Min, ex.Max), _real),
    **dict.fromkeys((ex.BitwiseAnd, ex.BitwiseOr, ex.BitwiseXor), _whole),
    **dict.fromkeys((ex.LogicalAnd, ex.LogicalOr, ex.LogicalNot), lambda node, parts: BOOL),
}
