"""Operations of reductions as values: a name, or a name with a type or with a user's definition.

The facts about those that are built in are in `polygen.ir.reduction`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pymbolic.typing import Expression

from polygen.ir.dtype import DType, dtype_name

OPERAND = "operand"  # no type has this name

Number: TypeAlias = int | float | bool


@dataclass(frozen=True)
class Definition:
    """The definition of a user's own operation.

    Attributes:
        arguments: the names of the two values that it makes one of.
        combined: what it makes of them: mentions nothing else.
        identity: what changes no value that it is combined with; or, for each type, such a number.
        claims: those of ``associative`` and ``commutative`` that are said of it, and believed.
    """

    arguments: tuple[str, str]
    combined: Expression
    identity: Number | tuple[tuple[str, Number], ...]
    claims: tuple[str, ...] = ()

    @property
    def has_any_order(self) -> bool:
        """Whether values may be combined in any order; then updates by it may be atomic."""
        return len(self.claims) == 2

    def identity_of(self, dtype: DType) -> Number | None:
        """Return the identity for a type; None if there is none."""
        if not isinstance(self.identity, tuple):
            return self.identity
        by_type: Mapping[str, Number] = dict(self.identity)
        return by_type.get(dtype_name(dtype))


@dataclass(frozen=True)
class Special:
    """An operation of which more is said than its name, as in ``sum<float64>(j, a[j])``.

    Attributes:
        name: its name.
        dtype: the type it is computed in; None for the one that NumPy would take.
        definition: what it does, if it is a user's own.
        keeps: whether it is computed in the type of its operand, where NumPy would take a wider
            one: ``sum<operand>(j, a[j])``.
    """

    name: str
    dtype: DType | None = None
    definition: Definition | None = None
    keeps: bool = False

    def __str__(self) -> str:
        if self.keeps:
            return f"{self.name}<{OPERAND}>"
        return self.name if self.dtype is None else f"{self.name}<{dtype_name(self.dtype)}>"


Operation: TypeAlias = str | Special  # ``sum`` is the operation of that name as it is
