"""Expressions: pymbolic's nodes, and those that polygen adds.

An expression is a tree of pymbolic nodes with Python numbers at its leaves.  Its nodes are
immutable and hashable, and their hash is computed once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pymbolic.mapper.stringifier import PREC_NONE, StringifyMapper
from pymbolic.primitives import (
    BitwiseAnd,
    BitwiseNot,
    BitwiseOr,
    BitwiseXor,
    Call,
    Comparison,
    ExpressionNode,
    FloorDiv,
    If,
    LeftShift,
    LogicalAnd,
    LogicalNot,
    LogicalOr,
    Max,
    Min,
    Power,
    Product,
    Quotient,
    Remainder,
    RightShift,
    Subscript,
    Sum,
    Variable,
    expr_dataclass,
)
from pymbolic.typing import Expression

from polygen.ir.operation import Operation

__all__ = [
    "BitwiseAnd",
    "BitwiseNot",
    "BitwiseOr",
    "BitwiseXor",
    "Call",
    "Comparison",
    "Component",
    "Expression",
    "ExpressionNode",
    "FloorDiv",
    "If",
    "Invocation",
    "LeftShift",
    "LinearSubscript",
    "LogicalAnd",
    "LogicalNot",
    "LogicalOr",
    "Max",
    "Min",
    "Power",
    "Product",
    "Quotient",
    "Reduction",
    "Remainder",
    "RightShift",
    "Several",
    "SubArrayRef",
    "Subscript",
    "Sum",
    "Variable",
    "element",
    "index_of",
    "index_tuple",
    "name_of",
    "negated",
    "product_of",
    "sum_of",
]


class _Stringifier(StringifyMapper[[]]):
    """The ``str`` of expressions: pymbolic's, extended by the nodes below."""

    def map_reduction(self, node: Reduction, _level: int) -> str:
        inames = node.inames[0] if len(node.inames) == 1 else f"({', '.join(node.inames)})"
        return f"{node.operation}({inames}, {self.rec(node.operand, PREC_NONE)})"

    def map_invocation(self, node: Invocation, _level: int) -> str:
        given = [self.rec(argument, PREC_NONE) for argument in node.arguments]
        given += [
            f"{name}={self.rec(value, PREC_NONE)}"
            for name, value in zip(node.inames, node.values, strict=True)
        ]
        tag = "" if node.tag is None else f"${node.tag}"
        return f"{node.rule}{tag}({', '.join(given)})"

    def map_several(self, node: Several, _level: int) -> str:
        return ", ".join([self.rec(child, PREC_NONE) for child in node.children])

    def map_component(self, node: Component, _level: int) -> str:
        return f"{self.rec(node.aggregate, PREC_NONE)}[{node.position}]"

    def map_linear_subscript(self, node: LinearSubscript, _level: int) -> str:
        return f"{node.aggregate}[[{self.rec(node.index, PREC_NONE)}]]"

    def map_sub_array_ref(self, node: SubArrayRef, _level: int) -> str:
        axes = node.axes(lambda extent: self.rec(extent, PREC_NONE))
        return f"[{axes}]: {self.rec(node.subscript, PREC_NONE)}"


class _Own(ExpressionNode):
    """A node of polygen's."""

    def make_stringifier(self, originating_stringifier: Any = None) -> _Stringifier:  # noqa: ARG002
        """Return what pymbolic asks for the text of a node that it does not know."""
        return _Stringifier()


@expr_dataclass()
class Reduction(_Own):
    """``operation(inames, operand)``, as in ``sum(k, a[i, k]*b[k, j])``.

    Attributes:
        operation: ``sum`` or another one of `polygen.ir.reduction.BUILT_IN`, or more than a name.
        inames: what is reduced over, in the order that was written.
        operand: evaluated once for each value of the inames; `Several` values for an operation that
            has several results, each of which is a `Component`.
    """

    operation: Operation
    inames: tuple[str, ...]
    operand: Expression


@expr_dataclass()
class Invocation(_Own):
    """``f(x)``, where a substitution rule says what ``f(x)`` stands for.

    A rule may mention inames, as in ``f(x) := a[x, i]``.  What they are is said here: at first
    they stand for themselves, after a split ``i`` is ``16*i_outer + i_inner``.  So a rule means
    the same whatever happens to the loops, and is never rewritten because of them.

    Attributes:
        rule: its name.
        tag: what tells some invocations of a rule from others (``f$tag(x)``), or None.
        arguments: what is put in place of the rule's arguments.
        inames: the inames that the rule mentions.
        values: what each of them is here.
    """

    rule: str
    tag: str | None
    arguments: tuple[Expression, ...]
    inames: tuple[str, ...]
    values: tuple[Expression, ...]


@expr_dataclass()
class Several(_Own):
    """``x, k``: what is reduced where a reduction has several results.

    Attributes:
        children: one value for each result.
    """

    children: tuple[Expression, ...]


@expr_dataclass()
class Component(_Own):
    """``f(x)[1]``: one of the results of something that has several.

    Attributes:
        aggregate: a call of a function, or a reduction, with several results.
        position: which of them, counted from 0.
    """

    aggregate: Expression
    position: int


@expr_dataclass()
class LinearSubscript(Subscript, _Own):
    """``a[[e]]``: the element of an array that is stored at a position, counted from 0.

    Kernels have none: once the shapes of arrays are known, it becomes a subscript for each axis.
    """


def converted(dtype_name: str, node: Expression) -> Call:
    """Return ``float32(x)``: a number converted to another type, as NumPy's ``astype`` does."""
    return Call(Variable(dtype_name), (node,))


@expr_dataclass()
class SubArrayRef(_Own):
    """``[j]: a[i, j]``: the part of an array that a kernel is given; gone once that is inlined.

    Attributes:
        swept_inames: the names that run over the part, in the order of its axes.
        subscript: an element, in terms of these names.
        extents: for names of which it is said, how many values they have: ``[j < 7]: a[i, j]``.
    """

    swept_inames: tuple[str, ...]
    subscript: Expression
    extents: tuple[tuple[str, Expression], ...] = ()

    def axes(self, show: Callable[[Expression], str]) -> str:
        """Return the names as they are written, with how many values they have."""
        said = dict(self.extents)
        return ", ".join([f"{n} < {show(said[n])}" if n in said else n for n in self.swept_inames])


def sum_of(*terms: Expression) -> Sum:
    """Return the sum as it is written: pymbolic's ``+`` would flatten and fold it."""
    return Sum(terms)  # type: ignore[arg-type]


def product_of(*factors: Expression) -> Product:
    """Return the product as it is written."""
    return Product(factors)  # type: ignore[arg-type]


def floor_quotient(numerator: Expression, denominator: Expression) -> FloorDiv:
    """Return ``numerator // denominator``."""
    return FloorDiv(numerator, denominator)  # type: ignore[arg-type]


def remainder_of(numerator: Expression, denominator: Expression) -> Remainder:
    """Return ``numerator % denominator``."""
    return Remainder(numerator, denominator)  # type: ignore[arg-type]


def negated(node: Expression) -> Product:
    """Return ``-node``."""
    return product_of(-1, node)


def index_tuple(subscript: Subscript) -> tuple[Expression, ...]:
    """Return the subscripts of ``a[i, j]`` as a tuple, also where there is only one."""
    index = subscript.index
    if isinstance(index, tuple):
        several: tuple[Expression, ...] = index
        return several
    return (index,)


def index_of(node: Expression) -> tuple[Expression, ...]:
    """Return the subscripts of ``a[i, j]``; a variable has none."""
    return index_tuple(node) if isinstance(node, Subscript) else ()


def element(array: Variable, index: tuple[Expression, ...]) -> Subscript | Variable:
    """Return ``a[i, j]``: the element of an array with these subscripts; itself without axes."""
    if not index:
        return array
    return Subscript(array, index[0] if len(index) == 1 else index)


def name_of(node: Expression) -> str:
    """Return the name of a variable, or of the array of a subscript."""
    if type(node) is Subscript:  # as most are
        node = node.aggregate
    if isinstance(node, Variable):
        return node.name
    if isinstance(node, SubArrayRef):
        node = node.subscript
    if isinstance(node, Subscript):
        node = node.aggregate
    if isinstance(node, Variable):
        return node.name
    raise TypeError(f"{node!r} names nothing")
