"""Integers of Python's beyond 64 bits: kernels have none, and the call raises `OverflowError`.

    r = 1
    for i in range(n): r = r*i      # a fault, where |r*i| as a float is 2**63 or more

A bound on the bits of both operands is looked for first.  Sizes and loops are taken to have 31: of
sums of such, and of counters, nothing is checked.  ``(h*33 + c) & mask`` and ``% 2**k`` need the
last bits alone, which are right whatever is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.python.affine import Affine, Floor
from polygen.python.nodes import Nodes
from polygen.python.refused import Refused
from polygen.python.size_facts import SizeFacts
from polygen.python.values import INT64, Number, literal

BITS = 63  # of numbers below 2**63
_BITS_OF_SIZES = 31
_MOST_ADDED = 44  # bits of what a loop may add again and again
_LIMIT = float(2**63)
TOO_LARGE = "an integer of Python's needs more than 64 bits"


class _Tracer(Protocol):
    nodes: Nodes
    facts: SizeFacts
    keeps_last_bits: bool

    def fault(
        self, condition: Expression, kind: type[Exception], text: str | None = None
    ) -> None: ...


def check_product(trace: _Tracer, one: Number, other: Number) -> None:
    """Let the call raise an error if a product of two integers needs more than 64 bits.

    Parameters:
        trace: what is being traced.
        one: a factor.
        other: the other one.
    """
    if trace.keeps_last_bits or not (_is_integer(one) and _is_integer(other)):
        return
    if _bits(trace, one) + _bits(trace, other) > BITS:
        product = ex.product_of(_as_float(one.element()), _as_float(other.element()))
        _check(trace, product)


def check_sum(trace: _Tracer, value: Number) -> None:
    """Let the call raise an error if an integer that is given a name is too large a sum.

    Parameters:
        trace: what is being traced.
        value: the value.
    """
    tree = value.tree
    if not _is_integer(value) or not isinstance(tree, ex.Sum) or value.is_constant:
        return
    terms = [_without_sign(term) for term in tree.children]
    large = [term for term in terms if _bits_of(trace, term) > _MOST_ADDED]
    if len(large) > 1:
        _check(trace, ex.sum_of(*[_as_float(term) for term in tree.children]))


def shifted_left(trace: _Tracer, one: Number, count: Number) -> Number:
    """Return ``one << count`` of integers of Python's, whose distance is no constant.

    Parameters:
        trace: what is being traced.
        one: what is shifted.
        count: by how many bits; Python has an error if it is negative.
    """
    value, distance = one.element(), _distance(trace, count)
    found = ex.LeftShift(value, distance)
    is_far = ex.Comparison(count.element(), ">", BITS)
    nothing = literal(0, INT64)
    if trace.keeps_last_bits:
        return Number(INT64, weak=True, tree=ex.If(is_far, nothing, found))
    is_lost = ex.Comparison(ex.RightShift(found, distance), "!=", value)
    is_something = ex.Comparison(value, "!=", nothing)
    is_wrong = ex.LogicalOr((is_far, is_lost))
    trace.fault(ex.LogicalAnd((is_something, is_wrong)), OverflowError, TOO_LARGE)
    return Number(INT64, weak=True, tree=found)


def shifted_right(trace: _Tracer, one: Number, count: Number) -> Number:
    """Return ``one >> count`` of integers of Python's, whose distance is no constant.

    Parameters:
        trace: what is being traced.
        one: what is shifted.
        count: by how many bits; Python has an error if it is negative.
    """
    tree = ex.RightShift(one.element(), _distance(trace, count))
    return Number(INT64, weak=True, tree=tree)


def integer_power(trace: _Tracer, one: Number, other: Number) -> Number:
    """Return ``one ** other`` of integers of Python's.

    Parameters:
        trace: what is being traced.
        one: the base.
        other: the exponent.

    Raises:
        Refused: if the exponent may be negative: then the power is a float.
    """
    form = other.affine
    if form is None or not trace.facts.is_never_negative(form):
        raise Refused("a power of integers of Python's, whose exponent may be negative")
    base: Any = one.element()
    exponent: Any = other.element()
    if not trace.keeps_last_bits:
        sides: tuple[Any, Any] = _as_float(base), _as_float(exponent)
        _check(trace, ex.Power(*sides))
    return Number(INT64, weak=True, tree=ex.Power(base, exponent))


def check_conversion(trace: _Tracer, value: Number) -> None:
    """Let the call raise an error if a float is no integer that kernels have.

    Parameters:
        trace: what is being traced.
        value: the float.
    """
    if value.dtype.kind != "f" or value.is_constant:
        return
    size = ex.Call(ex.Variable("abs"), (_as_float(value.element()),))
    fits = ex.Comparison(size, "<", _LIMIT)  # which is not so of what is no number
    trace.fault(ex.LogicalNot(fits), OverflowError, TOO_LARGE)


# --- bits


def _is_integer(one: Number) -> bool:
    return one.weak and one.dtype == INT64


def _bits(trace: _Tracer, one: Number) -> int:
    if one.is_constant:
        return int(one.value).bit_length()
    if one.tree is not None and one.affine is None:
        return _bits_of(trace, one.tree)
    assert one.affine is not None
    return _bits_of_form(trace.facts.values, trace, one.affine)


def _bits_of_form(sizes: Mapping[str, int], trace: _Tracer, form: Affine) -> int:
    found = form.constant.bit_length()
    for atom, factor in form.terms:
        if isinstance(atom, Floor):
            own = _bits_of_form(sizes, trace, atom.form)
        else:
            own = _bits_of_name(trace, atom)
        found = max(found, own + (abs(factor) - 1).bit_length())
    return found


def _bits_of_name(trace: _Tracer, name: str) -> int:
    scalar = trace.nodes.scalars.get(name)
    if scalar is None:  # a size, or a loop
        return _BITS_OF_SIZES
    low, high = trace.facts.ranges.get(name, (None, None))
    if low is not None and high is not None:
        return _BITS_OF_SIZES
    return min(BITS, 8 * scalar.dtype.itemsize)


def _bits_of(trace: _Tracer, tree: object) -> int:
    """Return how many bits a number has at most."""
    match tree:
        case int() | np.integer():
            return int(tree).bit_length()
        case ex.Variable():
            return _bits_of_name(trace, tree.name)
        case ex.Subscript():
            storage = trace.nodes.storages.get(ex.name_of(tree))
            return BITS if storage is None else min(BITS, 8 * storage.dtype.itemsize)
        case ex.Call() if len(tree.parameters) == 1 and ex.name_of(tree.function) == "int64":
            return _bits_of(trace, tree.parameters[0])
        case ex.FloorDiv():
            return _bits_of(trace, tree.numerator)
        case ex.Remainder():
            return _bits_of(trace, tree.denominator)
        case _:
            return _bits_of_several(trace, tree)


def _bits_of_several(trace: _Tracer, tree: object) -> int:
    match tree:
        case ex.Sum():
            own = [_bits_of(trace, _without_sign(term)) for term in tree.children]
            return min(BITS, max(own) + (len(own) - 1).bit_length())
        case ex.Product():
            return min(BITS, sum([_bits_of(trace, part) for part in tree.children]))
        case ex.BitwiseAnd():
            masks = [part for part in tree.children if not _may_be_negative(part)]
            return min([_bits_of(trace, part) for part in masks], default=BITS)
        case ex.RightShift():
            return _bits_of(trace, tree.shiftee)
        case ex.Min() | ex.Max() | ex.BitwiseOr() | ex.BitwiseXor():
            return max([_bits_of(trace, part) for part in tree.children])
        case ex.If():
            return max(_bits_of(trace, tree.then), _bits_of(trace, tree.else_))
        case _:
            return BITS


def _may_be_negative(tree: object) -> bool:
    """Tell whether a mask may be negative: one of all bits but some."""
    if isinstance(tree, ex.Call) and len(tree.parameters) == 1:
        return _may_be_negative(tree.parameters[0])
    return not isinstance(tree, int) or tree < 0


def _without_sign(term: Expression) -> Expression:
    if isinstance(term, ex.Product) and len(term.children) == 2 and term.children[0] == -1:
        found: Expression = term.children[1]
        return found
    return term


# --- conditions


def _as_float(tree: Expression) -> Expression:
    return ex.converted("float64", tree)


def _check(trace: _Tracer, value: Expression) -> None:
    """Let the call raise an error if a number, as a float, is none that 64 bits hold."""
    size = ex.Call(ex.Variable("abs"), (value,))
    trace.fault(ex.Comparison(size, ">=", _LIMIT), OverflowError, TOO_LARGE)


def _distance(trace: _Tracer, count: Number) -> Expression:
    """Return by how many bits is shifted: from 0 to 63."""
    tree = count.element()
    is_known = count.affine is not None and trace.facts.is_never_negative(count.affine)
    if not is_known:
        trace.fault(ex.Comparison(tree, "<", 0), ValueError, "negative shift count")
    limits: Sequence[Expression] = (literal(BITS, INT64), tree)
    return ex.Max((literal(0, INT64), ex.Min(tuple(limits))))
