"""Translated functions: made of their lines, and run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from tests.read_back.values import Enough, NotSaid, Run

Function: TypeAlias = Callable[[Run], Any]


class Differs(AssertionError):
    """The text does something else than the loop program."""


def compiled(name: str, lines: Sequence[str], names: Mapping[str, Any]) -> Function:
    """Return a function of a run, of the lines of its body and what these may mention."""
    source = "\n".join(["def run_it(run):", *(lines or [" pass"])])
    space = dict(names)
    exec(compile(source, name, "exec"), space)  # noqa: S102  (what it is for)
    found: Function = space["run_it"]
    return found


def run_program(function: Function, run: Run) -> bool:
    """Run a loop program; tell whether to its end.

    Raises:
        NotSaid: if it does what it must not, so that it says nothing of a text.
    """
    try:
        function(run)
    except Enough:
        return False
    except (ArithmeticError, TypeError, ValueError, UnboundLocalError) as error:
        raise NotSaid from error
    return True


def run_text(function: Function, run: Run) -> bool:
    """Run a text; tell whether to its end.

    Raises:
        Differs: if that cannot be done.
    """
    try:
        function(run)
    except Enough:
        return False
    except (ArithmeticError, TypeError, ValueError, UnboundLocalError) as error:
        raise Differs(f"the text cannot be executed: {error}") from error
    return True


def equal(a: Any, b: Any) -> bool:
    """Tell whether two values are the same but for the digits that a literal may lack."""
    if a == b:
        return True
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, str | None) or isinstance(b, str | None):
        return False
    if _is_none(a) and _is_none(b):
        return True
    try:
        return bool(abs(a - b) <= 1e-5 * max(1, abs(a), abs(b)))
    except OverflowError:
        return False


def _is_none(value: Any) -> bool:
    """Tell whether a value is no number."""
    return bool(value != value)  # noqa: PLR0124  (what it is for)


def same_elements(a: Mapping[Any, Any], b: Mapping[Any, Any]) -> bool:
    """Tell whether two arrays were written at the same places, with the same values."""
    return a.keys() == b.keys() and all(equal(a[key], value) for key, value in b.items())
