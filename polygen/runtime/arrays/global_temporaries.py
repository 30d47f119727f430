"""Global temporaries: memory that the runtime allocates, as much as the sizes of a call ask for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from polygen.errors import InternalError, NegativeSize, OutOfMemory
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.dtype import DType
from polygen.ir.kernel import Kernel
from polygen.ir.layout import storage_count, unit
from polygen.ir.show import show_tuple
from polygen.runtime.arrays.array_extents import extent_of
from polygen.runtime.arrays.expression_values import value_of
from polygen.runtime.arrays.output_allocation import aligned
from polygen.source import caller_location
from polygen.targets.programs.program import Program

_MOST_BYTES = 2**63 - 1
Memory: TypeAlias = tuple[list[Any], tuple[int, ...]]  # arrays, and where they are


def is_sized(temporary: TemporaryVariable) -> bool:
    """Tell whether the sizes of a call decide how large a temporary is."""
    return not all(isinstance(extent, int) for extent in temporary.shape)


def check_temporaries(kernel: Kernel, sizes: Mapping[str, int]) -> int:
    """Check the temporaries whose sizes a call decides; return how many elements the largest has.

    Raises:
        NegativeSize: if one would have an extent less than 0.
    """
    largest = 0
    for temporary in kernel.temporaries:
        if temporary.address_space is AddressSpace.GLOBAL and is_sized(temporary):
            shape = tuple([extent_of(kernel, extent, sizes) for extent in temporary.shape])
            if any(extent < 0 for extent in shape):
                raise NegativeSize(
                    f"the temporary '{temporary.name}' of kernel '{kernel.name}' would get the "
                    f"shape {shape} = {show_tuple(temporary.shape)}",
                    where=caller_location(),
                    remedy="pass sizes that are not negative",
                )
            largest = max(largest, _elements(replace(temporary, shape=shape)))
    return largest


def with_memory(
    function: Callable[..., None], program: Program, sizes: Mapping[str, int]
) -> Callable[..., None]:
    """Return a compiled C function that is passed the memory of its global temporaries."""
    temporaries = program.loop_program.global_temporaries
    if not temporaries:
        return function
    counts = [(t, _count(t, sizes), _dtype(t)) for t in temporaries]
    return WithMemory(function, counts)


class WithMemory:
    """A function with memory for its temporaries, which is kept for the next call.

    New pages would cost as much as to write them once more.  Of several threads that are in here
    at once, each has memory of its own.
    """

    def __init__(
        self, function: Callable[..., None], temporaries: list[tuple[TemporaryVariable, int, DType]]
    ) -> None:
        self._function = function
        self._temporaries = temporaries
        self._free: list[Memory] = []  # what no call uses: one at most

    def __call__(self, *values: Any) -> None:
        """Call the function."""
        memory = self.take()
        self._function(*values, *memory[1])
        self.give(memory)

    @property
    def count(self) -> int:
        """The number of temporaries."""
        return len(self._temporaries)

    def take(self) -> Memory:
        """Return memory that no other call has.

        Raises:
            OutOfMemory: if there is not enough.
        """
        try:
            return self._free.pop()  # in one step: no other thread gets it
        except IndexError:
            return self._allocated()

    def give(self, memory: Memory) -> None:
        """Keep memory for the next call."""
        self._free[:] = [memory]

    def _allocated(self) -> Memory:
        with _KEEPING:
            others = [each for each in _WITH_MEMORY if each is not self]
            for each in others[: max(0, len(others) + 1 - _MOST_WITH_MEMORY)]:
                each._release()
            _WITH_MEMORY[self] = None
            try:
                arrays = self._new_arrays()
            except OutOfMemory:
                for each in others:
                    each._release()
                arrays = self._new_arrays()
        return arrays, tuple([array.ctypes.data for array in arrays])

    def _new_arrays(self) -> list[Any]:
        return [_new_array(t, count, dtype) for t, count, dtype in self._temporaries]

    def _release(self) -> None:
        self._free.clear()
        _WITH_MEMORY.pop(self, None)


# Functions that keep memory, those first that have had it for longest.
_WITH_MEMORY: WeakKeyDictionary[WithMemory, None] = WeakKeyDictionary()
_MOST_WITH_MEMORY = 16
_KEEPING = threading.Lock()


def _new_array(temporary: TemporaryVariable, count: int, dtype: DType) -> Any:
    _check_bytes(temporary, count * dtype.itemsize)
    try:
        return aligned(count, dtype, np.empty, temporary.alignment)
    except MemoryError:
        raise out_of_memory(temporary, count * dtype.itemsize, "this machine has not") from None


def bytes_of(temporary: TemporaryVariable, sizes: Mapping[str, int]) -> int:
    """Return how many bytes a device allocates for a global temporary.

    Raises:
        OutOfMemory: if no device has as much memory.
    """
    size = max(1, _count(temporary, sizes)) * _dtype(temporary).itemsize
    _check_bytes(temporary, size)
    return size


def _check_bytes(temporary: TemporaryVariable, size: int) -> None:
    if size > _MOST_BYTES:
        raise out_of_memory(temporary, size, "no machine has")


def out_of_memory(temporary: TemporaryVariable, size: int, why: str) -> OutOfMemory:
    """Return the error that there is not enough memory for a temporary."""
    return OutOfMemory(
        f"the temporary '{temporary.name}', of the shape {show_tuple(temporary.shape)}, needs "
        f"{size} bytes, which {why}",
        where=caller_location(),
        remedy="pass smaller sizes, or make the temporary smaller, with fewer elements at a time",
    )


def _count(temporary: TemporaryVariable, sizes: Mapping[str, int]) -> int:
    """Return how many elements the memory of a temporary has, padding included."""
    # An extent may be negative where nothing is computed: see `extent_of`.
    shape = tuple([max(0, value_of(extent, sizes)) for extent in temporary.shape])
    return _elements(replace(temporary, shape=shape))


def _elements(temporary: TemporaryVariable) -> int:
    return storage_count(temporary) * unit(temporary)


def _dtype(temporary: TemporaryVariable) -> DType:
    if temporary.dtype is None:
        raise InternalError(f"temporary '{temporary.name}' has no type")
    return temporary.dtype
