"""``indexof(a[i, j])``: the number of an element, as its array is declared to lie in memory.

It reads nothing, and stands for ``m*i + j`` from the beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from polygen.errors import MalformedInstruction
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg, TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Auto, element_strides
from polygen.language.kernel_data import Declared
from polygen.language.parser import located
from polygen.language.statement import Statement

_NAME = "indexof"


def asks_numbers(statements: Sequence[Statement]) -> bool:
    """Tell whether a statement asks for the number of an element."""
    return any(_asked(statement) for statement in statements)


def with_element_numbers(
    statements: Sequence[Statement],
    declared: Declared,
    made: Callable[[], Kernel],
) -> tuple[list[Statement], Declared]:
    """Return statements with the numbers of elements in place of questions for them.

    What is declared has the shapes of these arrays afterwards; what nothing else mentions, and
    nobody declared, is no argument.

    Parameters:
        statements: resolved.
        declared: the arguments and temporaries that are declared.
        made: returns a kernel of the statements as they are, which tells shapes.

    Raises:
        MalformedInstruction: if one asks for the number of anything but an element of an array.
    """
    asked = {ex.name_of(_element(said, call)) for said in statements for call in _asked(said)}
    lacking = {name for name in asked if not _shape(declared, name)}
    kernel = made() if lacking else None
    found = {} if kernel is None else {name: kernel.array(name) for name in sorted(lacking)}
    known = replace(declared, variables={**declared.variables, **found})
    new = [_numbered(said, known) for said in statements]
    left = {name for said in new for node in said.expressions for name in walk.free_variables(node)}
    more = {n: a for n, a in found.items() if n in left or n in declared.variables}
    return new, replace(declared, variables={**declared.variables, **more})


def _asked(said: Statement) -> list[ex.Call]:
    if _NAME not in said.text:
        return []
    return [
        node
        for expression in said.expressions
        for node in walk.subexpressions(expression)
        if isinstance(node, ex.Call) and ex.name_of(node.function) == _NAME
    ]


def _element(said: Statement, call: ex.Call) -> ex.Subscript:
    (node,) = call.parameters if len(call.parameters) == 1 else (None,)
    if isinstance(node, ex.Subscript):
        return node
    raise located(
        MalformedInstruction,
        f"{_NAME}() takes an element of an array",
        said,
        max(0, said.text.find(_NAME)),
        f"write {_NAME}(a[i, j])",
    )


def _shape(declared: Declared, name: str) -> tuple[Expression, ...]:
    array = declared.variables.get(name)
    return array.shape or () if isinstance(array, GlobalArg | TemporaryVariable) else ()


def _numbered(said: Statement, declared: Declared) -> Statement:
    def rule(node: Expression) -> Expression:
        if not isinstance(node, ex.Call) or ex.name_of(node.function) != _NAME:
            return node
        element = _element(said, node)
        strides = _strides(said, declared, ex.name_of(element))
        index, name = ex.index_tuple(element), ex.name_of(element)
        if len(index) != len(strides):
            raise located(
                MalformedInstruction,
                f"'{name}' has {len(strides)} axes, and {len(index)} subscripts here",
                said,
                max(0, said.text.find(_NAME)),
                "write a subscript for each axis",
            )
        terms = [i if s == 1 else ex.product_of(s, i) for i, s in zip(index, strides, strict=True)]
        return terms[0] if len(terms) == 1 else ex.sum_of(*terms)

    def changed(nodes: Sequence[Expression]) -> tuple[Expression, ...]:
        return tuple([walk.rewrite(node, rule) for node in nodes])

    return replace(
        said,
        assignees=changed(said.assignees),
        values=changed(said.values),
        predicates=changed(said.predicates),
    )


def _strides(said: Statement, declared: Declared, name: str) -> tuple[Expression, ...]:
    """Return how far neighbours along each axis are apart, as an array is declared."""
    array = declared.variables[name]
    assert isinstance(array, GlobalArg | TemporaryVariable)
    shape = array.shape or ()
    if array.dim_tags is None:
        return tuple([_product(shape[axis + 1 :]) for axis in range(len(shape))])
    strides = element_strides(array) or ()
    plain = [s for s in strides if s is not None and not isinstance(s, Auto)]
    if len(plain) < len(shape):
        raise located(
            MalformedInstruction,
            f"elements of '{name}' have no number: how it lies is not declared",
            said,
            max(0, said.text.find(_NAME)),
            "declare it with strides, or in another layout",
        )
    return tuple(plain)


def _product(factors: Sequence[Expression]) -> Expression:
    return factors[0] if len(factors) == 1 else ex.product_of(*factors) if factors else 1
