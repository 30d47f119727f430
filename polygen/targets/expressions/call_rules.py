"""Prints calls of functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias, cast

import numpy as np

from polygen.analysis.typing.functions import Function, ResultType, lookup
from polygen.analysis.typing.kinds import Kind, letter
from polygen.analysis.typing.random_numbers import GENERATORS
from polygen.ir import expression as ex
from polygen.ir.callables import user_function
from polygen.ir.dtype import DType, is_exact, is_integer
from polygen.ir.expression import Expression
from polygen.targets.expressions.arithmetic_rules import print_power_of
from polygen.targets.expressions.common_rules import Printer
from polygen.targets.expressions.complex_numbers import complex_call
from polygen.targets.expressions.integer_functions import FUNCTION_RULES, component_of_pair
from polygen.targets.expressions.logic_rules import print_extreme
from polygen.targets.expressions.typed_terms import ATOM, EQUALITY, Term, promoted
from polygen.targets.expressions.user_calls import print_user_call
from polygen.targets.languages.target import BOOL, COMPLEX128, FLOAT16, FLOAT64, INT32, INT64
from polygen.targets.texts.random_helpers import FIELDS

_Nodes: TypeAlias = tuple[Expression, ...]


def print_call(p: Printer, node: ex.Call, at: DType) -> Term:
    """Print a call of one of the functions that `polygen.analysis.typing.functions` lists."""
    if user_function(node) is not None:
        return print_user_call(p, node)
    name, nodes = ex.name_of(node.function), node.parameters
    function = lookup(name)
    rule = FUNCTION_RULES.get(name)
    if rule is not None:
        return rule(p, node, at)
    if function.dtype is None and any(letter(p.kind(n)) == "c" for n in nodes):
        return _of_complex(p, name, nodes, p.kind(node), at)
    special = _BY_RESULT.get(function.result)
    if special is not None:
        return special(p, function, nodes)
    if name in ("min", "max"):
        return print_extreme(p, name, nodes, p.kind(node), at)
    dtype = p.dtype(p.kind(node), at)
    if name in _OF_REALS:
        return _OF_REALS[name](p, nodes[0], dtype)
    if is_exact(dtype):
        return _OF_INTEGERS[name](p, node, at)
    return _of_floats(p, function, nodes, dtype)


# What they return depends on which numbers there are at all.
_NEIGHBOURS = ("nextafter",)


def _of_floats(p: Printer, function: Function, nodes: _Nodes, dtype: DType) -> Term:
    name, wide = function.name, promoted(dtype)
    if name in _NEIGHBOURS and dtype == FLOAT16:
        terms = [p.convert(p.term(n, dtype), wide) for n in nodes]
        return p.narrow(p.helper(f"{name}_half", wide, terms), dtype)
    exponent = p.exact(p.term(nodes[-1], INT32)) if function.exponent else None
    numbers = nodes[:-1] if function.exponent else nodes
    return p.math_call(name, dtype, [p.term(n, dtype) for n in numbers], exponent)


def print_component(p: Printer, node: ex.Component, at: DType) -> Term:
    """Print one of the results of a function that has several."""
    call = p.term(node.aggregate, at)
    if user_function(node.aggregate) is not None:
        dtype = p.dtype(p.kind(node), at)
        return Term(f"{call.text}.r{node.position}", ATOM, dtype, dtype)
    if isinstance(node.aggregate, ex.Call) and ex.name_of(node.aggregate.function) in GENERATORS:
        return Term(f"{call.within(ATOM)}.{FIELDS[node.position]}", ATOM, call.dtype, call.c_type)
    return component_of_pair(p, node, call, at)


def _random(p: Printer, function: Function, nodes: _Nodes) -> Term:
    generator = GENERATORS[function.name]
    words = [p.exact(p.term(node, generator.word)) for node in nodes]
    p.type_name(generator.dtype)
    p.uses.types.add(f"{generator.dtype.name}x{generator.count}")
    call = p.helper(generator.name, generator.word, words)
    return Term(call.text, ATOM, generator.dtype, generator.dtype)


def _of_complex(p: Printer, name: str, nodes: _Nodes, kind: Kind, at: DType) -> Term:
    """Print a function of complex numbers, of which some may be real."""
    result = p.dtype(kind, at)
    wide = np.dtype(f"c{2 * at.itemsize}") if at.kind == "f" and at != FLOAT16 else COMPLEX128
    given = [p.dtype(p.kind(n), wide) for n in nodes]
    dtype = result if result.kind == "c" else given[0]
    call = complex_call(p, name, [p.term(n, dtype) for n in nodes], dtype, result)
    return Term(f"{call.text} != 0", EQUALITY, BOOL, INT32) if result == BOOL else call


def _conversion(p: Printer, function: Function, nodes: _Nodes) -> Term:
    (node,), dtype = nodes, cast("DType", function.dtype)
    value = p.constant(node)
    if value is not None and is_integer(dtype):
        return p.cast(p.number(int(value), dtype), dtype)
    if value is not None and dtype.kind == "f":
        return p.number(value, dtype)
    if dtype == FLOAT64 and p.target.runs_host and p.kind(node) == INT64:
        found = _exact_sum(p, node)
        if found is not None and found[1] < _EXACT:
            return p.instead(found[0], dtype)
    return p.convert(p.term(node, dtype), dtype)


_EXACT = 2**53  # smaller integers are numbers of double precision


def _exact_sum(p: Printer, node: Expression) -> tuple[Expression, int] | None:
    """Return a sum of counters and numbers in double precision, and a bound of its partial sums.

    Processors without AVX-512 convert vectors of 32 bits, and none of 64: ``(double) i + (double) j
    + 1.0`` is ``(double) ((int64_t) i + (int64_t) j + 1)`` in vectors.
    """
    if isinstance(node, ex.Sum):
        parts = [_exact_sum(p, cast("Expression", part)) for part in node.children]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        bound = sum(most for _, most in known)
        return ex.sum_of(*[part for part, _ in known]), bound
    value = p.constant(node)
    if value is not None:
        return (float(value), abs(int(value))) if abs(value) < _EXACT else None
    if not isinstance(node, ex.Call) or user_function(node) is not None:
        return None
    function = lookup(ex.name_of(node.function))
    if function.result is not ResultType.CONVERTED or function.dtype != INT64:
        return None
    (inner,) = node.parameters
    term = p.term(inner, INT64)
    if not term.exact or term.c_type != INT32:
        return None
    return ex.Call(ex.Variable("float64"), (inner,)), 2**31


def _floating(p: Printer, node: Expression) -> DType:
    """Return the type as which a function that needs a floating-point number gets an operand."""
    dtype = p.dtype(p.kind(node), FLOAT64)
    return promoted(dtype) if dtype.kind == "f" else FLOAT64


def _truth(p: Printer, function: Function, nodes: _Nodes) -> Term:
    dtype = _floating(p, nodes[0])
    half = p.kind(nodes[0]) == FLOAT16
    if function.name == "isnormal" and (half or not p.has("isnormal")):
        return p.instead(_normal(nodes[0], FLOAT16 if half else dtype), BOOL)
    call = p.math_call(function.name, dtype, [p.term(nodes[0], dtype)])
    # These are macros in C, for all types, and what they return if true is any number.
    call.text = function.name + call.text[call.text.index("(") :]
    return Term(f"{call.text} != 0", EQUALITY, BOOL, INT32)


def _normal(node: Expression, dtype: DType) -> Expression:
    """Return whether a number is normal; halves as a ``float``, nearly all are."""
    finite = ex.Call(ex.Variable("isfinite"), (node,))
    size = ex.Call(ex.Variable("fabs"), (node,))
    return ex.LogicalAnd((finite, ex.Comparison(size, ">=", float(np.finfo(dtype).tiny))))


def _whole(p: Printer, function: Function, nodes: _Nodes) -> Term:
    dtype = _floating(p, nodes[0])
    call = p.math_call(function.name, dtype, [p.term(nodes[0], dtype)])
    return Term(call.text, ATOM, INT32, INT32)


_BY_RESULT: Mapping[ResultType, Callable[[Printer, Function, _Nodes], Term]] = {
    ResultType.CONVERTED: _conversion,
    ResultType.RANDOM: _random,
    ResultType.TRUTH: _truth,
    ResultType.WHOLE: _whole,
}


# --- functions of integers


def _unchanged(p: Printer, node: ex.Call, at: DType) -> Term:
    return p.term(node.parameters[0], p.dtype(p.kind(node), at))


def _power(p: Printer, node: ex.Call, at: DType) -> Term:
    base, exponent = node.parameters
    return print_power_of(p, base, exponent, p.dtype(p.kind(node), at))


def _truncated(p: Printer, node: ex.Call, at: DType) -> Term:
    dtype = p.dtype(p.kind(node), at)
    terms = [p.exact(p.term(n, dtype)) for n in node.parameters]
    dtype = p.meet(p.kind(node), at, *terms)
    return p.narrow(p.helper("fmod", promoted(dtype), terms), dtype)


_OF_INTEGERS: Mapping[str, Callable[[Printer, ex.Call, DType], Term]] = {
    **dict.fromkeys(("ceil", "floor", "trunc"), _unchanged),
    "fmax": lambda p, node, at: print_extreme(p, "max", node.parameters, p.kind(node), at),
    "fmin": lambda p, node, at: print_extreme(p, "min", node.parameters, p.kind(node), at),
    "fmod": _truncated,
    "pow": _power,
}


# --- functions of complex numbers, of real ones


def _absolute(p: Printer, node: Expression, dtype: DType) -> Term:
    term = p.term(node, dtype)
    if dtype.kind == "f":
        return p.math_call("fabs", dtype, [p.exact(term)])
    if dtype.kind in "bu":
        return term
    dtype = p.meet(p.kind(node), dtype, term)
    return p.narrow(p.helper("abs", promoted(dtype), [p.exact(term)]), dtype)


def _sign(p: Printer, node: Expression, dtype: DType) -> Term:
    term = p.exact(p.term(node, dtype))
    if dtype.kind == "f":
        return p.math_call("sign", dtype, [term])
    dtype = p.meet(p.kind(node) if p.kind(node) is int else dtype, dtype, term)
    return p.narrow(p.helper("sign", promoted(dtype), [term]), dtype)


def _angle(p: Printer, node: Expression, dtype: DType) -> Term:
    return p.math_call("atan2", dtype, [p.number(0, dtype), p.term(node, dtype)])


def _projected(p: Printer, node: Expression, dtype: DType) -> Term:
    """Print the one infinity there is on Riemann's sphere for the two of the real line."""
    if dtype.kind != "f":
        return p.term(node, dtype)
    infinite = ex.Call(ex.Variable("isinf"), (node,))
    return p.instead(ex.If(infinite, math.inf, node), dtype)


def _real(p: Printer, node: Expression, dtype: DType) -> Term:
    return p.term(node, dtype)


def _imaginary(p: Printer, _node: Expression, dtype: DType) -> Term:
    return p.number(dtype.type(0).item(), dtype)


_OF_REALS: Mapping[str, Callable[[Printer, Expression, DType], Term]] = {
    "abs": _absolute,
    "carg": _angle,
    "cproj": _projected,
    "sign": _sign,
    "real": _real,
    "conj": _real,
    "imag": _imaginary,
}
