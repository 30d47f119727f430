"""Memory that notices races, and reads of what was never written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.oracle.evaluate import OracleError, Value, as_read, convert


@dataclass(frozen=True)
class Who:
    """A work item, and how many barriers it has passed."""

    group: tuple[int, ...]
    item: tuple[int, ...]
    epoch: int = 0

    def after_barrier(self) -> Who:
        """Return the same work item after one more barrier."""
        return replace(self, epoch=self.epoch + 1)

    def unordered(self, other: Who) -> bool:
        """Tell whether nothing orders what the two do."""
        if self.group != other.group:
            return True
        return self.item != other.item and self.epoch == other.epoch


class Cells:
    """An array, or a scalar as an array of one element."""

    def __init__(self, name: str, dtype: np.dtype[Any], extent: int) -> None:
        self.name = name
        self.array: NDArray[Any] = np.zeros(extent, dtype)
        self._written = np.zeros(extent, np.bool_)
        self._readers: dict[int, set[Who]] = {}
        self._writers: dict[int, set[Who]] = {}
        # By atomic updates: with which operation, and whether they claim to be in any order.
        self._updaters: dict[int, set[tuple[str, bool, Who]]] = {}
        self._under_way: set[int] = set()  # what asynchronous copies will write
        # Where an element is that a subscript means, if that is not plain.
        self.places: Mapping[tuple[int, ...], int] | None = None

    @staticmethod
    def of_array(name: str, array: NDArray[Any]) -> Cells:
        """Return memory that starts with the elements of `array`."""
        cells = Cells(name, array.dtype, array.size)
        cells.array[:] = array.reshape(-1)
        cells._written[:] = True
        return cells

    def place(self, index: tuple[int, ...]) -> int:
        """Return the place of the element that a subscript of generated code means."""
        if self.places is not None:
            if index not in self.places:
                raise OracleError(f"{self.name}{list(index)} is no element")
            return self.places[index]
        (offset,) = index
        return offset

    def forget(self) -> None:
        """Start anew: everything so far is ordered before what follows."""
        self._readers.clear()
        self._writers.clear()
        self._updaters.clear()

    def _check(self, offset: int) -> None:
        if not 0 <= offset < self.array.size:
            raise OracleError(f"{self.name}[{offset}] is outside: {self.array.size}")
        if offset in self._under_way:
            raise OracleError(f"a copy to {self.name}[{offset}] is under way")

    def _race(self, offset: int, who: Who, earlier: dict[int, set[Who]]) -> None:
        for other in earlier.get(offset, ()):
            if who.unordered(other):
                raise OracleError(f"a race for {self.name}[{offset}] of {other} and {who}")

    def _race_with_updates(
        self, offset: int, who: Who, operation: str = "", *, claimed: bool = False
    ) -> None:
        for other_operation, other_claims, other in self._updaters.get(offset, ()):
            alike = operation == other_operation or (claimed and other_claims)
            if who.unordered(other) and not alike:
                raise OracleError(f"a race for {self.name}[{offset}] of {other} and {who}")

    def update(self, offset: int, operation: str, who: Who, *, claimed: bool = False) -> Value:
        """Return an element for an atomic update.

        Those with one operation are in no race, nor are those that claim to be in any order.
        """
        self._check(offset)
        if not self._written[offset]:
            raise OracleError(f"{self.name}[{offset}] is updated before it is written")
        self._race(offset, who, self._writers)
        self._race(offset, who, self._readers)
        self._race_with_updates(offset, who, operation, claimed=claimed)
        self._updaters.setdefault(offset, set()).add((operation, claimed, who))
        return as_read(self.array[offset])

    def put(self, offset: int, value: Value) -> None:
        """End an atomic update."""
        self.array[offset] = convert(value, self.array.dtype)

    def read(self, offset: int, who: Who) -> Value:
        """Return an element."""
        self._check(offset)
        if not self._written[offset]:
            raise OracleError(f"{self.name}[{offset}] is read before it is written")
        self._race(offset, who, self._writers)
        self._race_with_updates(offset, who)
        self._readers.setdefault(offset, set()).add(who)
        return as_read(self.array[offset])

    def begin(self, offset: int, who: Who) -> None:
        """Begin an asynchronous copy to an element."""
        self.write(offset, self.array.dtype.type(0), who)
        self._under_way.add(offset)

    def end(self, offset: int, value: Value, who: Who) -> None:
        """End one."""
        self._under_way.discard(offset)
        self.write(offset, value, who)

    def write(self, offset: int, value: Value, who: Who) -> None:
        """Change an element."""
        self._check(offset)
        self._race(offset, who, self._writers)
        self._race(offset, who, self._readers)
        self._race_with_updates(offset, who)
        self._writers.setdefault(offset, set()).add(who)
        self.array[offset] = convert(value, self.array.dtype)
        self._written[offset] = True


class Shifted:
    """The cells of an array from one of them on, as a function sees part of an array.

    Parameters:
        cells: those of the array, or of a part that it is part of.
        first: the one that has the offset 0 here.
    """

    def __init__(self, cells: Cells | Shifted, first: int) -> None:
        self._cells, self._first = cells, first

    def place(self, index: tuple[int, ...]) -> int:
        """Return the offset that a subscript of generated code is."""
        (offset,) = index
        return offset

    def _there(self, offset: int) -> int:
        return self._cells.place((self._first + offset,))

    def read(self, offset: int, who: Who) -> Value:
        """Return an element."""
        return self._cells.read(self._there(offset), who)

    def write(self, offset: int, value: Value, who: Who) -> None:
        """Change an element."""
        self._cells.write(self._there(offset), value, who)

    def begin(self, offset: int, who: Who) -> None:
        """Begin an asynchronous copy to an element."""
        self._cells.begin(self._there(offset), who)

    def end(self, offset: int, value: Value, who: Who) -> None:
        """End one."""
        self._cells.end(self._there(offset), value, who)

    def update(self, offset: int, operation: str, who: Who, *, claimed: bool = False) -> Value:
        """Begin an atomic update."""
        return self._cells.update(self._there(offset), operation, who, claimed=claimed)

    def put(self, offset: int, value: Value) -> None:
        """End an atomic update."""
        self._cells.put(self._there(offset), value)
