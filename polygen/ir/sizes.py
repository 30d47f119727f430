"""Sizes that follow from others: products, which bound loops that several became.

To isl, such a size is a parameter like any other; what is known of it stands in
`polygen.analysis.integers.products`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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

    def with_values(self, values: Mapping[str, Expression]) -> DerivedSize:
        """Return it with values in place of names."""
        factors = tuple([walk.substitute(f, values) for f in self.factors])
        return DerivedSize(self.name, self.dtype, factors)


def _shown(factor: Expression) -> str:
    text = show_expression(factor)
    return text if isinstance(factor, int | ex.Variable) else f"({text})"
