"""Where values live: one location for everyone, for each group, or for each work item."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

import numpy as np

from polygen.ir.array import AddressSpace, GlobalArg, TemporaryVariable
from polygen.ir.kernel import Kernel
from tests.oracle.evaluate import OracleError, Value, as_read, convert, integer
from tests.oracle.lanes import own_lanes
from tests.oracle.overlaps import copied
from tests.oracle.spaces import KINDS, space_of
from tests.oracle.typing import size_values

_Items = Mapping[object, int]  # of work items along axes, and of lanes by their inames
_Key = tuple[tuple[str, int], ...]


class Memory:
    """The arrays of a call, and temporaries.

    Attributes:
        arrays: copies of the arguments, as the execution changes them; they overlap as those do.
    """

    def __init__(
        self, kernel: Kernel, arguments: Mapping[str, Any], samples: Mapping[str, Value]
    ) -> None:
        self._kernel = kernel
        arrays = [a.name for a in kernel.arguments if isinstance(a, GlobalArg)]
        self.arrays = copied({name: arguments[name] for name in arrays})
        self._scalars = {
            a.name: convert(arguments[a.name], np.result_type(samples[a.name]))
            for a in kernel.arguments
            if not isinstance(a, GlobalArg)
        }
        self._dtypes = {
            t.name: np.result_type(samples[t.name]) if t.dtype is None else t.dtype
            for t in kernel.temporaries
        }
        self._cells: dict[tuple[str, tuple[int, ...]], dict[_Key, tuple[int, Value]]] = {}
        self._clock = count()
        self._spaces: dict[str, AddressSpace] = {}
        self._lanes: dict[str, frozenset[str]] = {}
        self._sizes = size_values(kernel, arguments)
        self._tables = {t.name: t.initializer for t in kernel.temporaries if t.read_only}

    def _owner(self, name: str, items: _Items) -> _Key:
        """Return which of the copies of a temporary the work item has."""
        if not items:  # on no axis, whoever shares it
            return ()
        if name not in self._spaces:
            space = self._temporary(name).address_space
            if space is AddressSpace.AUTO:
                space = space_of(self._kernel, name, self._sizes, self.arrays)
            self._spaces[name] = space
            self._lanes[name] = own_lanes(self._kernel, name)
        kinds, lanes = KINDS[self._spaces[name]], self._lanes[name]
        own = [(t, i) for t, i in items.items() if isinstance(t, kinds) or t in lanes]
        return tuple(sorted((str(t), i) for t, i in own))

    def _temporary(self, name: str) -> TemporaryVariable:
        variable = self._kernel.variables[name]
        if not isinstance(variable, TemporaryVariable):
            raise OracleError(f"{name} is no temporary")
        return variable

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the extents of a variable."""
        if name in self.arrays:
            found: tuple[int, ...] = self.arrays[name].shape
            return found
        return tuple([integer(e, self._sizes) for e in self._temporary(name).shape])

    def _check(self, name: str, index: tuple[int, ...]) -> None:
        shape = self.shape(name)
        if len(shape) != len(index) or not all(
            0 <= i < int(extent) for i, extent in zip(index, shape, strict=True)
        ):
            raise OracleError(f"{name}{list(index)} is outside: {shape}")

    def write(self, name: str, index: tuple[int, ...], value: Value, items: _Items) -> None:
        """Write an element, for every work item that has these indices."""
        self._check(name, index)
        if name in self._tables:
            raise OracleError(f"{name} is a table of constants, and written")
        if name in self.arrays:
            self.arrays[name][index] = convert(value, self.arrays[name].dtype)
            return
        cell = self._cells.setdefault((name, index), {})
        cell[self._owner(name, items)] = next(self._clock), convert(value, self._dtypes[name])

    def read(self, name: str, index: tuple[int, ...], items: _Items) -> Value:
        """Return what was written last for a work item with these indices."""
        if name in self._scalars:
            return self._scalars[name]
        self._check(name, index)
        if name in self.arrays:
            return as_read(self.arrays[name][index])
        if (table := self._tables.get(name)) is not None:
            return table[index]
        owner = set(self._owner(name, items))
        cell = self._cells.get((name, index), {})
        found = [entry for key, entry in cell.items() if owner.issuperset(key)]
        if not found:
            raise OracleError(f"{name}{list(index)} is read before it is written")
        return as_read(max(found, key=lambda entry: entry[0])[1])
