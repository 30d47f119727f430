"""Updates that return the old value: ``old = fetch_add(a[i], x)``.

One is a pair of assignments, ``old, a[i] = a[i], a[i] + x``, with nothing in between: all of an
instance is read before anything is written.  The names of the family, `FETCHES`, say what is
written; any other function of the old value may be written out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.atomicity import update_of
from polygen.ir.expression import Expression


@dataclass(frozen=True)
class Fetch:
    """A name of the family, and what it stands for.

    Attributes:
        takes: what it is called with, behind the element.
        value: the new value, of the element and these.
        operands: these, of the element and the new value; None if it is of another form.
    """

    takes: tuple[str, ...]
    value: Callable[..., Expression]
    operands: Callable[[Expression, Any], tuple[Expression, ...] | None]


def _second(target: Expression, value: Any) -> tuple[Expression, ...] | None:
    """Return the operand of ``target + x``, and of what else has children."""
    children: tuple[Expression, ...] = value.children
    return children[1:] if len(children) == 2 and children[0] == target else None


def _of_children(kind: Any) -> Fetch:
    def made(target: Expression, x: Expression) -> Expression:
        node: Expression = kind((target, x))
        return node

    def operands(target: Expression, value: Any) -> tuple[Expression, ...] | None:
        return _second(target, value) if type(value) is kind else None

    return Fetch(("x",), made, operands)


def _of_fields(kind: Any, first: str, second: str) -> Fetch:
    def operands(target: Expression, value: Any) -> tuple[Expression, ...] | None:
        if type(value) is not kind or getattr(value, first) != target:
            return None
        return (getattr(value, second),)

    return Fetch(("x",), kind, operands)


def _difference(target: Expression, x: Expression) -> Expression:
    return ex.sum_of(target, ex.negated(x))


def _subtracted(target: Expression, value: Any) -> tuple[Expression, ...] | None:
    found = _second(target, value) if type(value) is ex.Sum else None
    product: Any = found[0] if found else None
    if type(product) is not ex.Product:
        return None
    first, *rest = product.children
    return (rest[0],) if first == -1 and len(rest) == 1 else None


def _choice(target: Expression, expected: Expression, desired: Expression) -> Expression:
    return ex.If(ex.Comparison(target, "==", expected), desired, target)


def _chosen(target: Expression, value: Any) -> tuple[Expression, ...] | None:
    asked = value.condition if type(value) is ex.If and value.else_ == target else None
    if type(asked) is not ex.Comparison or asked.operator != "==" or asked.left != target:
        return None
    return asked.right, value.then


def _given(_target: Expression, x: Expression) -> Expression:
    return x


def _all(_target: Expression, value: Any) -> tuple[Expression, ...] | None:
    return (value,)


# In the order in which they are looked for: what says the most comes first.
FETCHES: Mapping[str, Fetch] = {
    "fetch_sub": Fetch(("x",), _difference, _subtracted),
    "fetch_add": _of_children(ex.Sum),
    "fetch_mul": _of_children(ex.Product),
    "fetch_div": _of_fields(ex.FloorDiv, "numerator", "denominator"),
    "fetch_truediv": _of_fields(ex.Quotient, "numerator", "denominator"),
    "fetch_mod": _of_fields(ex.Remainder, "numerator", "denominator"),
    "fetch_min": _of_children(ex.Min),
    "fetch_max": _of_children(ex.Max),
    "fetch_and": _of_children(ex.BitwiseAnd),
    "fetch_or": _of_children(ex.BitwiseOr),
    "fetch_xor": _of_children(ex.BitwiseXor),
    "fetch_lshift": _of_fields(ex.LeftShift, "shiftee", "shift"),
    "fetch_rshift": _of_fields(ex.RightShift, "shiftee", "shift"),
    "compare_exchange": Fetch(("expected", "desired"), _choice, _chosen),
    "exchange": Fetch(("x",), _given, _all),
}


def fetched(name: str, target: Expression, operands: Sequence[Expression]) -> Expression:
    """Return what a fetch writes.

    Parameters:
        name: one of `FETCHES`.
        target: the element.
        operands: as many as that takes.

    >>> from polygen.ir.expression import Variable
    >>> print(fetched("fetch_add", Variable("h"), [1]))
    h + 1
    """
    return FETCHES[name].value(target, *operands)


def name_of_fetch(
    target: Expression, value: Expression
) -> tuple[str, tuple[Expression, ...]] | None:
    """Return the name of a fetch, and its operands, by what it writes; None if it has no name.

    Parameters:
        target: what is updated.
        value: its new value.

    >>> from polygen.ir.expression import Max, Variable
    >>> name_of_fetch(Variable("h"), Max((Variable("h"), 3)))
    ('fetch_max', (3,))
    """
    for name, fetch in FETCHES.items():
        operands = fetch.operands(target, value)
        if operands is None or any(_mentions(operand, target) for operand in operands):
            continue
        if fetched(name, target, operands) == value:
            return name, operands
    return None


def _mentions(node: Expression, target: Expression) -> bool:
    return any(part == target for part in walk.subexpressions(node))


def operation_of(target: Expression, value: Expression) -> str:
    """Return the operation of a fetch, if others with that commute with it; else a word for all."""
    update = update_of(target, value)
    if update is None or _mentions(update.operand, target):
        return "fetched"
    return update.operation


def in_reduction(target: Expression, value: Expression) -> bool:
    """Tell whether a reduction reads the element that a fetch updates."""
    return any(_mentions(found, target) for found in walk.reductions(value))


def with_old(target: Expression, value: Expression, old: Expression) -> Expression:
    """Return the value that a fetch writes with something in place of the old value."""
    return walk.rewrite(value, lambda part: old if part == target else part)
