"""Rows of functions that are programs of the language: a call is inlined, as a user's helper is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polygen.python.expressions import Expressions
from polygen.python.names.arguments import Row
from polygen.python.refused import Refused
from polygen.python.values import Constant, Value

Array = Any
NONE = Constant(None)


def program_row(program: Callable[..., Any]) -> Row:
    """Return the row of a function that is a program.

    Parameters:
        program: a plain function, with NumPy's parameters.
    """

    def row(trace: Expressions, *arguments: Value, **named: Value) -> Value:
        return run(trace, program, *arguments, **named)

    return row


def run(
    trace: Expressions, program: Callable[..., Any], *arguments: Value, **named: Value
) -> Value:
    """Return what a program makes of values.

    Raises:
        Refused: what the program has that kernels do not, as if the call had it.
    """
    try:
        return trace.called(program, arguments, **named)
    except Refused as error:
        raise Refused(error.why, error.remedy) from None


def is_given(value: Value | None) -> bool:
    """Tell whether an option is not None."""
    return value is not None and value != NONE
