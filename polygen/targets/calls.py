"""How calls of functions are printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from polygen.analysis.functions import ResultType, lookup
from polygen.ir import expression as ex
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.targets.core import Printer
from polygen.targets.logic import print_extreme
from polygen.targets.target import BOOL, FLOAT64, INT32
from polygen.targets.term import EQUALITY, Term, promoted

_Nodes: TypeAlias = tuple[Expression, ...]


def print_call(p: Printer, node: ex.Call, at: DType) -> Term:
    """Print a call of one of the functions that `polygen.analysis.functions` lists."""
    name, nodes = ex.name_of(node.function), node.parameters
    function = lookup(name)
    if function.dtype is not None:
        return _conversion(p, nodes[0], function.dtype)
    if function.result is ResultType.TRUTH:
        return _truth(p, name, nodes[0])
    if name in ("min", "max"):
        return print_extreme(p, name, nodes, p.kind(node), at)
    if name in _OF_REALS:
        return _OF_REALS[name](p, nodes[0], p.dtype(p.kind(node), at))
    dtype = p.dtype(p.kind(node), at)
    terms = [p.exact(p.term(n, dtype)) for n in nodes]
    if name in p.target.missing_functions:
        return p.helper(name, dtype, terms)
    return p.math_call(name, dtype, terms)


def _conversion(p: Printer, node: Expression, dtype: DType) -> Term:
    value = p.constant(node)
    if value is not None and dtype.kind in "iu":
        return p.cast(p.number(int(value), dtype), dtype)
    return p.convert(p.term(node, dtype), dtype)


def _truth(p: Printer, name: str, node: Expression) -> Term:
    dtype = p.dtype(p.kind(node), FLOAT64)
    dtype = dtype if dtype.kind == "f" else FLOAT64
    call = p.math_call(name, dtype, [p.term(node, dtype)])
    # These are macros in C, for all types, and what they return if true is any number.
    call.text = name + call.text[call.text.index("(") :]
    return Term(f"{call.text} != 0", EQUALITY, BOOL, INT32)


# --- functions of complex numbers, of real ones


def _absolute(p: Printer, node: Expression, dtype: DType) -> Term:
    term = p.term(node, dtype)
    if dtype.kind == "f":
        return p.math_call("fabs", dtype, [p.exact(term)])
    if dtype.kind in "bu":
        return term
    dtype = p.meet(p.kind(node), dtype, term)
    return p.narrow(p.helper("abs", promoted(dtype), [p.exact(term)]), dtype)


def _real(p: Printer, node: Expression, dtype: DType) -> Term:
    return p.term(node, dtype)


def _imaginary(p: Printer, _node: Expression, dtype: DType) -> Term:
    return p.number(dtype.type(0).item(), dtype)


_OF_REALS: Mapping[str, Callable[[Printer, Expression, DType], Term]] = {
    "abs": _absolute,
    "real": _real,
    "conj": _real,
    "imag": _imaginary,
}
