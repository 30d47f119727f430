"""The values of expressions in many instances at once: what a call's data makes of them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polygen.analysis.access.domains import domain_of
from polygen.analysis.integers.isl_affine import set_condition
from polygen.analysis.integers.known_facts import is_never_written
from polygen.analysis.typing.expression_types import opposite_of
from polygen.analysis.typing.index_arithmetic import written_out
from polygen.analysis.typing.inference import kinds
from polygen.analysis.typing.kinds import (
    BOOL,
    Counter,
    Kind,
    default_dtype,
    join,
    letter,
    literal_kind,
)
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.dtype import DType, computed_in, is_exact
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.runtime.claims.element_writers import only_writer, written_at

Column: TypeAlias = NDArray[Any]


class NotKnown(Exception):
    """The value is only known while the kernel runs."""


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
        """Return the value of a subscript or a bound in each row: integers, of any size.

        Raises:
            NotKnown: if the kernel computes it.
            Outside: if it needs an element that does not exist.
        """
        value = np.asarray(self._integer(node, rows))
        if value.dtype == object:  # further than that, it does not matter how far
            value = np.clip(value, -_MOST, _MOST).astype(np.int64)
        return np.broadcast_to(value, (rows.count,))

    def where(self, condition: Expression, rows: Rows, *, integers: bool = False) -> Rows:
        """Return the rows in which a condition holds.

        Parameters:
            condition: the condition.
            rows: the rows.
            integers: whether it is what a domain says, of integers; else it is a value.
        """
        rule = self.column if integers else self.value
        for part in walk.conjuncts(condition):  # one after the other, as they are evaluated
            rows = rows.take(rule(part, rows).astype(np.bool_))
        return rows

    def value(self, node: Expression, rows: Rows) -> Column:
        """Return the value of an expression in each row, computed in NumPy's types.

        Raises:
            NotKnown: if the kernel computes it.
            Outside: if it needs an element that does not exist.
        """
        with np.errstate(all="ignore"):
            found = np.asarray(self.typed(node, rows)[0])
        return np.broadcast_to(found, (rows.count,))

    def typed(self, node: Expression, rows: Rows) -> tuple[Any, Kind]:
        """Return the value of an expression in each row, and its type."""
        if not isinstance(node, ex.ExpressionNode):
            return node, literal_kind(node)
        rule = VALUE_RULES.get(type(node))
        if rule is None:
            raise NotKnown(show_expression(node))
        return rule(self, node, rows)

    def _integer(self, node: Expression, rows: Rows) -> Any:
        node = written_out(node)
        if not isinstance(node, ex.ExpressionNode):
            return node
        rule = _RULES.get(type(node))
        return whole(self.value(node, rows)) if rule is None else rule(self, node, rows)

    def variable(self, node: ex.Variable, rows: Rows) -> tuple[Any, Kind]:
        """Return the value of an iname, a scalar argument, or a temporary that can be inlined."""
        known = kinds(self._kernel).get(node.name)
        if node.name in rows.columns:
            return rows.columns[node.name], known or Counter
        if node.name in self._scalars:
            value = self._scalars[node.name]
            return value, known or np.asarray(value).dtype
        return self._computed(node.name, (), rows)

    def _computed(
        self, name: str, index: tuple[Expression, ...], rows: Rows
    ) -> tuple[Column, Kind]:
        """Return what elements are, or a scalar, that one instruction has computed before.

        Raises:
            NotKnown: if that is not the same expression of inames each time.
        """
        writer, at = self.written(name, index, rows)
        values = Values(self._kernel, self._scalars, self._arrays, writer)
        (node,) = (value for target, value in writer.pairs if ex.name_of(target) == name)
        value, kind = values.typed(node, at)
        dtype = computed_in(self._stored_as(name) or default_dtype(kind))
        column = np.broadcast_to(np.asarray(value), (rows.count,))
        return column.astype(dtype), dtype

    def written(
        self, name: str, index: tuple[Expression, ...], rows: Rows
    ) -> tuple[Assigning, Rows]:
        """Return the one instruction that computes elements before, and its instances that do.

        Raises:
            NotKnown: if there is no such instruction, or it does not compute all of them.
        """
        writer = only_writer(self._kernel, name, self._insn)
        if writer is None:
            raise NotKnown(name)
        found = written_at(self._kernel, writer, self._insn, name, index)
        if found is None:
            raise NotKnown(name)
        at = Rows(rows.count, {iname: self.column(e, rows) for iname, e in found.items()})
        values = Values(self._kernel, self._scalars, self._arrays, writer)
        domain = domain_of(self._kernel, writer.within_inames)
        if index and values.where(set_condition(domain), at, integers=True).count < rows.count:
            raise NotKnown(name)
        return writer, at

    def _stored_as(self, name: str) -> DType | None:
        """Return the type of what a variable holds, if it is declared or passed."""
        array = self._arrays(name)
        return self._kernel.variables[name].dtype if array is None else array.dtype

    def element(self, node: ex.Subscript, rows: Rows) -> tuple[Any, Kind]:
        """Return elements of an array: as it is passed, or as the kernel has computed them."""
        name = ex.name_of(node)
        array = self._arrays(name) if is_never_written(self._kernel, name) else None
        if array is None:
            try:
                return self._computed(name, ex.index_tuple(node), rows)
            except NotKnown:
                raise NotKnown(show_expression(node)) from None
        index = [self.column(e, rows) for e in ex.index_tuple(node)]
        for column, extent in zip(index, array.shape, strict=True):
            wrong = np.flatnonzero((column < 0) | (column >= extent))
            if wrong.size:
                subscripts = tuple(int(c[wrong[0]]) for c in index)
                raise Outside(name, subscripts, rows.at(int(wrong[0])))
        return array[tuple(index)], computed_in(array.dtype)

    def choice(self, node: ex.If, rows: Rows) -> Any:
        """Return the integers of a choice: each branch is looked at where it is taken."""
        taken = self.value(node.condition, rows).astype(np.bool_)
        found = np.empty(rows.count, np.int64)
        found[taken] = self.column(node.then, rows.take(taken))
        found[~taken] = self.column(node.else_, rows.take(~taken))
        return found

    def any_of(self, node: ex.LogicalOr, rows: Rows, rule: Any) -> Any:
        """Return where one of several conditions holds; later ones only matter elsewhere."""
        found = np.zeros(rows.count, np.bool_)
        for part in node.children:
            left = np.flatnonzero(~found)
            found[left] = rule(part, rows.take(left)).astype(np.bool_)
        return found

    def all_of(self, node: ex.LogicalAnd, rows: Rows, rule: Any) -> Any:
        """Return where all conditions hold; later ones only matter where the earlier do."""
        found = np.ones(rows.count, np.bool_)
        for part in node.children:
            left = np.flatnonzero(found)
            found[left] = rule(part, rows.take(left)).astype(np.bool_)
        return found

    def fold(self, operation: Callable[[Any, Any], Any], nodes: Any, rows: Rows) -> Any:
        """Combine the integers of several expressions."""
        return reduce(operation, [self._integer(node, rows) for node in nodes])


def whole(column: Column) -> Column:
    """Return integers of a type as integers that do not wrap around."""
    if not is_exact(column.dtype):
        return column
    large = column.dtype == np.uint64 and column.size and int(column.max()) > _MOST
    return column.astype(object if large else np.int64)


_MOST = 2**63 - 1
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
    ex.If: Values.choice,
    ex.LogicalAnd: lambda values, node, rows: values.all_of(node, rows, values.column),
    ex.LogicalOr: lambda values, node, rows: values.any_of(node, rows, values.column),
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


# --- values


def _combined(
    values: Values, nodes: Any, rows: Rows, operation: Callable[[Any, Any], Any]
) -> tuple[Any, Kind]:
    """Combine values from left to right, each two in the type that they have in common."""
    total, kind = values.typed(nodes[0], rows)
    for node in nodes[1:]:
        value, other = values.typed(node, rows)
        kind = join(kind, other)
        total = operation(_as(total, kind), _as(value, kind))
    return total, kind


def _as(value: Any, kind: Kind) -> Any:
    return np.asarray(value).astype(default_dtype(kind))


def _sum(values: Values, node: ex.Sum, rows: Rows) -> tuple[Any, Kind]:
    total, kind = values.typed(node.children[0], rows)
    for child in node.children[1:]:
        less = opposite_of(child)
        value, other = (
            _combined(values, less, rows, operator.mul) if less else values.typed(child, rows)
        )
        kind = join(kind, other)
        total = (operator.sub if less else operator.add)(_as(total, kind), _as(value, kind))
    return total, kind


def _compared(values: Values, node: ex.Comparison, rows: Rows) -> tuple[Any, Kind]:
    (left, first), (right, second) = (values.typed(side, rows) for side in (node.left, node.right))
    kind = join(first, second)
    if letter(kind) == "f" and not (letter(first) in "iu" and letter(second) in "iu"):
        left, right = _as(left, kind), _as(right, kind)
    return _COMPARISONS[str(node.operator)](left, right), BOOL


def _chosen(values: Values, node: ex.If, rows: Rows) -> tuple[Any, Kind]:
    taken = values.value(node.condition, rows).astype(np.bool_)
    (then, first), (other, second) = (
        values.typed(branch, rows.take(where))
        for branch, where in ((node.then, taken), (node.else_, ~taken))
    )
    kind = join(first, second)
    found = np.empty(rows.count, default_dtype(kind))
    found[taken], found[~taken] = then, other
    return found, kind


def _converted(values: Values, node: ex.Call, rows: Rows) -> tuple[Any, Kind]:
    meant = written_out(node)
    if meant is not node:
        return values.typed(meant, rows)
    name = ex.name_of(node.function)
    if name not in _TYPES:
        raise NotKnown(show_expression(node))
    return values.value(node.parameters[0], rows).astype(name), np.dtype(name)


_TYPES = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))


def _folded(operation: Callable[[Any, Any], Any]) -> _ValueRule:
    return lambda values, node, rows: _combined(values, node.children, rows, operation)


def _divided(operation: Callable[[Any, Any], Any]) -> _ValueRule:
    return lambda values, node, rows: _combined(
        values, (node.numerator, node.denominator), rows, operation
    )


_ValueRule: TypeAlias = Callable[[Values, Any, Rows], tuple[Any, Kind]]
VALUE_RULES: Mapping[type, _ValueRule] = {
    ex.Variable: Values.variable,
    ex.Subscript: Values.element,
    ex.Call: _converted,
    ex.If: _chosen,
    ex.Sum: _sum,
    ex.Product: _folded(operator.mul),
    ex.Min: _folded(np.minimum),
    ex.Max: _folded(np.maximum),
    ex.FloorDiv: _divided(np.floor_divide),
    ex.Remainder: _divided(np.mod),
    ex.Comparison: _compared,
    ex.LogicalAnd: lambda values, node, rows: (values.all_of(node, rows, values.value), BOOL),
    ex.LogicalOr: lambda values, node, rows: (values.any_of(node, rows, values.value), BOOL),
    ex.LogicalNot: lambda values, node, rows: (
        ~values.value(node.child, rows).astype(np.bool_),
        BOOL,
    ),
}
