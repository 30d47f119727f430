"""Counts what nests move, alone and fused: bytes, streams, and lines of memory.

A stream is what one mention of an array walks along, `a[i,j]` and `a[i,j+1]` alike.  It counts once
for reading and once for writing, as often as the loops that it mentions have iterations.  What a
nest before has written is not read again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from polygen.analysis.typing.index_type import index_type
from polygen.analysis.typing.inference import infer_types
from polygen.ir.array import TemporaryVariable
from polygen.ir.dtype import to_dtype
from polygen.ir.kernel import Kernel
from polygen.schedules.iteration_distances import Touch
from polygen.schedules.nests import Extents

_ITEM = 8  # bytes of an element whose type is not known

_Key: TypeAlias = tuple[str, tuple[object, ...], bool]


@dataclass(frozen=True)
class Traffic:
    """The bytes that a nest moves.

    Attributes:
        moved: bytes.
        streams: how many places it walks along at once.
        names: the arrays of these.
    """

    moved: int
    streams: int
    names: frozenset[str]


class Prices:
    """The sizes of elements, and how often loops are executed.

    Parameters:
        kernel: the kernel, its inputs' types known.
        extents: its loops, as they are expected to be.
    """

    def __init__(self, kernel: Kernel, extents: Extents) -> None:
        typed = infer_types(kernel.expanded, index_type(kernel), complete=False)
        self._typed = typed
        self._extents = extents

    def traffic(
        self, touches: Iterable[Touch], loops: Sequence[str], kept: Collection[str] = ()
    ) -> Traffic:
        """Return what a nest moves.

        Parameters:
            touches: its accesses, in order.
            loops: its loops.
            kept: variables that would be scalars of each iteration.
        """
        found: dict[_Key, int] = {}
        written: set[object] = set()
        for touch in touches:
            if touch.is_own or touch.name in kept:
                continue
            terms = tuple([None if f is None else frozenset(f.terms.items()) for f in touch.forms])
            if touch.is_write:
                written.add((touch.name, terms))
            elif (touch.name, terms) in written:
                continue
            key = (touch.name, terms, touch.is_write)
            found[key] = self._bytes(touch, loops)
        return Traffic(
            sum(found.values()),
            len({key[:2] for key in found}),
            frozenset([key[0] for key in found]),
        )

    def _bytes(self, touch: Touch, loops: Sequence[str]) -> int:
        along = set(loops)
        if None not in touch.forms:
            along &= {str(t) for form in touch.forms if form is not None for t in form.terms}
        return self.item(touch.name) * prod(map(self._extents.of, along))

    def item(self, name: str) -> int:
        """Return how many bytes an element has."""
        variable = self._typed.variables[name]
        dtype = getattr(variable, "dtype", None)
        return _ITEM if dtype is None else int(to_dtype(dtype).itemsize)


def kept_names(
    kernel: Kernel, touches: Sequence[Touch], loops: Sequence[str], outside: Mapping[str, int]
) -> set[str]:
    """Return the temporaries of which an iteration of a nest needs nothing but its own element.

    Parameters:
        kernel: the kernel.
        touches: the accesses of the nest, in order.
        loops: its loops.
        outside: how often each variable is touched elsewhere, too.
    """
    by_name: dict[str, list[Touch]] = {}
    for touch in touches:
        by_name.setdefault(touch.name, []).append(touch)
    return {
        name
        for name, uses in by_name.items()
        if isinstance(variable := kernel.variables[name], TemporaryVariable)
        and variable.shape
        and not variable.read_only
        and not outside.get(name)
        and is_one_element(uses, loops)
    }


def is_one_element(uses: Sequence[Touch], loops: Sequence[str]) -> bool:
    """Tell whether all accesses of a variable are of one element in each iteration, written first.

    Each subscript counts a loop.
    """
    first = uses[0]
    return (
        first.is_write
        and first.is_sure
        and all(use.forms == first.forms for use in uses)
        and all(
            form is not None and any(abs(form.terms.get(i, 0)) == 1 for i in loops)
            for form in first.forms
        )
    )
