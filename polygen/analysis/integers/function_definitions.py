"""Functions that are another way to write other expressions: ``clamp(x, a, b)``, ``isless(a, b)``.

What is known of those then holds for the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from polygen.ir import expression as ex
from polygen.ir.callables import user_function
from polygen.ir.expression import Expression

_Arguments: TypeAlias = tuple[Expression, ...]


def _compared(operator: str) -> Callable[[_Arguments], Expression]:
    return lambda v: ex.Comparison(v[0], operator, v[1])


def _rounded(function: str) -> Callable[[_Arguments], Expression]:
    return lambda v: ex.converted("int64", ex.Call(ex.Variable(function), v))


# Minima, and maxima, are not a number if an operand is none.
_MEANINGS: Mapping[str, Callable[[_Arguments], Expression]] = {
    "clamp": lambda v: ex.Min((ex.Max((v[0], v[1])), v[2])),
    "select": lambda v: ex.If(v[2], v[1], v[0]),
    "isequal": _compared("=="),
    "isnotequal": _compared("!="),
    "isgreater": _compared(">"),
    "isgreaterequal": _compared(">="),
    "isless": _compared("<"),
    "islessequal": _compared("<="),
    "islessgreater": lambda v: ex.LogicalOr(
        (ex.Comparison(v[0], "<", v[1]), ex.Comparison(v[0], ">", v[1]))
    ),
    **dict.fromkeys(("llrint", "lrint"), _rounded("rint")),
    **dict.fromkeys(("llround", "lround"), _rounded("round")),
}


def meaning_of(call: ex.Call) -> Expression | None:
    """Return the expression that a call stands for, or None if it stands for itself.

    >>> from polygen.ir.expression import Call, Variable
    >>> print(meaning_of(Call(Variable("isless"), (Variable("i"), 3))))
    i < 3
    """
    meaning = _MEANINGS.get(ex.name_of(call.function))
    # A function of the user's may be from a time when there was none of its name.
    if meaning is None or user_function(call) is not None:
        return None
    return meaning(call.parameters)


NAMES = frozenset(_MEANINGS)
