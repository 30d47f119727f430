"""Vectors: what is the same for all numbers, done for each component."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.read_back import values
from tests.read_back.values import Memory, Value


class Lanes(list[Any]):
    """The components of a vector."""


def lifted(function: Callable[..., Value]) -> Callable[..., Value]:
    """Return a function that is called for each component, where it is given vectors."""

    def each(*given: Value) -> Value:
        count = max((len(g) for g in given if isinstance(g, Lanes)), default=0)
        if not count:
            return function(*given)
        rows = ([g[n] if isinstance(g, Lanes) else g for g in given] for n in range(count))
        return Lanes(function(*row) for row in rows)

    return each


def _truth(compare: Callable[[Value, Value], bool]) -> Callable[[Value, Value], int]:
    return lambda a, b: -int(compare(a, b))


def _set_operators() -> None:
    for name in ("add", "sub", "mul"):
        function = lifted(getattr(operator, name))
        setattr(Lanes, f"__{name}__", function)
        swapped = lambda a, b, function=function: function(b, a)  # noqa: E731
        setattr(Lanes, f"__r{name}__", swapped)
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(Lanes, f"__{name}__", lifted(_truth(getattr(operator, name))))
    for name in ("neg", "invert"):
        setattr(Lanes, f"__{name}__", lifted(getattr(operator, name)))


_set_operators()


def lanes(given: Iterable[Value], count: int) -> Lanes:
    """Return a vector of numbers; those that are not written are 0."""
    found = list(given)
    return Lanes(found + [0] * (count - len(found)))


def same(value: Value, count: int) -> Lanes:
    """Return a vector of one number; a vector has to have so many."""
    if not isinstance(value, Lanes):
        return Lanes([value] * count)
    if len(value) != count:
        raise ValueError(f"{len(value)} components, not {count}")
    return value


def load(array: Memory, at: int, count: int) -> Lanes:
    """Return the elements of an array from a place on."""
    return Lanes(array[at + n] for n in range(count))


def store(array: Memory, at: int, value: Lanes, how: str) -> None:
    """Write the elements of an array from a place on."""
    for number, component in enumerate(value):
        array.put(at + number, component, how)


def whole(array: Memory, at: int, count: int) -> Lanes:
    """Return an element of an array of vectors."""
    return Lanes(array[at, n] for n in range(count))


def put_whole(array: Memory, at: int, value: Value, how: str, count: int) -> None:
    """Write an element of an array of vectors."""
    for number, component in enumerate(same(value, count)):
        array.put((at, number), component, how)


def changed(vector: Lanes, at: int, value: Value) -> Lanes:
    """Return a vector with another component."""
    return Lanes(value if number == at else old for number, old in enumerate(vector))


def choose(condition: Value, then: Value, other: Value) -> Value:
    """Return what is one number where a condition holds, and another elsewhere."""
    return then if condition else other


_LIFTED = (
    *("to_integer", "to_real", "divided", "quotient", "left_over", "opaque", "complement"),
    *("left_shift", "right_shift", "least", "largest", "part"),
    *("both_bits", "either_bit", "one_bit", "opaque_integers"),
)
NAMES: Mapping[str, Any] = {
    **{name: lifted(getattr(values, name)) for name in _LIFTED},
    "FUNCTIONS": {name: lifted(function) for name, function in values.FUNCTIONS.items()},
    "bool": lambda a: Lanes(map(bool, a)) if isinstance(a, Lanes) else bool(a),
    **{f.__name__: f for f in (Lanes, lanes, same, load, store, whole, put_whole, changed)},
    "choose": lifted(choose),
}
