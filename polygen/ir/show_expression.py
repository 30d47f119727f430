"""Expressions as text, in the syntax that polygen reads: what is printed parses back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir.callables import is_symbol
from polygen.ir.expression import Expression

# How strongly an operator binds, weakest first: Python's order.
OR, AND, NOT, COMPARE, BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, PRODUCT, UNARY, POWER, ATOM = range(13)

_Show: TypeAlias = Callable[[Expression, int], str]
_Row: TypeAlias = tuple[int, Callable[[Any, _Show], str]]


def _joined(operator: str, level: int) -> _Row:
    # Operands bind one step tighter, so that nested nodes of one kind keep their parentheses.
    return level, lambda node, show: operator.join(show(c, level + 1) for c in node.children)


def _quotient(operator: str) -> _Row:
    return (
        PRODUCT,
        lambda node, show: (
            show(node.numerator, PRODUCT) + operator + show(node.denominator, PRODUCT + 1)
        ),
    )


def _shift(operator: str) -> _Row:
    return (
        SHIFT,
        lambda node, show: show(node.shiftee, SHIFT) + operator + show(node.shift, SHIFT + 1),
    )


def is_negated(node: Expression) -> bool:
    """Tell whether `node` is what ``-x`` stands for; the -1 of ``-1.0*x`` is another one."""
    return (
        isinstance(node, ex.Product)
        and len(node.children) == 2
        and type(node.children[0]) is int
        and node.children[0] == -1
        and isinstance(node.children[1], ex.ExpressionNode)
    )


def _sum(node: Any, show: _Show) -> str:
    text = show(node.children[0], SUM + 1)
    for term in node.children[1:]:
        if is_negated(term):
            text += f" - {show(term.children[1], SUM + 1)}"
        elif isinstance(term, ex.ExpressionNode):
            text += f" + {show(term, SUM + 1)}"
        else:
            number = show(term, OR)
            text += f" - {number[1:]}" if number.startswith("-") else f" + {number}"
    return text


def _product(node: Any, show: _Show) -> str:
    if is_negated(node):
        return f"-{show(node.children[1], UNARY)}"
    return "*".join(show(c, PRODUCT + 1) for c in node.children)


def _part(node: Any, show: _Show) -> str:
    def extent(of: Expression) -> str:
        return show(of, SUM)

    axes = f"[{node.axes(extent)}]: " if node.swept_inames else ""
    return axes + show(node.subscript, OR)


def _arguments(nodes: tuple[Expression, ...], show: _Show) -> str:
    return ", ".join(show(n, OR) for n in nodes)


def _invocation(node: Any, show: _Show) -> str:
    name = node.rule if node.tag is None else f"{node.rule}${node.tag}"
    given = [show(a, OR) for a in node.arguments]
    for iname, value in zip(node.inames, node.values, strict=True):
        if value != ex.Variable(iname):
            given.append(f"{iname}={show(value, OR)}")
    return f"{name}({', '.join(given)})"


_TABLE: dict[type, _Row] = {
    ex.Variable: (ATOM, lambda n, show: n.name),
    ex.Subscript: (
        ATOM,
        lambda n, show: f"{show(n.aggregate, ATOM)}[{_arguments(ex.index_tuple(n), show)}]",
    ),
    ex.LinearSubscript: (ATOM, lambda n, show: f"{show(n.aggregate, ATOM)}[[{show(n.index, OR)}]]"),
    ex.Call: (
        ATOM,
        lambda n, show: (
            n.function.name
            if is_symbol(n)
            else f"{n.function.name}({_arguments(n.parameters, show)})"
        ),
    ),
    ex.Several: (OR, lambda n, show: _arguments(n.children, show)),
    ex.SubArrayRef: (OR, _part),
    ex.Component: (ATOM, lambda n, show: f"{show(n.aggregate, ATOM)}[{n.position}]"),
    ex.Reduction: (
        ATOM,
        lambda n, show: (
            f"{n.operation}("
            + (n.inames[0] if len(n.inames) == 1 else f"({', '.join(n.inames)})")
            + f", {show(n.operand, OR)})"
        ),
    ),
    ex.Invocation: (ATOM, _invocation),
    ex.If: (
        ATOM,
        lambda n, show: f"if({_arguments((n.condition, n.then, n.else_), show)})",
    ),
    ex.Min: (ATOM, lambda n, show: f"min({_arguments(n.children, show)})"),
    ex.Max: (ATOM, lambda n, show: f"max({_arguments(n.children, show)})"),
    ex.Power: (POWER, lambda n, show: f"{show(n.base, ATOM)}**{show(n.exponent, UNARY)}"),
    ex.Sum: (SUM, _sum),
    ex.Product: (PRODUCT, _product),
    ex.Quotient: _quotient("/"),
    ex.FloorDiv: _quotient("//"),
    ex.Remainder: _quotient(" % "),
    ex.LeftShift: _shift(" << "),
    ex.RightShift: _shift(" >> "),
    ex.BitwiseNot: (UNARY, lambda n, show: f"~{show(n.child, UNARY)}"),
    ex.BitwiseAnd: _joined(" & ", BIT_AND),
    ex.BitwiseXor: _joined(" ^ ", BIT_XOR),
    ex.BitwiseOr: _joined(" | ", BIT_OR),
    ex.LogicalNot: (NOT, lambda n, show: f"not {show(n.child, NOT)}"),
    ex.LogicalAnd: _joined(" and ", AND),
    ex.LogicalOr: _joined(" or ", OR),
    ex.Comparison: (
        COMPARE,
        lambda n, show: f"{show(n.left, BIT_OR)} {n.operator} {show(n.right, BIT_OR)}",
    ),
}


def show_expression(node: Expression, level: int = OR) -> str:
    """Return `node` as text, in parentheses if it binds more weakly than `level`.

    >>> from polygen.ir.expression import Variable
    >>> show_expression(2 * (Variable("i") - Variable("j")))
    '2*(i - j)'
    """
    if not isinstance(node, ex.ExpressionNode):
        return _number(node, level)
    row = _TABLE.get(type(node))
    if row is None:
        raise InternalError(f"no text for a node of class {type(node).__name__}")
    own, write = row
    text = write(node, show_expression)
    negated = own == PRODUCT and is_negated(node)
    return f"({text})" if (UNARY if negated else own) < level else text


def _number(value: Any, level: int) -> str:
    if isinstance(value, complex):
        return f"{value.imag!r}j"  # there are imaginary literals only
    text = repr(value) if isinstance(value, bool | int | float) else str(value)
    return f"({text})" if text.startswith("-") and level > UNARY else text
