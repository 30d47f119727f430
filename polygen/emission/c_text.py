"""Integer expressions in the sizes as C, and what hosts call types and names.

All of it is computed with 64 bits, whatever the width of the kernel's indices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.dtype import DType, dtype_name
from polygen.ir.expression import Expression
from polygen.runtime.arrays.expression_values import value_of

# The type of an element in a host's memory. Halves and bfloat16 are their bits.
ELEMENTS: Mapping[str, str] = {
    "bool": "uint8_t",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
    "float32": "float",
    "float64": "double",
    "complex64": "pg_complex64",
    "complex128": "pg_complex128",
}
# The type of a number that is passed by itself: where a half is computed with, it is a float.
NUMBERS: Mapping[str, str] = {**ELEMENTS, "float16": "float"}


def element_type(dtype: DType) -> str:
    """Return what C for a host calls the type of an array's elements."""
    return ELEMENTS[dtype_name(dtype)]


def number_type(dtype: DType) -> str:
    """Return what C for a host calls the type of a number that it passes."""
    return NUMBERS[dtype_name(dtype)]


def in_c(node: Expression) -> str:
    """Return an integer expression, or a condition, as C: an operand of any operator."""
    if isinstance(node, bool):
        return str(int(node))
    if not walk.free_variables(node) and not isinstance(node, _CONDITIONS):
        return _integer(value_of(node, {}))
    rule = _RULES.get(type(node))
    if rule is None:
        raise InternalError(f"no host computes a node of class {type(node).__name__}")
    return rule(node)


_CONDITIONS = (ex.Comparison, ex.LogicalAnd, ex.LogicalOr, ex.LogicalNot)


def _integer(value: int) -> str:
    text = str(value) if abs(value) < 2**31 else f"INT64_C({value})"
    return f"({text})" if value < 0 else text


def _joined(operator: str) -> Callable[[Any], str]:
    return lambda node: f"({f' {operator} '.join(map(in_c, node.children))})"


def _folded(function: str) -> Callable[[Any], str]:
    def text(node: Any) -> str:
        first, *others = map(in_c, node.children)
        for other in others:
            first = f"{function}({first}, {other})"
        return first

    return text


_Rule: TypeAlias = Callable[[Any], str]
_RULES: Mapping[type, _Rule] = {
    ex.Variable: lambda node: str(node.name),
    ex.Sum: _joined("+"),
    ex.Product: _folded("pg_times"),
    ex.FloorDiv: lambda node: f"pg_floor_div({in_c(node.numerator)}, {in_c(node.denominator)})",
    ex.Remainder: lambda node: f"pg_floor_mod({in_c(node.numerator)}, {in_c(node.denominator)})",
    ex.Max: _folded("pg_max"),
    ex.Min: _folded("pg_min"),
    ex.Comparison: lambda node: f"({in_c(node.left)} {node.operator} {in_c(node.right)})",
    ex.LogicalAnd: _joined("&&"),
    ex.LogicalOr: _joined("||"),
    ex.LogicalNot: lambda node: f"(!{in_c(node.child)})",
    ex.If: lambda node: f"({in_c(node.condition)} ? {in_c(node.then)} : {in_c(node.else_)})",
}


def quoted(text: str) -> str:
    """Return a text as a string of C."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
