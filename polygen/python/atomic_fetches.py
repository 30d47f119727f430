"""Updates that return the old value.  In plain Python they are nothing special.

In a loop that a compiled function claims to be parallel they are atomic: nothing comes in between.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polygen.errors import InvalidArgument
from polygen.ir.public import public
from polygen.source import caller_location


def _element(array: Any, index: Any) -> Any:
    """Return an element.

    Raises:
        InvalidArgument: if there are several.
    """
    old = array[index]
    if np.ndim(old):
        raise InvalidArgument(
            f"{np.size(old)} elements would be updated at once, and one old value is returned",
            where=caller_location(),
            remedy="write a subscript for each axis, and a loop over the elements",
        )
    return old


def _updated(array: Any, index: Any, value: Any, operation: np.ufunc) -> Any:
    old = _element(array, index)
    operation.at(array, index, value)
    return old


@public
def atomic_fetch_add(array: Any, index: Any, value: Any) -> Any:
    """Add to an element of an array, and return its old value.

    Parameters:
        array: the array.
        index: a subscript, or a tuple of them, for one element.
        value: what is added.

    Returns:
        The old value, with nothing in between.  In a parallel loop, the order in which iterations
        come is any.

    Raises:
        InvalidArgument: if the subscript is for several elements.

    >>> import numpy as np
    >>> import polygen as pg
    >>> count = np.array([5])
    >>> int(pg.atomic_fetch_add(count, 0, 2)), count
    (5, array([7]))
    """
    return _updated(array, index, value, np.add)


@public
def atomic_fetch_sub(array: Any, index: Any, value: Any) -> Any:
    """Subtract from an element of an array, and return its old value.

    Parameters are those of `atomic_fetch_add`.
    """
    return _updated(array, index, value, np.subtract)


@public
def atomic_fetch_mul(array: Any, index: Any, value: Any) -> Any:
    """Multiply an element of an array, and return its old value.

    Parameters are those of `atomic_fetch_add`.
    """
    return _updated(array, index, value, np.multiply)


@public
def atomic_fetch_min(array: Any, index: Any, value: Any) -> Any:
    """Lower an element of an array to a value, and return its old value.

    Parameters are those of `atomic_fetch_add`.
    """
    return _updated(array, index, value, np.minimum)


@public
def atomic_fetch_max(array: Any, index: Any, value: Any) -> Any:
    """Raise an element of an array to a value, and return its old value.

    Parameters are those of `atomic_fetch_add`.
    """
    return _updated(array, index, value, np.maximum)


@public
def atomic_fetch_and(array: Any, index: Any, value: Any) -> Any:
    """Keep the bits of an element that a value has, too, and return its old value.

    Parameters are those of `atomic_fetch_add`.
    """
    return _updated(array, index, value, np.bitwise_and)


@public
def atomic_fetch_or(array: Any, index: Any, value: Any) -> Any:
    """Set the bits of an element that a value has, and return its old value.

    Parameters are those of `atomic_fetch_add`.
    """
    return _updated(array, index, value, np.bitwise_or)


@public
def atomic_fetch_xor(array: Any, index: Any, value: Any) -> Any:
    """Turn the bits of an element that a value has, and return its old value.

    Parameters are those of `atomic_fetch_add`.
    """
    return _updated(array, index, value, np.bitwise_xor)


@public
def atomic_exchange(array: Any, index: Any, value: Any) -> Any:
    """Assign to an element of an array, and return its old value.

    Parameters are those of `atomic_fetch_add`.
    """
    old = _element(array, index)
    array[index] = value
    return old


@public
def atomic_compare_exchange(array: Any, index: Any, expected: Any, value: Any) -> Any:
    """Assign to an element of an array if it has a value, and return its old value.

    It was assigned to if what is returned equals what was expected.

    Parameters:
        array: the array.
        index: a subscript, or a tuple of them, for one element.
        expected: the value that it has to have; as an element of the array would be.
        value: what is assigned then.

    Raises:
        InvalidArgument: if the subscript is for several elements.

    >>> import numpy as np
    >>> import polygen as pg
    >>> lock = np.array([0, 1])
    >>> [int(pg.atomic_compare_exchange(lock, i, 0, 7)) for i in range(2)], lock
    ([0, 1], array([7, 1]))
    """
    old = _element(array, index)
    if old == array.dtype.type(expected):
        array[index] = value
    return old


# --- without a name in the package: what work units have besides


def atomic_fetch_div(array: Any, index: Any, value: Any) -> Any:
    """Divide an element, integers as ``//`` does, and return its old value."""
    is_integer = array.dtype.kind in "iu"
    return _updated(array, index, value, np.floor_divide if is_integer else np.true_divide)


def atomic_fetch_mod(array: Any, index: Any, value: Any) -> Any:
    """Let an element be its remainder, as ``%`` has it, and return its old value."""
    return _updated(array, index, value, np.remainder)


def atomic_fetch_lshift(array: Any, index: Any, value: Any) -> Any:
    """Shift the bits of an element up, and return its old value."""
    return _updated(array, index, value, np.left_shift)


def atomic_fetch_rshift(array: Any, index: Any, value: Any) -> Any:
    """Shift the bits of an element down, and return its old value."""
    return _updated(array, index, value, np.right_shift)


# The operator that each stands for.
OPERATIONS: dict[Callable[..., Any], str] = {
    atomic_fetch_add: "+",
    atomic_fetch_sub: "-",
    atomic_fetch_mul: "*",
    atomic_fetch_min: "min",
    atomic_fetch_max: "max",
    atomic_fetch_and: "&",
    atomic_fetch_or: "|",
    atomic_fetch_xor: "^",
    atomic_fetch_div: "/",
    atomic_fetch_mod: "%",
    atomic_fetch_lshift: "<<",
    atomic_fetch_rshift: ">>",
}
