"""Obligations: what data has to keep for a kernel to be well formed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from polygen.analysis.access.accesses import Reference
from polygen.analysis.pairs.unordered_pairs import Loose
from polygen.ir import expression as ex
from polygen.ir.show_expression import show_expression

INSIDE = "inside"
ORDERED = "ordered"
WRITTEN = "written"
NOT_NEGATIVE = "not negative"


@dataclass(frozen=True)
class Obligation:
    """Something that has to hold, and that depends on data.

    Attributes:
        kind: ``"inside"``: every access is inside its array; ``"ordered"``: instances in no order
            touch no element in common, one writing it; ``"written"``: what is read from a
            temporary was written before; ``"not negative"``: powers of integers have no negative
            exponents.
        instructions: the ids of the one or two instructions that it is about.
        array: the array or temporary whose elements they touch; nothing for a power.
        what: what has to hold, as a sentence.
        references: how each of the instructions mentions the array.
            For a power, a reference to nothing, with the exponent as its subscript.
        axis: for ``"inside"``, the axis whose subscript it is about.
        loose: for ``"ordered"``, the pairs of instances that are in no order.
    """

    kind: str
    instructions: tuple[str, ...]
    array: str
    what: str
    references: tuple[Reference, ...] = field(default=(), repr=False)
    axis: int | None = field(default=None, repr=False)
    loose: Loose | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return f"{' and '.join(self.instructions)}: {self.what}"


def shown_reference(reference: Reference) -> str:
    """Return ``a[idx[i]]``."""
    array = ex.Variable(reference.name)
    if not reference.index:
        return show_expression(array)
    first, *others = reference.index
    index: Any = reference.index if others else first
    return show_expression(ex.Subscript(array, index))


def shown_element(name: str, index: Sequence[int]) -> str:
    """Return ``a[2, 3]``; a scalar in quotation marks."""
    return f"{name}[{', '.join(map(str, index))}]" if index else f"'{name}'"
