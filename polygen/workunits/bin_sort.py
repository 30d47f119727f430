"""Sorting by bins: keys are put into bins, and arrays into the order of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from polygen.errors import InvalidArgument
from polygen.source import caller_location
from polygen.workunits.views import View


class BinOp1D:
    """Bins of one length between two numbers; the greater one has a bin of its own.

    Parameters:
        given: the number of bins, the least and the greatest key; a view before them is ignored.

    >>> import numpy as np
    >>> import polygen.workunits as pk
    >>> print(pk.BinOp1D(4, 0.0, 2.0).bins(np.array([0.1, 1.9, 0.6, 2.0])))
    [0 3 1 4]
    """

    def __init__(self, *given: Any) -> None:
        count, least, greatest = _without_keys(given, "BinOp1D")
        self._count, self._least = int(count), float(least)
        self._factor = self._count / _distance(least, greatest)

    def max_bins(self) -> int:
        """Return how many bins there are."""
        return self._count + 1

    def bins(self, keys: Any) -> Any:
        """Return the bin of each key.

        Raises:
            InvalidArgument: if a key is below the least or above the greatest one.
        """
        found = (self._factor * (keys.astype(np.float64) - self._least)).astype(np.int64)
        return _checked(found, self.max_bins())


class BinOp3D:
    """Bins that are boxes between two points; keys have three subscripts.

    Parameters:
        given: the numbers of bins, the least and the greatest point; a view before them is ignored.
    """

    def __init__(self, *given: Any) -> None:
        counts, least, greatest = _without_keys(given, "BinOp3D")
        self._counts = [int(one) for one in counts]
        self._least = np.array([float(one) for one in least])
        distances = [_distance(*ends) for ends in zip(least, greatest, strict=True)]
        self._factors = np.array(self._counts) / np.array(distances)

    def max_bins(self) -> int:
        """Return how many bins there are."""
        return int(np.prod(self._counts))

    def bins(self, keys: Any) -> Any:
        """Return the bin of each key.

        Raises:
            InvalidArgument: if a key is outside.
        """
        each = (self._factors * (keys.astype(np.float64) - self._least)).astype(np.int64)
        # What is at the greatest coordinate is in the last bin.
        each = np.stack(
            [_checked(each[:, axis], n + 1).clip(max=n - 1) for axis, n in enumerate(self._counts)]
        )
        return (each[0] * self._counts[1] + each[1]) * self._counts[2] + each[2]


class BinSort:
    """Sorts views by the bins of keys.

    Parameters:
        keys: a view.
        bin_op: which bin a key is in.
        sort_within_bins: whether keys of one bin are sorted; else they stay in their order.

    >>> import numpy as np
    >>> import polygen.workunits as pk
    >>> keys = pk.from_numpy(np.array([1.7, 0.2, 1.1, 0.9]))
    >>> sorting = pk.BinSort(keys, pk.BinOp1D(2, 0.0, 2.0), True)
    >>> sorting.create_permute_vector()
    >>> sorting.sort(keys)
    >>> print(keys, sorting.get_bin_count())
    [0.2 0.9 1.1 1.7] [2 2 0]
    """

    def __init__(
        self, keys: Any, bin_op: BinOp1D | BinOp3D, sort_within_bins: bool = False
    ) -> None:
        self._keys, self._bin_op = keys, bin_op
        self._is_sorted_within = bool(sort_within_bins)
        self._order: Any = None
        self._counts: Any = None

    def create_permute_vector(self, *_space: Any) -> None:
        """Put the keys into bins.

        Raises:
            InvalidArgument: if a key is in none.
        """
        keys = _array(self._keys)
        bins = self._bin_op.bins(keys)
        self._counts = np.bincount(bins, minlength=self._bin_op.max_bins())
        if self._is_sorted_within and keys.ndim == 1:
            self._order = np.lexsort((keys, bins))
        else:
            self._order = np.argsort(bins, kind="stable")

    def sort(self, view: Any, *_space: Any) -> None:
        """Put the rows of a view into the order of the bins of their keys.

        Parameters:
            view: a view with as many rows as there are keys.

        Raises:
            InvalidArgument: if it has others.
        """
        array = _array(view)
        order = self._created()
        if array.shape[0] != len(order):
            raise InvalidArgument(
                f"a view with {array.shape[0]} rows is sorted by {len(order)} keys",
                where=caller_location(),
                remedy="pass a view with as many rows as there are keys",
            )
        array[...] = array[order]

    def get_permute_vector(self) -> View:
        """Return the number of the key that comes first, of the one behind it, and so on."""
        return View(array=self._created())

    def get_bin_count(self) -> View:
        """Return how many keys are in each bin."""
        self._created()
        return View(array=self._counts)

    def get_bin_offsets(self) -> View:
        """Return how many keys are in the bins before each."""
        self._created()
        return View(array=np.cumsum(self._counts) - self._counts)

    def _created(self) -> Any:
        if self._order is None:
            self.create_permute_vector()
        return self._order


def _array(view: Any) -> Any:
    return view.array if isinstance(view, View) else view


def _without_keys(given: Sequence[Any], name: str) -> Sequence[Any]:
    rest = given[1:] if given and isinstance(given[0], View | np.ndarray) else given
    if len(rest) != 3:
        raise InvalidArgument(
            f"{name} is given {len(rest)} arguments",
            where=caller_location(),
            remedy=f"pass the number of bins, the least and the greatest key: {name}(10, 0.0, 1.0)",
        )
    return rest


def _distance(least: Any, greatest: Any) -> float:
    found = float(greatest) - float(least)
    if not found > 0:
        raise InvalidArgument(
            f"bins reach from {least} to {greatest}",
            where=caller_location(),
            remedy="pass a least key that is below the greatest one",
        )
    return found


def _checked(bins: Any, count: int) -> Any:
    if bins.size and (bins.min() < 0 or bins.max() >= count):
        raise InvalidArgument(
            f"keys are in bins {bins.min()} to {bins.max()}, and there are bins 0 to {count - 1}",
            where=caller_location(),
            remedy="pass bins that reach from the least to the greatest key",
        )
    return bins
