"""Expressions from sympy, and for sympy, which is imported when one is asked for."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any, TypeAlias

import numpy as np

from polygen.errors import MalformedExpression, NoSympy
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.public import public
from polygen.ir.show_expression import show_expression
from polygen.language.parser import parse_expression
from polygen.source import caller_location

_Sympy: TypeAlias = Any  # sympy has no types

# What sympy calls functions that are called otherwise here; the names of others are the same.
_NAMES = {
    "Abs": "abs",
    "arg": "carg",
    "ceiling": "ceil",
    "conjugate": "conj",
    "gamma": "tgamma",
    "im": "imag",
    "loggamma": "lgamma",
    "re": "real",
}
_SAME = (
    "acos acosh asin asinh atan atan2 atanh cos cosh erf erfc exp floor log sign sin sinh tan tanh"
)
_FUNCTIONS = {**{name: name for name in _SAME.split()}, **_NAMES}
_BACK = {ours: theirs for theirs, ours in _FUNCTIONS.items()}


@public
def from_sympy(expr: Any) -> Expression:
    """Return an expression of sympy's as one of polygen's.

    Symbols become variables, ``IndexedBase("a")[i]`` the element ``a[i]``, functions the ones that
    kernels may call, functions without a meaning in sympy calls of their name.  Fractions are
    quotients of integers, which are floating-point numbers in kernels.

    Parameters:
        expr: sympy's, or a number.

    Raises:
        NoSympy: if sympy is not installed.
        MalformedExpression: if there is something in it that polygen does not have.

    >>> import polygen as pg, sympy
    >>> x = sympy.Symbol("x")
    >>> print(pg.from_sympy(sympy.sin(x**2).diff(x)))
    2*x*cos(x**2)
    """
    sympy = _sympy()
    given = _as_sympy(sympy, expr, f"a {type(expr).__name__}, which is none of sympy's")
    found: Expression = _read(given)
    return found


@public
def to_sympy(expr: Expression | str) -> Any:
    """Return an expression of polygen's as one of sympy's.

    The inverse of `from_sympy`, up to the order of sums and products, in which sympy is free.

    Parameters:
        expr: pymbolic's tree, or a text in the language of instructions.

    Raises:
        NoSympy: if sympy is not installed.
        MalformedExpression: if there is something in it that sympy does not have.

    >>> import polygen as pg
    >>> pg.to_sympy("(a[i] + 1)*(a[i] - 1)").expand()
    a[i]**2 - 1
    """
    return _written(_sympy(), parse_expression(expr) if isinstance(expr, str) else expr)


def _sympy() -> _Sympy:
    try:
        return importlib.import_module("sympy")
    except ImportError:
        raise NoSympy(
            "this needs sympy, which is not installed",
            where=caller_location(),
            remedy="pip install sympy",
        ) from None


def _as_sympy(sympy: _Sympy, value: object, what: str) -> _Sympy:
    """Return an expression of sympy's, or a number as one.

    Nothing else may reach sympy: it executes texts, those in tuples and lists, too.
    """
    if not isinstance(value, sympy.Basic | Number | np.generic):
        raise _refused(value, what)
    try:
        return sympy.sympify(value, strict=True)
    except sympy.SympifyError:
        raise _refused(value, what) from None


def _refused(node: object, what: str) -> MalformedExpression:
    return MalformedExpression(
        f"an expression has {node} in it, {what}",
        where=caller_location(),
        remedy="compute it in another way, or leave it to an instruction that is written as text",
    )


# ---- from sympy


def _read(node: _Sympy) -> Any:  # an expression; pymbolic tells kinds of them apart
    for kind in type(node).__mro__:
        rule = _READ.get(kind.__name__)
        if rule is not None:
            return rule(node)
    name = type(node).__name__
    if name in _FUNCTIONS and node.is_Function:
        return _call(_FUNCTIONS[name], node.args)
    raise _refused(node, f"a {name}")


def _call(name: str, arguments: Sequence[_Sympy]) -> Expression:
    return ex.Call(ex.Variable(name), tuple(map(_read, arguments)))


def _checked_name(name: str) -> str:
    if not (name.isascii() and name.isidentifier()):
        raise _refused(name, "whose name is no identifier")
    return name


def _read_symbol(node: _Sympy) -> Expression:
    return ex.Variable(_checked_name(node.name))


def _read_number(node: _Sympy) -> Expression:
    number = float(node)
    if not math.isfinite(number):
        raise _refused(node, "which is no number that can be written")
    return number


def _read_fraction(node: _Sympy) -> Any:
    return _quotient([node.p], [node.q])


def _read_indexed(node: _Sympy) -> Expression:
    index = [_read(part) for part in node.indices]
    return ex.Subscript(_read(node.base.label), tuple(index) if len(index) > 1 else index[0])


def _read_sum(node: _Sympy) -> Expression:
    return ex.sum_of(*map(_read, node.as_ordered_terms()))


def _read_product(node: _Sympy) -> Any:
    above: list[Any] = []
    below: list[Any] = []
    for factor in node.as_ordered_factors():
        if factor.is_Rational:
            above += [factor.p] if factor.p != 1 else []
            below += [factor.q] if factor.q != 1 else []
        elif factor.is_Pow and factor.exp.is_Number and factor.exp.is_negative:
            below.append(_read(1 / factor))
        else:
            above.append(_read(factor))
    return _quotient(above, below)


def _quotient(above: list[Any], below: list[Any]) -> Any:
    first, *rest = above or [1]
    value: Any
    if type(first) is int and first == -1 and rest:
        value = ex.negated(rest[0] if len(rest) == 1 else ex.product_of(*rest))
    else:
        value = ex.product_of(first, *rest) if rest else first
    if not below:
        return value
    return ex.Quotient(value, below[0] if len(below) == 1 else ex.product_of(*below))


def _read_power(node: _Sympy) -> Expression:
    base, exponent = node.args
    if exponent.is_Number and exponent.is_negative:
        return ex.Quotient(1, _read(1 / node))
    if exponent.is_Rational and exponent.q == 2 and exponent.p == 1:
        return _call("sqrt", [base])
    return ex.Power(_read(base), _read(exponent))


def _read_piecewise(node: _Sympy) -> Any:
    *pieces, last = node.args
    if last.cond != True:  # noqa: E712  (sympy's own truth)
        raise _refused(node, "which has no value for some numbers")
    value = _read(last.expr)
    for piece in reversed(pieces):
        value = ex.If(_read(piece.cond), _read(piece.expr), value)
    return value


def _joined(kind: Any) -> Callable[[_Sympy], Expression]:
    return lambda node: kind(tuple(map(_read, sorted(node.args, key=str))))


def _compared(node: _Sympy) -> Expression:
    left, right = map(_read, node.args)
    return ex.Comparison(left, node.rel_op, right)


_READ: dict[str, Callable[[_Sympy], Expression]] = {
    "Symbol": _read_symbol,
    "Idx": lambda node: _read(node.label),
    "Indexed": _read_indexed,
    "Integer": int,
    "Rational": _read_fraction,
    "Float": _read_number,
    "NumberSymbol": _read_number,
    "Infinity": _read_number,
    "NegativeInfinity": _read_number,
    "NaN": _read_number,
    "ImaginaryUnit": lambda node: 1j,
    "BooleanTrue": lambda node: True,
    "BooleanFalse": lambda node: False,
    "Add": _read_sum,
    "Mul": _read_product,
    "Pow": _read_power,
    "Mod": lambda node: ex.Remainder(*map(_read, node.args)),
    "Min": _joined(ex.Min),
    "Max": _joined(ex.Max),
    "And": _joined(ex.LogicalAnd),
    "Or": _joined(ex.LogicalOr),
    "Not": lambda node: ex.LogicalNot(_read(node.args[0])),
    "ITE": lambda node: ex.If(*map(_read, node.args)),
    "Piecewise": _read_piecewise,
    "Relational": _compared,
    "AppliedUndef": lambda node: _call(_checked_name(node.func.name), node.args),
}


# ---- to sympy


def _written(sympy: _Sympy, node: Any) -> _Sympy:
    if not isinstance(node, ex.ExpressionNode):
        return _as_sympy(sympy, node, "which is no expression")
    rule = _WRITTEN.get(type(node))
    if rule is None:
        shown = show_expression(node) if type(node) in walk.SUPPORTED_NODES else repr(node)
        raise _refused(f"'{shown}'", "which sympy does not have")
    return rule(sympy, node, lambda part: _written(sympy, part))


def _write_call(sympy: _Sympy, node: Any, write: Callable[[Any], _Sympy]) -> _Sympy:
    name = ex.name_of(node.function)
    special = {"sqrt": sympy.sqrt, **{n: getattr(sympy, s) for n, s in _BACK.items()}}
    return special.get(name, sympy.Function(name))(*map(write, node.parameters))


def _write_subscript(sympy: _Sympy, node: Any, write: Callable[[Any], _Sympy]) -> _Sympy:
    return sympy.IndexedBase(ex.name_of(node))[tuple(map(write, ex.index_tuple(node)))]


def _write_comparison(sympy: _Sympy, node: Any, write: Callable[[Any], _Sympy]) -> _Sympy:
    return sympy.Rel(write(node.left), write(node.right), node.operator)


def _write_choice(sympy: _Sympy, node: Any, write: Callable[[Any], _Sympy]) -> _Sympy:
    return sympy.Piecewise((write(node.then), write(node.condition)), (write(node.else_), True))


# For each class of node, how sympy is given it; the last argument writes a part of it.
_WRITTEN: dict[type, Callable[[_Sympy, Any, Callable[[Any], _Sympy]], _Sympy]] = {
    ex.Variable: lambda sympy, n, write: sympy.Symbol(n.name),
    ex.Subscript: _write_subscript,
    ex.Call: _write_call,
    ex.Sum: lambda sympy, n, write: sympy.Add(*map(write, n.children)),
    ex.Product: lambda sympy, n, write: sympy.Mul(*map(write, n.children)),
    ex.Quotient: lambda sympy, n, write: write(n.numerator) / write(n.denominator),
    ex.FloorDiv: lambda sympy, n, write: sympy.floor(write(n.numerator) / write(n.denominator)),
    ex.Remainder: lambda sympy, n, write: sympy.Mod(write(n.numerator), write(n.denominator)),
    ex.Power: lambda sympy, n, write: write(n.base) ** write(n.exponent),
    ex.Min: lambda sympy, n, write: sympy.Min(*map(write, n.children)),
    ex.Max: lambda sympy, n, write: sympy.Max(*map(write, n.children)),
    ex.LogicalAnd: lambda sympy, n, write: sympy.And(*map(write, n.children)),
    ex.LogicalOr: lambda sympy, n, write: sympy.Or(*map(write, n.children)),
    ex.LogicalNot: lambda sympy, n, write: sympy.Not(write(n.child)),
    ex.Comparison: _write_comparison,
    ex.If: _write_choice,
}
