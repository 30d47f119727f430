"""Loo.py's classes for matching instructions: they are queries, as texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from polygen.compat._modules import imported as __getattr__
from polygen.compat._ours import making

__all__ = [
    "All",
    "And",
    "Id",
    "Iname",
    "MatchExpressionBase",
    "Not",
    "Or",
    "Reads",
    "Tagged",
    "Writes",
    "__getattr__",
    "parse_match",
    "parse_stack_match",
]


class MatchExpressionBase(str):
    """A query: see `polygen.find_instructions`."""

    __slots__ = ()


def _glob(key: str) -> Any:
    def make(glob: str) -> MatchExpressionBase:
        return MatchExpressionBase(f"{key}:{glob}")

    make.__name__ = key.capitalize()
    make.__doc__ = f"Return the query ``{key}:glob``."
    return making(MatchExpressionBase)(make)


Id, Tagged, Writes, Reads, Iname = map(_glob, ("id", "tag", "writes", "reads", "iname"))


def _joined(operator: str, children: Iterable[str]) -> MatchExpressionBase:
    return MatchExpressionBase(f" {operator} ".join(f"({child})" for child in children))


@making(MatchExpressionBase)
def And(children: Iterable[str]) -> MatchExpressionBase:  # noqa: N802
    """Return what all of several queries mean."""
    return _joined("and", children)


@making(MatchExpressionBase)
def Or(children: Iterable[str]) -> MatchExpressionBase:  # noqa: N802
    """Return what any of several queries means."""
    return _joined("or", children)


@making(MatchExpressionBase)
def Not(child: str) -> MatchExpressionBase:  # noqa: N802
    """Return what a query does not mean."""
    return MatchExpressionBase(f"not ({child})")


@making(MatchExpressionBase)
def All() -> MatchExpressionBase:  # noqa: N802
    """Return what means all instructions."""
    return MatchExpressionBase("id:*")


def parse_match(expr: Any) -> Any:
    """Return the query: it is parsed where it is used."""
    return expr


parse_stack_match: Callable[[Any], Any] = parse_match
