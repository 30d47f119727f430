"""Assignments that happen at once, made one after the other: what is still needed is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.targets.expression import ExpressionPrinter

_Pair: TypeAlias = tuple[ex.Variable | ex.Subscript, Expression]


def one_by_one(
    pairs: Sequence[_Pair], expressions: ExpressionPrinter
) -> tuple[list[str], list[_Pair]]:
    """Return declarations of what has to be kept, and the assignments that come after them.

    Kept is what mentions a variable that is written before it is read.

    Parameters:
        pairs: targets with their values; all is read before anything is written.
        expressions: prints the declarations.
    """
    kept: list[str] = []
    left: list[_Pair] = []
    written: set[str] = set()

    def keep(node: Expression, like: str, dtype: DType) -> Expression:
        if written.isdisjoint(walk.free_variables(node)):
            return node
        text = expressions.value(node, dtype)
        name = expressions.new_name(like, dtype)
        kept.append(f"{expressions.type_name(dtype)} const {name} = {text};")
        return ex.Variable(name)

    for target, value in pairs:
        name = ex.name_of(target)
        new = keep(value, f"{name}_new", expressions.declared_type(name))
        if isinstance(target, ex.Subscript):
            (index,) = ex.index_tuple(target)
            index = keep(index, f"{name}_at", expressions.index_dtype)
            left.append((ex.Subscript(target.aggregate, index), new))
        else:
            left.append((target, new))
        written.add(name)
    return kept, left
