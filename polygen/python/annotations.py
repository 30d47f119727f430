"""Functions that say how loops are meant to run.  In plain Python they are nothing special.

Compiled functions know them: a loop over `prange` is claimed to be parallel, an update by
`atomic_add` is atomic.  Without a decorator they do what NumPy does, one iteration after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

import numpy as np

from polygen.ir.public import public

MVL = 128
"""The largest number of elements that `vidx` is asked for at once; any is right."""


@public
def prange(
    start: SupportsIndex, stop: SupportsIndex | None = None, step: SupportsIndex = 1
) -> range:
    """Return ``range(start, stop, step)``, and claim that the loop over it is parallel.

    In a function that `jit` compiles, polygen proves the claim, or refuses it with two iterations
    that depend on each other.  Otherwise this is `range`.

    Parameters:
        start, stop, step: as of `range`.

    >>> import polygen as pg
    >>> pg.prange(3), pg.prange(1, 7, 2)
    (range(0, 3), range(1, 7, 2))
    """
    return range(start) if stop is None else range(start, stop, step)


def loop_range(
    start: SupportsIndex,
    stop: SupportsIndex | None = None,
    step: SupportsIndex = 1,
    *,
    parallel: bool = False,
    simd: bool = False,
) -> range:
    """Return ``range(start, stop, step)``, and claim what a pragma before the loop would.

    Parameters:
        start, stop, step: as of `range`.
        parallel: whether iterations may run in any order.
        simd: whether they may run in lanes of vectors.
    """
    del parallel, simd
    return range(start) if stop is None else range(start, stop, step)


@public
def vidx(start: SupportsIndex, step: SupportsIndex, bound: SupportsIndex | None = None) -> Any:
    """Return the subscripts from `start` on, `step` of them, those below `bound` alone.

    Parameters:
        start: the first one.
        step: how many there are at most; `MVL` is usual.
        bound: what all are below; None for no bound.

    Returns:
        An array of integers, for subscripts: ``x[pg.vidx(i, pg.MVL, n)]``.

    >>> import polygen as pg
    >>> pg.vidx(8, 4, bound=10)
    array([8, 9])
    """
    first = int(start)
    end = first + int(step)
    return np.arange(first, max(first, end if bound is None else min(end, int(bound))))


@public
def where(condition: Any, if_true: Any, if_false: Any) -> Any:
    """Return what one of two values is, element by element: ``numpy.where``.

    Parameters:
        condition: what chooses.
        if_true: the value where it holds.
        if_false: the value where it does not.

    >>> import polygen as pg
    >>> int(pg.where(3 > 2, 10, 20))
    10
    """
    choose: Any = np.where  # pyright: ignore[reportUnknownMemberType]
    return choose(condition, if_true, if_false)


UNREAD = "unread"  # what arrays are called in kernels that `unread_array` makes


def unread_array(shape: Sequence[int], dtype: Any) -> Any:
    """Return a new array in the place of one that nobody reads after the kernels of a plan.

    Parameters:
        shape: its extents.
        dtype: the type of its elements.
    """
    return np.empty(shape, dtype)


def _update(array: Any, index: Any, value: Any, operation: np.ufunc) -> None:
    operation.at(array, index, value)


@public
def atomic_add(array: Any, index: Any, value: Any) -> None:
    """Add to elements of an array, whoever else does so at once: ``array[index] += value``.

    A subscript that occurs twice counts twice, as with ``numpy.add.at``.

    Parameters:
        array: the array.
        index: a subscript, or a tuple of them.
        value: what is added.

    >>> import numpy as np
    >>> import polygen as pg
    >>> counts = np.zeros(3, int)
    >>> pg.atomic_add(counts, [0, 2, 2], 1)
    >>> counts
    array([1, 0, 2])
    """
    _update(array, index, value, np.add)


@public
def atomic_sub(array: Any, index: Any, value: Any) -> None:
    """Subtract from elements of an array: ``array[index] -= value``.

    Parameters are those of `atomic_add`.
    """
    _update(array, index, value, np.subtract)


@public
def atomic_min(array: Any, index: Any, value: Any) -> None:
    """Lower elements of an array to a value: ``numpy.minimum`` of both.

    Parameters are those of `atomic_add`.
    """
    _update(array, index, value, np.minimum)


@public
def atomic_max(array: Any, index: Any, value: Any) -> None:
    """Raise elements of an array to a value: ``numpy.maximum`` of both.

    Parameters are those of `atomic_add`.
    """
    _update(array, index, value, np.maximum)


def atomic_mul(array: Any, index: Any, value: Any) -> None:
    """Multiply elements of an array by a value; parameters are those of `atomic_add`."""
    _update(array, index, value, np.multiply)


def atomic_and(array: Any, index: Any, value: Any) -> None:
    """Keep the bits that elements share with a value; parameters are those of `atomic_add`."""
    _update(array, index, value, np.bitwise_and)


def atomic_or(array: Any, index: Any, value: Any) -> None:
    """Set bits of elements; parameters are those of `atomic_add`."""
    _update(array, index, value, np.bitwise_or)


def atomic_xor(array: Any, index: Any, value: Any) -> None:
    """Flip bits of elements; parameters are those of `atomic_add`."""
    _update(array, index, value, np.bitwise_xor)


# The operator that each update stands for.
UPDATES: dict[Callable[..., None], str] = {
    atomic_add: "+",
    atomic_sub: "-",
    atomic_mul: "*",
    atomic_min: "min",
    atomic_max: "max",
    atomic_and: "&",
    atomic_or: "|",
    atomic_xor: "^",
}
