"""Atomic updates of elements of views, with and without what was there before.

pk.atomic_add(view, [i], value)               ->   view[i] += value
old = pk.atomic_fetch_add(view, [i], value)   ->   old = pg.atomic_fetch_add(view, (i,), value)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from polygen.python import atomic_fetches as fetches
from polygen.workunits.constructs import construct
from polygen.workunits.views import View

_LISTS = (list, tuple)


def _fetched(fetch: Callable[..., Any], view: Any, indices: Any, *values: Any) -> Any:
    key: Any = tuple(cast("Sequence[Any]", indices)) if type(indices) in _LISTS else indices
    return fetch(view.array if isinstance(view, View) else view, key, *values)


@construct("atomic")
def atomic_add(view: Any, indices: Any, value: Any) -> None:
    """Add to an element of a view, whoever else does so at once.

    Parameters:
        view: the view.
        indices: a list of subscripts, one for each axis.
        value: what is added.

    >>> import polygen.workunits as pk
    >>> counts = pk.View([3], pk.int32)
    >>> pk.atomic_add(counts, [1], 5)
    >>> print(counts)
    [0 5 0]
    """
    _fetched(fetches.atomic_fetch_add, view, indices, value)


@construct("atomic")
def atomic_increment(view: Any, indices: Any) -> None:
    """Add 1 to an element of a view, whoever else does so at once.

    Parameters are those of `atomic_add`.
    """
    _fetched(fetches.atomic_fetch_add, view, indices, 1)


@construct("atomic")
def atomic_fetch_add(view: Any, indices: Any, value: Any) -> Any:
    """Add to an element of a view, and return its old value.

    Parameters are those of `atomic_add`.
    """
    return _fetched(fetches.atomic_fetch_add, view, indices, value)


@construct("atomic")
def atomic_fetch_sub(view: Any, indices: Any, value: Any) -> Any:
    """Subtract from an element of a view, and return its old value.

    Parameters are those of `atomic_add`.
    """
    return _fetched(fetches.atomic_fetch_sub, view, indices, value)


@construct("atomic")
def atomic_fetch_mul(view: Any, indices: Any, value: Any) -> Any:
    """Multiply an element of a view, and return its old value.

    Parameters are those of `atomic_add`.
    """
    return _fetched(fetches.atomic_fetch_mul, view, indices, value)


@construct("atomic")
def atomic_fetch_div(view: Any, indices: Any, value: Any) -> Any:
    """Divide an element of a view, and return its old value; integers as ``//`` does.

    Parameters are those of `atomic_add`.
    """
    return _fetched(fetches.atomic_fetch_div, view, indices, value)


@construct("atomic")
def atomic_fetch_mod(view: Any, indices: Any, value: Any) -> Any:
    """Let an element of a view be its remainder, as ``%`` has it, and return its old value.

    Parameters are those of `atomic_add`.
    """
    return _fetched(fetches.atomic_fetch_mod, view, indices, value)


@construct("atomic")
def atomic_fetch_min(view: Any, indices: Any, value: Any) -> Any:
    """Lower an element of a view to a value, and return its old value.

    Parameters are those of `atomic_add`.
    """
    return _fetched(fetches.atomic_fetch_min, view, indices, value)


@construct("atomic")
def atomic_fetch_max(view: Any, indices: Any, value: Any) -> Any:
    """Raise an element of a view to a value, and return its old value.

    Parameters are those of `atomic_add`.
    """
    return _fetched(fetches.atomic_fetch_max, view, indices, value)


@construct("atomic")
def atomic_fetch_and(view: Any, indices: Any, value: Any) -> Any:
    """Keep the bits of an element that a value has, too, and return its old value.

    Parameters are those of `atomic_add`.
    """
    return _fetched(fetches.atomic_fetch_and, view, indices, value)


@construct("atomic")
def atomic_fetch_or(view: Any, indices: Any, value: Any) -> Any:
    """Set the bits of an element that a value has, and return its old value.

    Parameters are those of `atomic_add`.
    """
    return _fetched(fetches.atomic_fetch_or, view, indices, value)


@construct("atomic")
def atomic_fetch_xor(view: Any, indices: Any, value: Any) -> Any:
    """Turn the bits of an element that a value has, and return its old value.

    Parameters are those of `atomic_add`.
    """
    return _fetched(fetches.atomic_fetch_xor, view, indices, value)


@construct("atomic")
def atomic_fetch_lshift(view: Any, indices: Any, value: Any) -> Any:
    """Shift the bits of an element up, and return its old value.

    Parameters are those of `atomic_add`.
    """
    return _fetched(fetches.atomic_fetch_lshift, view, indices, value)


@construct("atomic")
def atomic_fetch_rshift(view: Any, indices: Any, value: Any) -> Any:
    """Shift the bits of an element down, and return its old value.

    Parameters are those of `atomic_add`.
    """
    return _fetched(fetches.atomic_fetch_rshift, view, indices, value)


@construct("atomic")
def atomic_exchange(view: Any, indices: Any, value: Any) -> Any:
    """Assign to an element of a view, and return its old value.

    Parameters are those of `atomic_add`.
    """
    return _fetched(fetches.atomic_exchange, view, indices, value)


@construct("atomic")
def atomic_compare_exchange(view: Any, indices: Any, expected: Any, value: Any) -> Any:
    """Assign to an element of a view if it has a value, and return its old value.

    Parameters:
        view: the view.
        indices: a list of subscripts, one for each axis.
        expected: the value that it has to have.
        value: what is assigned then.
    """
    return _fetched(fetches.atomic_compare_exchange, view, indices, expected, value)


# What returns an old value in compiled functions; what is left of it where nobody reads that.
FETCHES: dict[Any, Callable[..., Any]] = {
    atomic_add: fetches.atomic_fetch_add,
    atomic_increment: fetches.atomic_fetch_add,
    atomic_fetch_add: fetches.atomic_fetch_add,
    atomic_fetch_sub: fetches.atomic_fetch_sub,
    atomic_fetch_mul: fetches.atomic_fetch_mul,
    atomic_fetch_div: fetches.atomic_fetch_div,
    atomic_fetch_mod: fetches.atomic_fetch_mod,
    atomic_fetch_min: fetches.atomic_fetch_min,
    atomic_fetch_max: fetches.atomic_fetch_max,
    atomic_fetch_and: fetches.atomic_fetch_and,
    atomic_fetch_or: fetches.atomic_fetch_or,
    atomic_fetch_xor: fetches.atomic_fetch_xor,
    atomic_fetch_lshift: fetches.atomic_fetch_lshift,
    atomic_fetch_rshift: fetches.atomic_fetch_rshift,
    atomic_exchange: fetches.atomic_exchange,
    atomic_compare_exchange: fetches.atomic_compare_exchange,
}
