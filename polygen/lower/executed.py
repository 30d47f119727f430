"""Counts how often one work item executes statements, where sizes say it.

What data decides is executed once; of loops whose bounds depend on others, the mean counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from pymbolic.mapper.evaluator import evaluate

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.lower.program import Assign, Block, Call, Declare, If, Loop, Verbatim

_Executed: TypeAlias = tuple[Assign | Verbatim | Call, int, Mapping[str, int]]
_INTEGERS = (int, ex.Variable, ex.Sum, ex.Product, ex.FloorDiv, ex.Remainder, ex.Min, ex.Max)


def executed_in(block: Block, values: Mapping[str, int], times: int = 1) -> Iterator[_Executed]:
    """Yield each statement with how often it is executed, and the integers known there.

    Parameters:
        block: the statements.
        values: the sizes.
        times: how often all of it is executed.
    """
    for node in block:
        if isinstance(node, Assign | Verbatim | Call):
            yield node, times, values
        elif isinstance(node, Declare) and node.constant:
            value = known_value(node.initial, values)
            values = values if value is None else {**values, node.name: value}
        elif isinstance(node, If):
            yield from executed_in(node.body, values, times)
        elif isinstance(node, Loop):
            yield from _executed_in_loop(node, values, times)


def _executed_in_loop(loop: Loop, values: Mapping[str, int], times: int) -> Iterator[_Executed]:
    lower, upper = known_value(loop.lower, values), known_value(loop.upper, values)
    length = 1
    if lower is not None and upper is not None:
        length = len(range(lower, upper, loop.step))
        values = {**values, loop.iname: (lower + upper) // 2}  # of a triangle, the mean
    yield from executed_in(loop.body, values, times * length)


def known_value(node: Expression | None, values: Mapping[str, int]) -> int | None:
    """Return the value of an integer expression, if sizes and loops around say it."""
    if node is None or not walk.free_variables(node) <= values.keys():
        return None
    if not all(isinstance(part, _INTEGERS) for part in walk.subexpressions(node)):
        return None
    return int(evaluate(node, dict(values)))
