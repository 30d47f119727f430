"""Whether constants of a compiled function, its globals and what they hold, are what they were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

_NUMBERS = (bool, int, float, complex, str)


def has_lists(value: object) -> bool:
    """Tell whether a value is a list, or a tuple that holds one: these may change in place."""
    if isinstance(value, tuple):
        return any(map(has_lists, cast("Sequence[Any]", value)))
    return isinstance(value, list)


def snapshot(value: Any) -> Any:
    """Return a value with copies of the lists in it."""
    if isinstance(value, list | tuple):
        parts = [snapshot(part) for part in cast("Sequence[Any]", value)]
        return parts if isinstance(value, list) else tuple(parts)
    return value


def is_unchanged(value: Any, kept: Any) -> bool:
    """Tell whether a value is what a snapshot was taken of, or equal to it.

    Parameters:
        value: the value now.
        kept: the snapshot.

    >>> is_unchanged([1, (2.0,)], [1, (2.0,)]), is_unchanged(1, 1.0), is_unchanged(0.0, -0.0)
    (True, False, False)
    """
    if value is kept:
        return True
    if type(value) is not type(kept):
        return False
    if isinstance(value, list | tuple):
        parts = cast("Sequence[Any]", value)
        return len(parts) == len(kept) and all(map(is_unchanged, parts, kept))
    return isinstance(value, _NUMBERS) and repr(value) == repr(kept)
