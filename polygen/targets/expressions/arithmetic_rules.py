"""Prints arithmetic: sums, products, quotients, remainders, powers, minima."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.typing.expression_types import opposite_of
from polygen.analysis.typing.kinds import Kind
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.dtype import DType, integer_limits, is_inexact, is_integer
from polygen.ir.expression import Expression
from polygen.targets.expressions.common_rules import Printer, is_cheap, is_minus_one, joined
from polygen.targets.expressions.complex_numbers import complex_call
from polygen.targets.expressions.typed_terms import (
    PRODUCT,
    SUM,
    UNARY,
    Term,
    is_held,
    negated,
    promoted,
    result_range,
    unsigned,
)
from polygen.targets.languages.target import BOOL

_POWERS = {2: "square", 3: "cube", 4: "fourth_power"}


def _steps(p: Printer, nodes: Sequence[Expression], at: DType) -> tuple[list[Kind], DType]:
    """Return the types in which the operands of ``a + b + c`` meet, from left to right.

    Also the type at which those are used that have none of their own: that of the first
    operand that has one.
    """
    return _meeting([p.kind(n) for n in nodes], at)


def _meeting(found: Sequence[Kind], at: DType) -> tuple[list[Kind], DType]:
    kinds = joined(found)
    return kinds, next((k for k in kinds if not isinstance(k, type)), at)


def _first(p: Printer, nodes: Sequence[Expression], kinds: Sequence[Kind], at: DType) -> Term:
    return p.bounded(p.term(nodes[0], p.dtype(kinds[min(1, len(kinds) - 1)], at)), nodes[0])


# --- sums


def print_sum(p: Printer, node: ex.Sum, at: DType) -> Term:
    """Print a sum, with differences instead of negative terms."""
    kinds, at = _meeting([_summand_kind(p, n, c) for n, c in enumerate(node.children)], at)
    children: Sequence[Expression] = node.children
    if all(kind is int for kind in kinds):  # an iname is 0 in the first copy of a body
        children = [c for c in children if type(c) is not int or c != 0] or children[:1]
        kinds = kinds[: len(children)]
    total = _first(p, children, kinds, at)
    for child, kind in zip(children[1:], kinds[1:], strict=True):
        operator, right = _summand(p, child, p.dtype(kind, at))
        dtype = p.meet(kind, at, total, right)
        if dtype == BOOL:
            total = p.logical("||", (total, right))
        else:
            wraps = p.wraps_around(kind)
            total = p.binary(operator, total, right, dtype, SUM, modular=True, wraps=wraps)
    return total


def _summand_kind(p: Printer, position: int, node: Expression) -> Kind:
    """Return the type of a summand; a truth value that is subtracted is one."""
    others = opposite_of(node) if position else ()
    return BOOL if others and all(p.kind(n) == BOOL for n in others) else p.kind(node)


def _summand(p: Printer, node: Expression, dtype: DType) -> tuple[str, Term]:
    """Return ``-`` and a term without its sign, or ``+`` and the term as it is."""
    operator, opposite = "+", "-"
    others = opposite_of(node)
    if others:
        node, *more = others
        if more or p.constant(node) is None:
            return "-", _product(p, others, dtype)
        operator, opposite = "-", "+"
    if isinstance(node, ex.Product) and _is_negative(p, node.children[0], dtype):
        kinds, at = _steps(p, node.children, dtype)
        # The negative of an integer that wraps around in a smaller type is another number.
        if all(p.dtype(kind, at) == dtype for kind in kinds[1:]):
            first = p.number(-p.constant(node.children[0]), dtype)
            return opposite, _times(p, first, node.children, kinds, at)
    elif _is_negative(p, node, dtype):
        return opposite, p.number(-p.constant(node), dtype)
    return operator, p.bounded(p.term(node, dtype), node)


def _is_negative(p: Printer, node: Expression, dtype: DType) -> bool:
    """Tell whether a literal is less than zero, and its negative a number of the type."""
    value = p.constant(node)
    if value is None or isinstance(value, complex) or not value < 0:
        return False
    return is_inexact(dtype) or -value <= integer_limits(dtype)[1]


# --- products


def print_product(p: Printer, node: ex.Product, at: DType) -> Term:
    """Print a product; one with -1 in front is the negative of the others."""
    minus, *others = node.children
    if not others or not is_minus_one(minus) or p.kind(others[0]) == BOOL:
        return _product(p, node.children, at)
    kinds, at = _steps(p, others, at)
    first = _first(p, others, kinds, at)
    negative = _negative(p, first, others[0], wraps=p.wraps_around(kinds[0]))
    return _times(p, negative, others, kinds, at)


def _negative(p: Printer, operand: Term, node: Expression, *, wraps: bool) -> Term:
    found, operand = None, p.bounded(p.wide(operand), node)
    dtype, c_type = operand.dtype, promoted(operand.c_type)
    if wraps and is_integer(dtype):
        found = result_range("-", p.number(0, dtype), operand, dtype)
        if not is_held(found, c_type):
            found = None
            if c_type.kind == "i":
                c_type = unsigned(c_type)
                operand = replace(p.cast(operand, c_type), dtype=dtype)
    exact = operand.exact and (c_type == dtype or is_inexact(dtype))
    return type(operand)(negated(operand), UNARY, dtype, c_type, exact, bounds=found)


def _product(p: Printer, nodes: Sequence[Expression], at: DType) -> Term:
    kinds, at = _steps(p, nodes, at)
    return _times(p, _first(p, nodes, kinds, at), nodes, kinds, at)


def _times(
    p: Printer, total: Term, nodes: Sequence[Expression], kinds: Sequence[Kind], at: DType
) -> Term:
    """Multiply `total`, which stands for the first node, by the others."""
    for node, kind in zip(nodes[1:], kinds[1:], strict=True):
        right = p.bounded(p.term(node, p.dtype(kind, at)), node)
        dtype = p.meet(kind, at, total, right)
        total = _multiply(p, total, right, dtype, wraps=p.wraps_around(kind))
    return total


def _multiply(p: Printer, left: Term, right: Term, dtype: DType, *, wraps: bool) -> Term:
    if dtype == BOOL:
        return p.logical("&&", (left, right))
    return p.binary("*", left, right, dtype, PRODUCT, modular=True, wraps=wraps)


# --- quotients


def print_quotient(p: Printer, node: ex.Quotient, at: DType) -> Term:
    """Print true division: of integers, it is division of doubles."""
    dtype = p.dtype(p.kind(node), at)
    left, right = p.term(node.numerator, dtype), p.term(node.denominator, dtype)
    return p.binary("/", left, right, dtype, PRODUCT, modular=False)


def print_floor_div(p: Printer, node: ex.FloorDiv, at: DType) -> Term:
    """Print division that rounds down, as C's own where both operands are not negative."""
    return _floor(p, node, at, "/", "floor_div")


def print_truncated_div(p: Printer, node: ex.FloorDiv, at: DType) -> Term:
    """Print division of which it is asked how large it is, where it is not negative."""
    return _floor(p, node, at, "/", "floor_div", of_any_sign=True)


def print_remainder(p: Printer, node: ex.Remainder, at: DType) -> Term:
    """Print the remainder that has the divisor's sign."""
    return _floor(p, node, at, "%", "mod")


def print_divisibility(p: Printer, node: ex.Remainder, at: DType) -> Term:
    """Print a remainder of which it is asked whether it is 0: its sign does not matter."""
    return _floor(p, node, at, "%", "mod", of_any_sign=True)


def _floor(
    p: Printer,
    node: ex.FloorDiv | ex.Remainder,
    at: DType,
    operator: str,
    helper: str,
    *,
    of_any_sign: bool = False,
) -> Term:
    dtype = p.dtype(p.kind(node), at)
    left, right = p.term(node.numerator, dtype), p.term(node.denominator, dtype)
    dtype = p.meet(p.kind(node), at, left, right)
    if dtype.kind == "f":
        quotient = p.helper(helper, promoted(dtype), (p.exact(left), p.exact(right)))
        return p.narrow(quotient, dtype)
    left = p.exact(left)
    of_any_sign = of_any_sign and dtype.kind == promoted(left.c_type).kind == "i"
    if _never_zero(p, node.denominator) and (of_any_sign or is_nonnegative(p, node.numerator)):
        return p.binary(operator, left, right, dtype, PRODUCT, modular=False)
    call = p.narrow(p.helper(helper, promoted(dtype), (p.exact(left), p.exact(right))), dtype)
    if not call.exact and p.wraps_around(p.kind(node)):
        # No other quotient than that of the least number by -1 wraps around, and no remainder.
        call.exact = operator == "%" or p.range_of(node) != integer_limits(dtype)
    return call


def _never_zero(p: Printer, node: Expression) -> bool:
    """Tell whether a divisor is positive.

    One that is built from loop counters and sizes only, none of them negative, is taken to be:
    where a size is zero, loops over it are empty.  What a kernel computes or reads may be zero,
    though, and then C's own division would end the process.
    """
    value = p.constant(node)
    if value is not None:
        return bool(value > 0)
    return (
        p.kind(node) is int
        and walk.free_variables(node) <= p.names.nonnegative
        and is_nonnegative(p, node)
    )


def is_nonnegative(p: Printer, node: Expression) -> bool:
    """Tell whether an annotated node is certainly never negative."""
    value = p.constant(node)
    if value is not None:
        return bool(value >= 0)
    kind = p.kind(node)
    if not isinstance(kind, type):
        if kind.kind in "ub":
            return True
        if p.wraps_around(kind):
            return p.range_of(node)[0] >= 0
    if p.never_negative(node):
        return True
    if isinstance(node, ex.Max):
        return any(is_nonnegative(p, c) for c in node.children)
    if type(node) in _KEEP_SIGN and all(is_nonnegative(p, c) for c in _valued_parts(node)):
        return True
    return isinstance(node, ex.Sum) and kind is int and _holds_an_extent(p, node)


def _holds_an_extent(p: Printer, node: ex.Sum) -> bool:
    """Tell whether a sum is an extent, and something that is not negative: n + 3 is n + 1 and 2."""
    form = linear_form(node) if p.names.extents else None
    sizes = [linear_form(extent) for extent in p.names.extents]
    rests = [form - size for size in sizes if form is not None and size is not None]
    known = p.names.nonnegative
    return any(
        rest.constant >= 0 and all(f > 0 and term in known for term, f in rest.terms.items())
        for rest in rests
    )


# What they make of operands that are not negative is not negative either.
_KEEP_SIGN = (ex.Sum, ex.Product, ex.Min, ex.FloorDiv, ex.Remainder, ex.If)


def _valued_parts(node: Expression) -> tuple[Expression, ...]:
    parts = walk.parts(node)
    return parts[1:] if isinstance(node, ex.If | ex.Remainder) else parts


# --- powers


def print_power(p: Printer, node: ex.Power, at: DType) -> Term:
    """Print a power: a product if the exponent is a small literal."""
    return print_power_of(p, node.base, node.exponent, p.dtype(p.kind(node), at))


def print_power_of(p: Printer, node: Expression, exponent_node: Expression, dtype: DType) -> Term:
    """Print a power in a type."""
    base, exponent = p.term(node, dtype), p.constant(exponent_node)
    if exponent == 0:
        return p.number(1, dtype)
    if exponent in (1, 2, 3, 4):
        return _small_power(p, node, base, int(exponent), dtype)
    if dtype.kind == "c":
        return complex_call(p, "pow", [base, p.term(exponent_node, dtype)], dtype, dtype)
    if dtype.kind != "f":
        right = p.exact(p.term(exponent_node, dtype))
        return p.narrow(p.helper("power", promoted(dtype), (p.exact(base), right)), dtype)
    if exponent == 0.5:
        return p.math_call("sqrt", dtype, [base])
    if exponent in (-1, -2, -3, -4):
        power = _small_power(p, node, base, -int(exponent), dtype)
        return p.binary("/", p.number(1, dtype), power, dtype, PRODUCT, modular=False)
    return p.math_call("pow", dtype, [base, p.term(exponent_node, dtype)])


def _small_power(p: Printer, node: Expression, base: Term, exponent: int, dtype: DType) -> Term:
    if exponent == 1:
        return p.convert(base, dtype)
    if is_cheap(node) and base.dtype == dtype:
        base, wraps = p.bounded(base, node), p.wraps_around(p.kind(node))
        return reduce(lambda a, b: _multiply(p, a, b, dtype, wraps=wraps), [base] * exponent)
    if dtype.kind == "c":
        return complex_call(p, _POWERS[exponent], [base], dtype, dtype)
    return p.narrow(p.helper(_POWERS[exponent], promoted(dtype), (p.exact(base),)), dtype)
