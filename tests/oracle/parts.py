"""The memory of a kernel that is called: its arrays are parts of those of the caller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from polygen.ir.kernel import Kernel
from tests.oracle.evaluate import Value
from tests.oracle.memory import Memory

Place = tuple[str, tuple[int, ...]]


class PartMemory(Memory):
    """The variables of a kernel that is called: its arrays are parts of those of the caller.

    Parameters:
        kernel: what is called.
        scalars: its numbers, those without a type as Python's.
        places: for each of its arrays, which element of which array of the caller one is.
        outer: the memory of the caller.
        items: the work item that calls.
    """

    def __init__(
        self,
        kernel: Kernel,
        scalars: Mapping[str, Value],
        places: Mapping[str, Callable[[tuple[int, ...]], Place]],
        outer: Memory,
        items: Mapping[object, int],
        samples: Mapping[str, Value],
    ) -> None:
        nothing: dict[str, Any] = {name: np.zeros(0) for name in places}
        super().__init__(kernel, {**scalars, **nothing}, samples)
        self._given = dict(scalars)
        self._places, self._outer, self._items = places, outer, items

    def write(self, name: str, index: tuple[int, ...], value: Value, items: Any) -> None:
        """Write an element of the caller's, or of one's own."""
        if name in self._places:
            there, at = self._places[name](index)
            self._outer.write(there, at, value, self._items)
        else:
            super().write(name, index, value, items)

    def read(self, name: str, index: tuple[int, ...], items: Any) -> Value:
        """Read an element of the caller's, a number as it was given, or a variable of one's own."""
        if name in self._given:
            return self._given[name]
        if name in self._places:
            there, at = self._places[name](index)
            return self._outer.read(there, at, self._items)
        return super().read(name, index, items)
