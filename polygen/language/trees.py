"""Expressions and instructions as pymbolic's trees: they mean what their text means.

A tree is checked and brought into the form that the language has.  An assignee and a value are
then read as their text is, so that nothing is said about trees twice.
"""

from __future__ import annotations

from typing import Any, TypeAlias, cast

import numpy as np

from polygen.errors import InvalidArgument, MalformedInstruction
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.dtype import to_dtype
from polygen.ir.expression import Expression
from polygen.ir.reduction import facts_of
from polygen.ir.show_expression import show_expression
from polygen.language.combinations import combination, is_combination
from polygen.language.handles import Handle, Loop, tree_of
from polygen.language.operations import REDUCE, find_operation
from polygen.source import caller_location

# An assignee, what is assigned to it, and perhaps options as they stand in braces.
Pair: TypeAlias = tuple[Any, ...]

_MOST_NESTED = 100  # as in texts
_IN_TEXT = frozenset(("cast", *REDUCE))  # how their arguments are read depends on the text
_PYTHONS = frozenset((bool, int, float, complex))
_TOO_LONG = frozenset((np.longdouble, np.clongdouble))
_NUMPYS = (np.number, np.bool_)
_SELECTIONS: dict[str, Any] = {"min": ex.Min, "max": ex.Max}


def pair_as_text(pair: Pair) -> str:
    """Return the instruction that an assignee and a value stand for.

    Raises:
        InvalidArgument: if it is no such pair.
        MalformedInstruction: if there is something in it that polygen does not have.
    """
    options = pair[2:]
    if not (
        len(pair) in (2, 3)
        and isinstance(pair[0], ex.Variable | ex.Subscript)
        and all(isinstance(said, str) for said in options)
    ):
        raise InvalidArgument(
            f"{pair!r} is no instruction",
            where=caller_location(),
            remedy='pass a text, or an assignee and a value: (var("a")[i], 2*i), or options too: '
            '(var("a")[i], 2*i, "id=first, dep=other")',
        )
    assignee, value = [show_expression(readable(node)) for node in pair[:2]]
    return f"{assignee} = {value}" + "".join(f"  {{{said}}}" for said in options)


def readable(node: Any, within: str = "an instruction", level: int = 0) -> Expression:
    """Return an expression in the form that the language has.

    Parameters:
        node: pymbolic's, or a number.
        within: what it is part of, for messages.
        level: how deep it is nested.

    Raises:
        MalformedInstruction: if there is something in it that polygen does not have.
    """
    if type(node) is int:
        return cast("Expression", node)
    if isinstance(node, Handle):
        node = node.expression
    if level > _MOST_NESTED:
        raise MalformedInstruction(
            f"{within} has an expression in it that is nested more than {_MOST_NESTED} deep",
            where=caller_location(),
            remedy="keep a part of it in a temporary",
        )
    if _is_number(node):
        if not isinstance(node, int) and not np.isfinite(node):
            raise _refused(within, node, "which is no number that can be written")
        return _written_number(node)
    if wrong := _what_is_wrong(node):
        raise _refused(within, node, wrong)
    if isinstance(node, ex.Subscript) and type(node.index) is tuple and not node.index:
        return readable(node.aggregate, within, level + 1)
    if isinstance(node, ex.Call):
        return _call(node, within, level)
    new = [readable(part, within, level + 1) for part in walk.parts(node)]
    return walk.rebuild(node, tuple(new))


def _call(call: ex.Call, within: str, level: int) -> Expression:
    """Return a call, or the reduction or the choice that it stands for."""
    name = ex.name_of(call.function)
    first, *rest = cast("tuple[Any, ...]", call.parameters or (None,))
    operation = find_operation(name)
    has_tuple = type(first) is tuple
    over = tuple(map(_named, cast("tuple[Any, ...]", first if has_tuple else (first,))))
    is_reduction = operation is not None and (name not in _SELECTIONS or has_tuple)
    if is_reduction and operation is not None and all(isinstance(i, ex.Variable) for i in over):
        operands = tuple([readable(part, within, level + 1) for part in rest])
        width = facts_of(operation).width
        if len(operands) in (1, width) and (width == 1 or _width(operands) == width):
            operand = operands[0] if len(operands) == 1 else ex.Several(operands)
            return ex.Reduction(operation, tuple([ex.name_of(i) for i in over]), operand)
    given = tuple([readable(part, within, level + 1) for part in call.parameters])
    if operation is not None and is_combination(given, operation):
        return combination(operation, *given)
    if name in _SELECTIONS and len(given) > 1:
        selection: Expression = _SELECTIONS[name](given)
        return selection
    return walk.rebuild(call, given)


def _named(over: Any) -> Any:
    """Return what names the loop that is reduced over, if it stands for one."""
    return ex.Variable(over.iname) if isinstance(over, Loop) else tree_of(over)


def _width(operands: tuple[Expression, ...]) -> int:
    """Return how many values there are to reduce: a reduction may have several results."""
    first = operands[0]
    if len(operands) == 1 and isinstance(first, ex.Reduction):
        return facts_of(first.operation).width
    return len(operands)


def readable_alone(node: Any) -> Expression:
    """Return an expression that is never read as text, in the form that the language has.

    Raises:
        MalformedInstruction: if there is something in it that polygen does not have, or that it
            has in text alone.
    """
    found = readable(node)
    if ex.Call not in walk.classes(found):
        return found
    for part in walk.subexpressions(found):
        name = ex.name_of(part.function) if isinstance(part, ex.Call) else ""
        if name in _IN_TEXT or find_operation(name) is not None:
            raise MalformedInstruction(
                f"{name}() is called here with what no tree can be given to it",
                where=caller_location(),
                excerpt=show_expression(part),
                remedy="a reduction has an iname or a tuple of inames first, then what is reduced, "
                f"as in {name}(k, a[k]); other forms are written as text",
            )
    return found


def _what_is_wrong(node: object) -> str | None:
    """Return what polygen does not have of a node, or None."""
    if not isinstance(node, ex.ExpressionNode) or type(node) not in walk.SUPPORTED_NODES:
        return f"a {type(node).__name__}"
    named = node.function if isinstance(node, ex.Call) else node
    if isinstance(named, ex.Variable) and not (named.name.isascii() and named.name.isidentifier()):
        return "whose name is no identifier"
    if isinstance(node, ex.Call) and not isinstance(named, ex.Variable):
        return "a call of something that has no name"
    if isinstance(node, ex.Subscript) and isinstance(node.aggregate, ex.Subscript):
        return "a subscript of a subscript: polygen writes a[i, j]"
    return None


def _is_number(node: object) -> bool:
    """Tell whether polygen has a type for a number."""
    kind = type(node)
    if kind in _PYTHONS or kind in _TOO_LONG:
        return kind in _PYTHONS
    return isinstance(node, _NUMPYS)


def _written_number(number: Any) -> Expression:
    """Return a number as it is written: ``float32(2.0)``, or ``1 + 2j``."""
    if type(number).__module__ == "numpy":
        return ex.converted(to_dtype(number.dtype).name, _written_number(number.item()))
    if isinstance(number, complex) and number.real:
        return ex.sum_of(number.real, complex(0, number.imag))
    return cast("Expression", number)


def _refused(within: str, node: object, what: str) -> MalformedInstruction:
    return MalformedInstruction(
        f"{within} has {node!r} in it, {what}",
        where=caller_location(),
        remedy="build expressions from pymbolic's variables, subscripts, calls of names, and "
        "operators, and from numbers; or write the instruction as text",
    )
