"""The values of expressions in many instances at once: what a call's data makes of them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polygen.analysis.known import is_never_written
from polygen.analysis.order import order_of
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.instruction import CInstruction, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression

Column: TypeAlias = NDArray[Any]


class NotKnown(Exception):
    """What is asked for is only known while the kernel runs."""


class Outside(Exception):
    """An element that is needed to know where another access goes is outside of its array.

    Attributes:
        name: the array.
        index: the subscripts.
        at: the values of the inames.
    """

    def __init__(self, name: str, index: tuple[int, ...], at: Mapping[str, int]) -> None:
        super().__init__(name, index, at)
        self.name = name
        self.index = index
        self.at = at


@dataclass(frozen=True)
class Rows:
    """Instances, or points of a domain: one row each.

    Attributes:
        count: how many there are.
        columns: the values of the inames.
    """

    count: int
    columns: Mapping[str, Column]

    def take(self, rows: Column) -> Rows:
        """Return some of the rows: by a column of truth values, or by their numbers."""
        columns = {name: column[rows] for name, column in self.columns.items()}
        count = int(np.count_nonzero(rows)) if rows.dtype == np.bool_ else len(rows)
        return Rows(count, columns)

    def at(self, row: int) -> dict[str, int]:
        """Return the values of the inames in one row."""
        return {name: int(column[row]) for name, column in self.columns.items()}


class Values:
    """Evaluates expressions.

    Parameters:
        kernel: the kernel, without substitution rules.
        scalars: the value of each scalar argument.
        arrays: returns an array that is passed, as NumPy's; None for one that is not.
        insn: the instruction whose expressions they are.
    """

    def __init__(
        self,
        kernel: Kernel,
        scalars: Mapping[str, Any],
        arrays: Callable[[str], Any],
        insn: Instruction,
    ) -> None:
        self._kernel = kernel
        self._scalars = scalars
        self._arrays = arrays
        self._insn = insn

    def column(self, node: Expression, rows: Rows) -> Column:
        """Return the value of an expression in each row.

        Raises:
            NotKnown: if the kernel computes it.
            Outside: if it needs an element that does not exist.
        """
        value = np.asarray(self._value(node, rows))
        return np.broadcast_to(value, (rows.count,))

    def where(self, condition: Expression, rows: Rows) -> Rows:
        """Return the rows in which a condition holds."""
        for part in walk.conjuncts(condition):  # one after the other, as they are evaluated
            rows = rows.take(self.column(part, rows).astype(np.bool_))
        return rows

    def _value(self, node: Expression, rows: Rows) -> Any:
        if not isinstance(node, ex.ExpressionNode):
            return node
        rule = _RULES.get(type(node))
        if rule is None:
            raise NotKnown(show_expression(node))
        return rule(self, node, rows)

    def variable(self, node: ex.Variable, rows: Rows) -> Any:
        """Return the value of an iname, a scalar argument, or a temporary that can be inlined."""
        if node.name in rows.columns:
            return rows.columns[node.name]
        if node.name in self._scalars:
            return self._scalars[node.name]
        return self._temporary(node.name, rows)

    def _temporary(self, name: str, rows: Rows) -> Column:
        """Return what a scalar temporary is where the instruction reads it.

        Raises:
            NotKnown: if it is not the same expression of inames each time.
        """
        writers = self._kernel.writers.get(name, ())
        variable = self._kernel.variables.get(name)
        if len(writers) != 1 or not isinstance(variable, TemporaryVariable) or variable.shape:
            raise NotKnown(name)
        (writer,) = writers
        if isinstance(writer, CInstruction):
            raise NotKnown(name)
        around = self._insn.within_inames
        first = order_of(self._kernel).depends(writer.id, self._insn.id)
        if writer.predicates or not first or not writer.within_inames <= around:
            raise NotKnown(name)
        values = Values(self._kernel, self._scalars, self._arrays, writer)
        (value,) = (v for target, v in writer.pairs if ex.name_of(target) == name)
        found = values.column(value, rows)
        if variable.dtype is not None:
            found = found.astype(variable.dtype)
        return found.astype(np.int64) if found.dtype.kind in "iu" else found

    def element(self, node: ex.Subscript, rows: Rows) -> Any:
        """Return elements of an array that the kernel does not write."""
        name = ex.name_of(node)
        array = self._arrays(name) if is_never_written(self._kernel, name) else None
        if array is None:
            raise NotKnown(show_expression(node))
        index = [self.column(e, rows).astype(np.int64) for e in ex.index_tuple(node)]
        for column, extent in zip(index, array.shape, strict=True):
            wrong = np.flatnonzero((column < 0) | (column >= extent))
            if wrong.size:
                subscripts = tuple(int(c[wrong[0]]) for c in index)
                raise Outside(name, subscripts, rows.at(int(wrong[0])))
        found = array[tuple(index)]
        return found.astype(np.int64) if found.dtype.kind in "iu" else found

    def choice(self, node: ex.If, rows: Rows) -> Any:
        """Return the values of a choice: each branch is looked at where it is taken."""
        taken = self.column(node.condition, rows).astype(np.bool_)
        then = self.column(node.then, rows.take(taken))
        other = self.column(node.else_, rows.take(~taken))
        found = np.empty(rows.count, np.result_type(then, other))
        found[taken], found[~taken] = then, other
        return found

    def any_of(self, node: ex.LogicalOr, rows: Rows) -> Any:
        """Return where one of several conditions holds; later ones only matter elsewhere."""
        found = np.zeros(rows.count, np.bool_)
        for part in node.children:
            left = np.flatnonzero(~found)
            found[left] = self.column(part, rows.take(left)).astype(np.bool_)
        return found

    def all_of(self, node: ex.LogicalAnd, rows: Rows) -> Any:
        """Return where all conditions hold; later ones only matter where the earlier do."""
        found = np.ones(rows.count, np.bool_)
        for part in node.children:
            left = np.flatnonzero(found)
            found[left] = self.column(part, rows.take(left)).astype(np.bool_)
        return found

    def fold(self, operation: Callable[[Any, Any], Any], nodes: Any, rows: Rows) -> Any:
        """Combine the values of several expressions."""
        return reduce(operation, [self._value(node, rows) for node in nodes])


_Rule: TypeAlias = Callable[[Values, Any, Rows], Any]


def _children(operation: Callable[[Any, Any], Any]) -> _Rule:
    return lambda values, node, rows: values.fold(operation, node.children, rows)


def _quotient(operation: Callable[[Any, Any], Any]) -> _Rule:
    return lambda values, node, rows: values.fold(
        operation, (node.numerator, node.denominator), rows
    )


_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

_RULES: Mapping[type, _Rule] = {
    ex.Variable: Values.variable,
    ex.Subscript: Values.element,
    ex.If: Values.choice,
    ex.LogicalAnd: Values.all_of,
    ex.LogicalOr: Values.any_of,
    ex.LogicalNot: lambda values, node, rows: ~values.column(node.child, rows).astype(np.bool_),
    ex.Sum: _children(operator.add),
    ex.Product: _children(operator.mul),
    ex.Min: _children(np.minimum),
    ex.Max: _children(np.maximum),
    ex.FloorDiv: _quotient(np.floor_divide),
    ex.Remainder: _quotient(np.mod),
    ex.Comparison: lambda values, node, rows: values.fold(
        _COMPARISONS[str(node.operator)], (node.left, node.right), rows
    ),
}
