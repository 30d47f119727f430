"""Prints OpenCL's functions of integers, its tests, and functions with two results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from polygen.analysis.integers.function_definitions import NAMES, meaning_of
from polygen.analysis.typing.function_types import integer_kind, word_kind
from polygen.analysis.typing.functions import FAST, FUNCTIONS, ResultType
from polygen.analysis.typing.kinds import letter
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir.dtype import DType, is_exact
from polygen.ir.expression import Expression
from polygen.targets.expressions.common_rules import Printer
from polygen.targets.expressions.typed_terms import ATOM, PRODUCT, Term, promoted
from polygen.targets.languages.target import FLOAT16, FLOAT32, INT32, INT64, UINT32

_Rule: TypeAlias = Callable[[Printer, ex.Call, DType], Term]


# --- functions of integers


def _print_integer(p: Printer, node: ex.Call, _at: DType) -> Term:
    """Print a function of integers, which depends on their size."""
    rotates = ex.name_of(node.function) == "rotate"
    typed = node.parameters[:1] if rotates else node.parameters
    return _of_integers(p, node, integer_kind(node, [p.kind(n) for n in typed]))


def _print_word(p: Printer, node: ex.Call, _at: DType) -> Term:
    """Print a function of integers of 32 bits."""
    return _of_integers(p, node, word_kind(node, [p.kind(n) for n in node.parameters]))


def _print_upsample(p: Printer, node: ex.Call, _at: DType) -> Term:
    """Print an integer that is made of its upper and its lower half."""
    return _of_integers(p, node, _typed(p, node.parameters[0]))


def _of_integers(p: Printer, node: ex.Call, dtype: DType) -> Term:
    name, result = ex.name_of(node.function), _typed(p, node)
    lower = np.dtype(f"u{dtype.itemsize}")
    dtypes = (dtype, lower) if name == "upsample" else (dtype,) * len(node.parameters)
    terms = [p.exact(p.term(n, t)) for n, t in zip(node.parameters, dtypes, strict=True)]
    if not p.has(name):
        return Term(p.helper(name, dtype, terms).text, ATOM, result, result)
    terms = [p.convert(term, t) for term, t in zip(terms, dtypes, strict=True)]
    return Term(f"{name}({', '.join(t.text for t in terms)})", ATOM, result, result)


def _typed(p: Printer, node: Expression) -> DType:
    kind = p.kind(node)
    if isinstance(kind, type):
        raise InternalError(f"{node!r} has no type of its own")
    return kind


# --- functions that stand for other expressions


def _call(name: str, *arguments: Expression) -> ex.Call:
    return ex.Call(ex.Variable(name), arguments)


def _print_meaning(p: Printer, node: ex.Call, at: DType) -> Term:
    meaning = meaning_of(node)
    if meaning is None:
        raise InternalError(f"{node!r} stands for itself")
    return p.instead(meaning, at)


def _whole(p: Printer, node: ex.Call, at: DType) -> Term:
    """Print what a number is rounded to, which for an integer is itself."""
    (argument,) = node.parameters
    kind = p.kind(argument)
    if kind is int or (isinstance(kind, np.dtype) and is_exact(kind)):
        return p.instead(_call("int64", argument), at)
    return _print_meaning(p, node, at)


def _unordered(p: Printer, node: ex.Call, at: DType) -> Term:
    """Print whether one of two numbers is none, which no integer is, or whether both are some."""
    tests = [_call("isnan", n) for n in node.parameters if letter(p.kind(n)) == "f"]
    unordered = ex.LogicalOr(tuple(tests)) if tests else False
    wanted = ex.name_of(node.function) == "isunordered"
    return p.instead(unordered if wanted else ex.LogicalNot(unordered), at)


def _nan(p: Printer, node: ex.Call, at: DType) -> Term:
    """Print a number that is none; what else its bits say is the target's business."""
    return p.number(float("nan"), p.dtype(p.kind(node), at))


_LARGEST_EXPONENT = 2**31 - 1


def _scaled(p: Printer, node: ex.Call, at: DType) -> Term:
    """Print a number times a power of two; exponents that are no ``int`` are bounded first."""
    base, exponent = node.parameters
    name, kind = ex.name_of(node.function), p.kind(exponent)
    if kind in (INT64, UINT32, np.dtype(np.uint64)) and not isinstance(kind, type):
        low = [] if kind.kind == "u" else [-_LARGEST_EXPONENT]
        bounded = ex.Min((ex.Max((exponent, *low)) if low else exponent, _LARGEST_EXPONENT))
        term = p.cast(p.instead(bounded, INT32), INT32)
    else:
        term = p.exact(p.term(exponent, INT32))
    dtype = p.dtype(p.kind(node), at)
    return p.math_call(name, dtype, [p.term(base, dtype)], term)


def _fast(p: Printer, node: ex.Call, at: DType) -> Term:
    """Print a function that is quick where it is there, in single precision; else the usual one."""
    name = ex.name_of(node.function)
    usual, dtype = FAST[name], p.dtype(p.kind(node), at)
    terms = [p.convert(p.term(n, dtype), promoted(dtype)) for n in node.parameters]
    if promoted(dtype) == FLOAT32 and f"{name} f4" in p.target.helpers:
        return p.narrow(p.helper(name, FLOAT32, terms), dtype)
    if promoted(dtype) == FLOAT32 and p.has(name):
        return p.math_call(name, dtype, terms)
    if usual in ("divide", "recip"):
        left = p.number(1, dtype) if usual == "recip" else terms[0]
        return p.binary("/", left, terms[-1], dtype, PRODUCT, modular=False)
    return p.math_call(usual, dtype, terms)


# --- functions with two results


def _print_pair(p: Printer, node: ex.Call, at: DType) -> Term:
    """Print a call of a function that returns a structure of two results."""
    kinds: Any = p.kind(node)
    name, dtype = ex.name_of(node.function), p.dtype(kinds[0], at)
    wide = promoted(dtype)
    operands = [p.convert(p.term(n, dtype), wide) for n in node.parameters]
    return p.helper("fract_half" if (name, dtype) == ("fract", FLOAT16) else name, wide, operands)


def component_of_pair(p: Printer, node: ex.Component, call: Term, at: DType) -> Term:
    """Print one of the two."""
    kind = p.kind(node)
    dtype = p.dtype(kind, at) if isinstance(kind, type) else kind
    c_type = FLOAT32 if dtype == FLOAT16 else dtype
    return Term(f"{call.text}.r{node.position}", ATOM, dtype, c_type, exact=dtype != FLOAT16)


_BY_RESULT: Mapping[ResultType, _Rule] = {
    ResultType.INTEGER: _print_integer,
    ResultType.UNSIGNED: _print_integer,
    ResultType.WORD: _print_word,
    ResultType.DOUBLED: _print_upsample,
    ResultType.LONG: _whole,
    ResultType.SIZED: _nan,
    ResultType.TWICE: _print_pair,
    ResultType.WITH_WHOLE: _print_pair,
}
FUNCTION_RULES: Mapping[str, _Rule] = {
    **{f.name: _BY_RESULT[f.result] for f in FUNCTIONS.values() if f.result in _BY_RESULT},
    **{name: _print_meaning for name in NAMES if FUNCTIONS[name].result is not ResultType.LONG},
    **dict.fromkeys(("isordered", "isunordered"), _unordered),
    **dict.fromkeys(FAST, _fast),
    **dict.fromkeys(("ldexp", "scalbln", "scalbn"), _scaled),
}
