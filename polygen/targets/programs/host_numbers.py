"""Numbers that the host computes, between launches, for calls of libraries.

    y = library("gemv", a, x, alpha=2*s[0]) {if=t >= 1}

A GPU's host knows sizes, the variables of its loops and the numbers that are passed, and it can
read elements of arrays.  It combines them as NumPy does.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from polygen.errors import LibraryNotPossible
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.show_expression import show_expression
from polygen.lower.program import Block, Call, If, Launch

# Returns an element of an array, by its name and the place in it.
Element: TypeAlias = Callable[[str, int], Any]

_TYPES: Mapping[str, DType] = {
    t: np.dtype(t)
    for t in (
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float32", "float64", "complex64", "complex128"),
    )
}
_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def call_in(block: Block) -> tuple[Call, tuple[Expression, ...]] | None:
    """Return the call that a launch is, and the conditions under which; None if there is more."""
    if len(block) != 1:
        return None
    (node,) = block
    if isinstance(node, If):
        inner = call_in(node.body)
        return None if inner is None else (inner[0], (node.condition, *inner[1]))
    return (node, ()) if isinstance(node, Call) else None


def check_call_of_library(launch: Launch, where: Mapping[str, Any]) -> None:
    """Check that the host can find what a call of a library is given.

    Parameters:
        launch: the call.
        where: what an error says of its place.

    Raises:
        LibraryNotPossible: if it cannot.
    """
    found = call_in(launch.body)
    arrays = {a.name for a in launch.arguments if isinstance(a, GlobalArg)}
    names = {a.name for a in launch.arguments}
    wrong = "its condition needs other instructions" if found is None else ""
    for node in () if found is None else _numbers(found, arrays):
        if reason := next(_obstacles(node, names, arrays), ""):
            wrong = f"'{show_expression(node)}' has {reason}"
    if wrong:
        raise LibraryNotPossible(
            f"between launches on a GPU, the host finds what '{launch.name}', a call of a library, "
            f"is given, and it cannot here: {wrong}",
            **where,
            remedy="compute it into a variable, in an instruction of its own",
        )


def _numbers(
    found: tuple[Call, tuple[Expression, ...]], arrays: Iterable[str]
) -> Iterator[Expression]:
    """Yield what is no part of an array, and where parts begin."""
    call, conditions = found
    yield from conditions
    for parameter, node in zip(call.parameters, call.arguments, strict=True):
        if isinstance(parameter, GlobalArg) and ex.name_of(node) in arrays:
            yield from ex.index_of(node)
        else:
            yield node


def _obstacles(node: Expression, names: Iterable[str], arrays: Iterable[str]) -> Iterator[str]:
    """Yield what the host cannot compute in an expression."""
    if isinstance(node, bool | int | float | complex | np.generic):
        return
    if isinstance(node, ex.Variable):
        if node.name not in names:
            yield f"'{node.name}', which is not in the GPU's memory"
        return
    if isinstance(node, ex.Subscript):
        if ex.name_of(node) not in arrays or len(ex.index_of(node)) != 1:
            yield f"'{show_expression(node)}', which is not in the GPU's memory"
            return
    elif isinstance(node, ex.Call):
        if _conversion(node) is None:
            yield f"'{show_expression(node)}', which is no sum, product or comparison"
            return
    elif type(node) not in _RULES:
        yield f"'{show_expression(node)}', which is no sum, product or comparison"
        return
    for part in _parts(node):
        yield from _obstacles(part, names, arrays)


def _parts(node: Any) -> tuple[Expression, ...]:
    if isinstance(node, ex.Subscript):
        return ex.index_of(node)
    if isinstance(node, ex.Call):
        return tuple(node.parameters)
    return tuple(walk.parts(node))


def _conversion(node: Any) -> DType | None:
    """Return the type that a call converts to."""
    name = node.function.name if isinstance(node.function, ex.Variable) else ""
    return _TYPES.get(name) if len(node.parameters) == 1 else None


# --- values


def number_of(node: Expression, values: Mapping[str, Any], element: Element) -> Any:
    """Return the value of an expression that `check_call_of_library` has seen.

    Parameters:
        node: the expression.
        values: numbers by their names: Python's of sizes, NumPy's of others.
        element: returns an element of an array.
    """
    with np.errstate(all="ignore"):
        return _Numbers(values, element).of(node)


class _Numbers:
    def __init__(self, values: Mapping[str, Any], element: Element) -> None:
        self._values, self._element = values, element

    def of(self, node: Expression) -> Any:
        """Return the value of an expression."""
        if isinstance(node, ex.Variable):
            known = node.name in self._values
            return self._values[node.name] if known else self._element(node.name, 0)
        if isinstance(node, ex.Subscript):
            (place,) = ex.index_of(node)
            return self._element(ex.name_of(node), int(self.of(place)))
        if isinstance(node, ex.Call):
            dtype = _conversion(node)
            assert dtype is not None
            (value,) = [self.of(part) for part in _parts(node)]
            return np.array([value]).astype(dtype)[0]
        rule = _RULES.get(type(node))
        return node if rule is None else rule(self.of, node)


_Of = Callable[[Any], Any]


def _compare(of: _Of, node: Any) -> Any:
    return _COMPARISONS[node.operator](of(node.left), of(node.right))


_RULES: Mapping[type, Callable[[_Of, Any], Any]] = {
    ex.Sum: lambda of, node: reduce(operator.add, map(of, node.children)),
    ex.Product: lambda of, node: reduce(operator.mul, map(of, node.children)),
    ex.Quotient: lambda of, node: of(node.numerator) / of(node.denominator),
    ex.FloorDiv: lambda of, node: of(node.numerator) // of(node.denominator),
    ex.Remainder: lambda of, node: of(node.numerator) % of(node.denominator),
    ex.Comparison: _compare,
    ex.LogicalAnd: lambda of, node: all(map(of, node.children)),
    ex.LogicalOr: lambda of, node: any(map(of, node.children)),
    ex.LogicalNot: lambda of, node: not of(node.child),
}
