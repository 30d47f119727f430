"""Assignments that happen at once, made one after the other: what is still needed is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from polygen.analysis.typing.random_numbers import GENERATORS
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.dtype import DType, computed_in
from polygen.ir.expression import Expression
from polygen.targets.languages.target import BOOL, FLOAT16, FLOAT32
from polygen.targets.statements.expression_printer import ExpressionPrinter
from polygen.targets.texts.random_helpers import FIELDS

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
    kept, pairs = _results_once(pairs, expressions)
    more, pairs = _condition_once(pairs, expressions)
    kept += more
    left: list[_Pair] = []
    written: set[str] = set()

    def keep(node: Expression, like: str, dtype: DType) -> Expression:
        if written.isdisjoint(walk.free_variables(node)):
            return node
        text = expressions.value(node, dtype)
        name = expressions.new_name(like, dtype)
        kept.append(f"{expressions.variable_type(dtype)} const {name} = {text};")
        return ex.Variable(name)

    for target, value in pairs:
        name = ex.name_of(target)
        new = keep(value, f"{name}_new", computed_in(expressions.declared_type(name)))
        if isinstance(target, ex.Subscript):
            index, *chosen = ex.index_tuple(target)
            index = keep(index, f"{name}_at", expressions.index_dtype)
            kept_index = (index, *chosen) if chosen else index
            left.append((ex.Subscript(target.aggregate, kept_index), new))
        else:
            left.append((target, new))
        written |= {name, *expressions.overlapping(name)}
    return kept, left


def _condition_once(
    pairs: Sequence[_Pair], expressions: ExpressionPrinter
) -> tuple[list[str], Sequence[_Pair]]:
    """Let a condition be asked once by which all values are chosen, as those of `argmax` are."""
    choices = [value for _, value in pairs if isinstance(value, ex.If)]
    if not 1 < len(pairs) == len(choices) or len({c.condition for c in choices}) > 1:
        return [], pairs
    condition = choices[0].condition
    if expressions.asks_in_turn:
        condition = _in_turn(condition)
    text = expressions.value(condition, BOOL)
    name = expressions.new_name("taken", BOOL)
    line = f"{expressions.variable_type(BOOL)} const {name} = {text};"
    chosen = [ex.If(ex.Variable(name), choice.then, choice.else_) for choice in choices]
    return [line], [(target, value) for (target, _), value in zip(pairs, chosen, strict=True)]


def _in_turn(condition: Expression) -> Expression:
    """Return truth values that are combined bit by bit as conditions that may go unasked."""
    if not isinstance(condition, ex.BitwiseAnd | ex.BitwiseOr) or not _is_truth(condition):
        return condition
    kind = ex.LogicalAnd if isinstance(condition, ex.BitwiseAnd) else ex.LogicalOr
    return kind(tuple([_in_turn(child) for child in condition.children]))


def _is_truth(node: Expression) -> bool:
    if isinstance(node, ex.BitwiseAnd | ex.BitwiseOr):
        return all(map(_is_truth, node.children))
    return isinstance(node, ex.Comparison | ex.LogicalAnd | ex.LogicalOr | ex.LogicalNot)


def _results_once(
    pairs: Sequence[_Pair], expressions: ExpressionPrinter
) -> tuple[list[str], Sequence[_Pair]]:
    """Let a function with several results be called once for all of them."""
    values = [value for _, value in pairs]
    calls = {value.aggregate for value in values if isinstance(value, ex.Component)}
    if len(values) < 2 or len(calls) != 1:
        return [], pairs
    (call,) = calls
    if not isinstance(call, ex.Call):
        return [], pairs
    dtypes = expressions.result_types(call)
    structure, text = expressions.structure(call)
    name = expressions.new_name("results", dtypes[0])
    random = ex.name_of(call.function) in GENERATORS
    fields = FIELDS if random else [f"r{n}" for n, _ in enumerate(dtypes)]
    left: list[_Pair] = []
    for target, value in pairs:
        if isinstance(value, ex.Component):
            dtype = dtypes[value.position]
            # A half is computed as a float, and not rounded yet.
            c_type = FLOAT32 if dtype == FLOAT16 else dtype
            result: Expression = ex.Variable(
                expressions.new_name(f"{name}.{fields[value.position]}", c_type)
            )
            left.append((target, ex.converted("float16", result) if c_type != dtype else result))
        else:
            left.append((target, value))
    return [f"{structure} const {name} = {text};"], left
