"""``mulmod(x, y)``: two values, and what a reduction of a user's own makes of them.

The parser does not know which names are inames, so it leaves a reduction over nothing, or over what
turns out to be no iname; what these stand for takes their place as soon as inames are known.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.operation import Operation, Special
from polygen.ir.reduction import definition_of, dtype_of
from polygen.language.statement import Statement


def is_combination(operands: Sequence[Any], operation: Operation) -> bool:
    """Tell whether a call is given two values, the first of which can be no iname."""
    return (
        definition_of(operation) is not None
        and dtype_of(operation) is None
        and len(operands) == 2
        and not any(isinstance(o, ex.Variable | tuple) for o in operands[:1])
        and not isinstance(operands[1], tuple)
    )


def combination(operation: Operation, first: Expression, second: Expression) -> Expression:
    """Return what the parser leaves of such a call."""
    return ex.Reduction(operation, (), ex.Several((first, second)))


def compensated_total(pairs: ex.Reduction) -> Expression:
    """Return a sum with what rounding lost on the way, of both results of a compensated sum."""
    total, lost = ex.Component(pairs, 0), ex.Component(pairs, 1)
    # Of what is infinite, nothing was lost, and infinity less infinity is no number.
    finite = ex.Call(ex.Variable("isfinite"), (total,))
    return ex.If(finite, ex.sum_of(total, lost), total)


def with_combinations(statement: Statement, inames: Collection[str]) -> Statement:
    """Return `statement` with what combinations of two values stand for.

    ``mulmod(t, x)`` is one if ``t`` is no iname and written here: elsewhere, a name there is meant
    to be an iname.  An atomic statement whose value is one updates with that operation.
    """
    written = frozenset(statement.written_names).difference(inames)
    atomicity = statement.atomicity
    if atomicity is not None and not atomicity.init:
        found = _parts(statement.values[0], written)
        if found is not None:
            atomicity = replace(atomicity, operation=found[0])

    def rule(node: Expression) -> Expression:
        found = _parts(node, written)
        if found is None:
            return node
        operation, *values = found
        assert operation.definition is not None
        named = dict(zip(operation.definition.arguments, values, strict=True))
        return walk.substitute(operation.definition.combined, named)

    return replace(
        statement,
        values=tuple([walk.rewrite(value, rule) for value in statement.values]),
        predicates=tuple([walk.rewrite(p, rule) for p in statement.predicates]),
        atomicity=atomicity,
    )


def _parts(
    node: Expression, written: Collection[str]
) -> tuple[Special, Expression, Expression] | None:
    """Return the operation of a combination, and the two values."""
    if not isinstance(node, ex.Reduction) or not isinstance(node.operation, Special):
        return None
    if node.operation.definition is None or node.operation.dtype is not None:
        return None
    if not node.inames and isinstance(node.operand, ex.Several):
        first, second = node.operand.children
        return node.operation, first, second
    if len(node.inames) == 1 and node.inames[0] in written:
        return node.operation, ex.Variable(node.inames[0]), node.operand
    return None
