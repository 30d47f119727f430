"""Two instances that touch one element, found in tables of instances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from polygen.analysis.pairs.unordered_pairs import Loose
from polygen.runtime.claims.instance_values import Column, Rows


@dataclass(frozen=True)
class Touched:
    """The elements that instances touch.

    Attributes:
        rows: the instances.
        places: columns that say which element each touches.
    """

    rows: Rows
    places: Sequence[Column]


def clash(first: Touched, second: Touched, loose: Loose) -> tuple[int, int] | None:
    """Return rows of two instances that touch one element, and that are in no order.

    Parameters:
        first: what the first instances touch.
        second: what the second ones do.
        loose: which pairs of instances are in no order.
    """
    for here, there in _groups(first, second, loose.equal):
        found = _unordered(first.rows, here, second.rows, there, loose)
        if found is not None:
            return found
    return None


def distinct_clash(
    first: Touched, second: Touched, same: tuple[str, ...]
) -> tuple[int, int] | None:
    """Return rows of two instances that touch one element.

    Parameters:
        first: what the first instances touch.
        second: what the second ones do.
        same: if these are instances of one instruction: its inames, in which the two must differ.
    """
    for here, there in _groups(first, second, ()):
        if not same:
            return int(here[0]), int(there[0])
        for iname in same:
            left, right = first.rows.columns[iname][here], second.rows.columns[iname][there]
            other = np.flatnonzero(right != left[0])
            if other.size:
                return int(here[0]), int(there[other[0]])
            other = np.flatnonzero(left != left[0])
            if other.size:
                return int(here[other[0]]), int(there[0])
    return None


def _groups(
    first: Touched, second: Touched, equal: tuple[str, ...]
) -> Iterator[tuple[Column, Column]]:
    """Yield the rows that touch one element, and agree in some inames: of the first, the second."""
    if not first.rows.count or not second.rows.count:
        return
    keys = np.concatenate([_keys(first, equal), _keys(second, equal)])
    _, group = np.unique(keys, axis=0, return_inverse=True)
    group = group.reshape(-1)
    order = np.argsort(group, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        here, there = rows[rows < first.rows.count], rows[rows >= first.rows.count]
        if here.size and there.size:
            yield here, there - first.rows.count


def _keys(touched: Touched, equal: tuple[str, ...]) -> Column:
    columns = [*(touched.rows.columns[iname] for iname in equal), *touched.places]
    # A scalar has no subscript.
    return np.stack([*columns, np.zeros(touched.rows.count, np.int64)], axis=1)


def _unordered(
    first: Rows, here: Column, second: Rows, there: Column, loose: Loose
) -> tuple[int, int] | None:
    """Return two of these rows, which touch one element, that are in no order."""
    if loose.less is None:
        return int(here[0]), int(there[0])
    order = np.argsort(first.columns[loose.less][here], kind="stable")
    here = here[order]
    low, high = first.columns[loose.less][here], second.columns[loose.less][there]
    before = np.searchsorted(low, high)  # so many of the first have a smaller value
    if loose.greater is None:
        found = np.flatnonzero(before)
        return (int(here[0]), int(there[found[0]])) if found.size else None
    largest = np.maximum.accumulate(first.columns[loose.greater][here])
    small = second.columns[loose.greater][there]
    found = np.flatnonzero((before > 0) & (largest[before - 1] > small))
    if not found.size:
        return None
    at = found[0]
    candidates = first.columns[loose.greater][here[: before[at]]]
    return int(here[np.flatnonzero(candidates > small[at])[0]]), int(there[at])
