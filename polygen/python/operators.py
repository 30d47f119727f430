"""Operators and functions of numbers: types as NumPy has them, and trees.

A `Rule` says of an operation which types its operands are converted to, which type the result has,
and what tree computes it.  Types are asked of NumPy's own functions, so they are NumPy's; numbers
of Python's are weak there, as they are in NumPy 2.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.show_expression import is_negated
from polygen.python.refused import Refused
from polygen.python.values import (
    BOOL,
    FLOAT64,
    INT64,
    Number,
    constant_number,
    converted_tree,
    literal,
)

Trees = Sequence[Any]


@dataclass(frozen=True)
class Rule:
    """An operation, and the expression that computes it.

    Attributes:
        name: what it is called in errors.
        ufunc: NumPy's function, which knows the types.
        tree: the tree of the result, for operands that were converted to the types of the second
            argument.
        python: the operation on constants of Python's.
    """

    name: str
    ufunc: np.ufunc
    tree: Callable[[Trees, np.dtype], Expression]
    python: Callable[..., Any] | None = None


_WEAK: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def types_of(rule: Rule, operands: Sequence[Any]) -> tuple[tuple[np.dtype, ...], np.dtype]:
    """Return the types that operands are converted to, and that of the result.

    Raises:
        Refused: if NumPy has no such operation.
    """
    asked: list[Any] = []
    all_weak = all(one.weak for one in operands)
    for one in operands:
        if one.weak and not all_weak and one.dtype.kind != "b":
            asked.append(_WEAK[one.dtype.kind])
        else:
            asked.append(one.dtype)
    try:
        found = rule.ufunc.resolve_dtypes((*asked, *[None] * rule.ufunc.nout))
    except TypeError:
        shown = ", ".join([str(one.dtype) for one in operands])
        raise Refused(f"NumPy has no '{rule.name}' of {shown}") from None
    given, result = tuple(found[: len(operands)]), found[len(operands)]
    if rule.ufunc in _COMPARING and any(
        one.weak and not _is_in_range(one, target)
        for one, target in zip(operands, given, strict=True)
    ):
        given = (INT64, INT64)
    for dtype in (*given, result):
        if dtype.kind not in "biufc" or dtype.itemsize > 16 or dtype.char == "g":
            raise Refused(f"'{rule.name}' has the type {dtype} in NumPy, which kernels do not have")
    return given, result


_COMPARING = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)


def _is_in_range(one: Any, target: np.dtype) -> bool:
    """Tell whether a number of Python's is compared in a type: NumPy compares what it is."""
    if one.dtype != INT64 or target.kind not in "iu" or target in (INT64, np.dtype("uint64")):
        return True
    if not (isinstance(one, Number) and one.is_constant):
        return False
    info = np.iinfo(target)
    return info.min <= int(one.value) <= info.max


def out_of_range(one: Any, target: np.dtype) -> Expression | None:
    """Return where an integer of Python's is none of a type; None if it always is, or is known.

    Parameters:
        one: a value.
        target: the type that it is converted to.
    """
    if not isinstance(one, Number) or one.is_constant or not one.weak or one.dtype != INT64:
        return None
    if target.kind not in "iu" or target == INT64:
        return None
    info, tree = np.iinfo(target), one.element()
    below = ex.Comparison(tree, "<", literal(int(info.min), INT64))
    if target.itemsize == 8:
        return below
    return ex.LogicalOr((below, ex.Comparison(tree, ">", literal(int(info.max), INT64))))


def operand_tree(one: Any, tree: Expression, target: np.dtype) -> Expression:
    """Return the tree of an operand, converted to the type that an operation has."""
    if isinstance(one, Number) and one.is_constant:
        value = one.value
        if one.weak and target.kind in "iu" and one.dtype.kind in "bi":
            info = np.iinfo(target)
            if not info.min <= int(value) <= info.max:
                raise Refused(f"{value} is no {target}, as NumPy says, too")
        return literal(np.asarray(value).astype(target)[()].item(), target)
    return converted_tree(tree, one.dtype, target)


def applied(rule: Rule, operands: Sequence[Number]) -> Number:
    """Return an operation on scalars."""
    if all(one.is_constant for one in operands):
        return _folded(rule, operands)
    given, result = types_of(rule, operands)
    trees = [
        operand_tree(one, one.element(), target)
        for one, target in zip(operands, given, strict=True)
    ]
    weak = all(one.weak for one in operands)
    return Number(result, weak, rule.tree(trees, given[0]))


def _folded(rule: Rule, operands: Sequence[Number]) -> Number:
    values = [one.value for one in operands]
    try:
        with np.errstate(all="ignore"):
            if rule.python is not None and all(one.weak for one in operands):
                return constant_number(rule.python(*values))
            return constant_number(rule.ufunc(*values))
    except (ArithmeticError, TypeError, ValueError) as error:
        raise Refused(
            f"'{rule.name}' of {', '.join(map(repr, values))} is an error: {error}"
        ) from None


# --- trees


def _binary(make: Callable[[Any, Any], Expression]) -> Callable[[Trees, np.dtype], Expression]:
    return lambda trees, _dtype: make(trees[0], trees[1])


def _added(trees: Trees, dtype: np.dtype) -> Expression:
    if dtype.kind == "b":
        return ex.LogicalOr(tuple(trees))
    return ex.sum_of(*_terms(trees[0]), trees[1])


def _terms(tree: Any) -> tuple[Any, ...]:
    """Return the terms of a sum: ``a + b + c`` is one sum, added from the left."""
    return tree.children if isinstance(tree, ex.Sum) else (tree,)


def _multiplied(trees: Trees, dtype: np.dtype) -> Expression:
    if dtype.kind == "b":
        return ex.LogicalAnd(tuple(trees))
    first = trees[0]
    is_joined = isinstance(first, ex.Product) and not is_negated(first)
    return ex.product_of(*(first.children if is_joined else (first,)), trees[1])


def _subtracted(trees: Trees, _dtype: np.dtype) -> Expression:
    return ex.sum_of(*_terms(trees[0]), ex.negated(trees[1]))


def _bitwise(
    logical: Callable[[tuple[Any, ...]], Expression], bits: Callable[[tuple[Any, ...]], Expression]
) -> Callable[[Trees, np.dtype], Expression]:
    return lambda trees, dtype: (logical if dtype.kind == "b" else bits)(tuple(trees))


def _xor(trees: Trees, dtype: np.dtype) -> Expression:
    if dtype.kind == "b":
        return ex.Comparison(trees[0], "!=", trees[1])
    return ex.BitwiseXor(tuple(trees))


def _compared(sign: str) -> Callable[[Trees, np.dtype], Expression]:
    def made(trees: Trees, dtype: np.dtype) -> Expression:
        if dtype.kind == "c" and sign not in ("==", "!="):
            raise Refused("complex numbers are compared, as NumPy does by their real parts first")
        return ex.Comparison(trees[0], sign, trees[1])

    return made


def _power(trees: Trees, _dtype: np.dtype) -> Expression:
    return ex.Power(*trees)


def _inverted(trees: Trees, dtype: np.dtype) -> Expression:
    return ex.LogicalNot(trees[0]) if dtype.kind == "b" else ex.BitwiseNot(trees[0])


def _of_python(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(operator, name)
    return found


OPERATORS: dict[str, Rule] = {
    "+": Rule("+", np.add, _added, operator.add),
    "-": Rule("-", np.subtract, _subtracted, operator.sub),
    "*": Rule("*", np.multiply, _multiplied, operator.mul),
    "/": Rule("/", np.true_divide, _binary(ex.Quotient), _of_python("truediv")),
    "//": Rule("//", np.floor_divide, _binary(ex.FloorDiv), _of_python("floordiv")),
    "%": Rule("%", np.remainder, _binary(ex.Remainder), operator.mod),
    "**": Rule("**", np.power, _power, _of_python("pow")),
    "<<": Rule("<<", np.left_shift, _binary(ex.LeftShift), _of_python("lshift")),
    ">>": Rule(">>", np.right_shift, _binary(ex.RightShift), _of_python("rshift")),
    "&": Rule("&", np.bitwise_and, _bitwise(ex.BitwiseAnd, ex.BitwiseAnd), _of_python("and_")),
    "|": Rule("|", np.bitwise_or, _bitwise(ex.BitwiseOr, ex.BitwiseOr), _of_python("or_")),
    "^": Rule("^", np.bitwise_xor, _xor, _of_python("xor")),
    "<": Rule("<", np.less, _compared("<"), operator.lt),
    "<=": Rule("<=", np.less_equal, _compared("<="), operator.le),
    ">": Rule(">", np.greater, _compared(">"), operator.gt),
    ">=": Rule(">=", np.greater_equal, _compared(">="), operator.ge),
    "==": Rule("==", np.equal, _compared("=="), operator.eq),
    "!=": Rule("!=", np.not_equal, _compared("!="), operator.ne),
}
NEGATIVE = Rule("-", np.negative, lambda trees, _d: ex.negated(trees[0]), operator.neg)
POSITIVE = Rule("+", np.positive, lambda trees, _d: trees[0], operator.pos)
INVERTED = Rule("~", np.invert, _inverted, operator.invert)


def arithmetic(one: Number) -> Number:
    """Return a truth value of Python's as the integer that it is in arithmetic."""
    if one.weak and one.dtype == BOOL:
        if one.is_constant:
            return constant_number(int(one.value))
        return Number(INT64, weak=True, tree=ex.converted("int64", one.element()))
    return one


def truth_of(dtype: np.dtype, tree: Expression) -> Expression:
    """Return whether a value holds."""
    return converted_tree(tree, dtype, BOOL)


def as_float(one: Number) -> Number:
    """Return ``float(x)``."""
    if one.is_constant:
        return constant_number(float(one.value))
    return Number(FLOAT64, weak=True, tree=converted_tree(one.element(), one.dtype, FLOAT64))


def as_int(one: Number) -> Number:
    """Return ``int(x)``."""
    if one.is_constant:
        return constant_number(int(one.value))
    if one.affine is not None:
        return Number(INT64, weak=True, tree=None, affine=one.affine)
    return Number(INT64, weak=True, tree=converted_tree(one.element(), one.dtype, INT64))
