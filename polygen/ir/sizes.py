"""Sizes that nobody passes: products, and the ends of loops that a condition ends.

To isl, such a size is a parameter like any other; what is known of a product stands in
`polygen.analysis.integers.products`.  Of the end of a loop, nothing is known: what holds for all of
its values holds for a loop without an end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import ValueArg
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.show_expression import show_expression


@dataclass(frozen=True, slots=True, eq=False)
class DerivedSize(ValueArg):
    """A size that nobody passes: the product of others, of which those below 0 count as 0.

    Attributes:
        name: how domains and instructions call it.
        factors: in terms of scalar arguments, and of derived sizes before this one.
    """

    factors: tuple[Expression, ...] = ()

    if TYPE_CHECKING:

        def __init__(
            self, name: str, dtype: object = None, factors: tuple[Expression, ...] = ()
        ) -> None: ...

    def __str__(self) -> str:
        return f"{self.name} = {' * '.join(map(_shown, self.factors))}"

    @property
    def value(self) -> Expression:
        """Its value, in terms of other sizes."""
        factors = [f if isinstance(f, int) and f >= 0 else ex.Max((f, 0)) for f in self.factors]
        return factors[0] if len(factors) == 1 else ex.Product(tuple(factors))

    @property
    def names(self) -> frozenset[str]:
        """The sizes that it follows from."""
        return NO_NAMES.union(*map(walk.free_variables, self.factors))

    @property
    def is_open(self) -> bool:
        """Whether it is no product, but the end of a loop that a condition ends."""
        return False

    def with_values(self, values: Mapping[str, Expression]) -> DerivedSize:
        """Return it with values in place of names."""
        factors = tuple([walk.substitute(f, values) for f in self.factors])
        return replace(self, factors=factors)


@dataclass(frozen=True, slots=True, eq=False)
class OpenEnd(DerivedSize):
    """The end of a loop that a condition ends: any number that no iteration reaches.

    Each instruction in the loop asks a flag, which is not set again once it is 0.  So every end
    behind the last iteration in which the flag is set means the same, and code has none.

    Attributes:
        name: how domains call it.
        factors: nothing.
    """

    def __str__(self) -> str:
        return f"{self.name} = {UNBOUNDED}"

    @property
    def is_open(self) -> bool:
        """Whether it is no product, but the end of a loop that a condition ends."""
        return True


UNBOUNDED = "<unbounded>"  # what stands for its value in texts


def products(sizes: Iterable[DerivedSize]) -> tuple[DerivedSize, ...]:
    """Return those of some derived sizes that are products."""
    return tuple([size for size in sizes if not size.is_open])


def open_ends(sizes: Iterable[DerivedSize]) -> frozenset[str]:
    """Return the names of those of some derived sizes that are ends of loops."""
    return frozenset([size.name for size in sizes if size.is_open])


def _shown(factor: Expression) -> str:
    text = show_expression(factor)
    return text if isinstance(factor, int | ex.Variable) else f"({text})"
