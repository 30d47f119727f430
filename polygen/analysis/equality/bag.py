"""Bags: what sums, and other operations whose order does not count, combine."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import islpy as isl

from polygen.analysis.equality.compared_values import Value
from polygen.ir.empty import NO_NAMES

SUM, PRODUCT = "sum", "product"
EXACT = ("min", "max", "any", "all")  # the same in any order, also of what is rounded


class Level(enum.IntEnum):
    """The depth to which values are taken apart."""

    WRITTEN = 0  # what stands in one expression
    FOLLOWED = 1  # partial results that were stored, too
    DISTRIBUTED = 2  # and products with sums: of several in one product, the first


AGAIN = (Level.WRITTEN, Level.FOLLOWED, Level.DISTRIBUTED)


@dataclass(frozen=True)
class Factor:
    """A value in a product.

    Attributes:
        value: the value.
        divides: whether the product is divided by it.
    """

    value: Value
    divides: bool = False


@dataclass(frozen=True)
class Piece:
    """A piece of a bag: combined once for each value of some names.

    Attributes:
        number: what the product of the values is multiplied by.
        factors: the values.
        bound: the names; one piece for each value of these.
        where: for which values, and at which points.
    """

    number: Fraction
    factors: tuple[Factor, ...]
    bound: frozenset[str]
    where: isl.Set


@dataclass(frozen=True)
class Loops:
    """A reduction: what it is over, and of what.

    Attributes:
        value: what is combined.
        names: those of the inames, outermost loop first.
        where: for which values of these.
        is_ordered: whether the inames are loops, so that there is an order.
    """

    value: Value
    names: tuple[str, ...]
    where: isl.Set
    is_ordered: bool = True


@dataclass(frozen=True)
class Place:
    """The place of a value in a bag.

    Attributes:
        where: at which points, and for which values of the names.
        bound: the names.
        number: what it is multiplied by.
        others: the values that it is multiplied by.
        divides: whether it divides: of products.
        depth: how many writes were followed.
    """

    where: isl.Set
    bound: frozenset[str]
    number: Fraction
    others: tuple[Factor, ...]
    divides: bool = False
    depth: int = 0

    def written(self, value: Value, where: isl.Set) -> Place:
        """Return where what was written of a value stands."""
        names = NO_NAMES if value.was_there else value.names
        return replace(self, where=where, bound=self.bound | names, depth=self.depth + 1)

    def inside(self, points: isl.Set) -> Place:
        """Return the place of what is combined at some points only."""
        return replace(self, where=self.where.intersect(points))

    def outside(self, points: isl.Set) -> Place:
        """Return the place of what is combined at all other points."""
        return replace(self, where=self.where.subtract(points))

    def over(self, names: Sequence[str], where: isl.Set) -> Place:
        """Return the place of what is combined for each value of some more names."""
        return replace(self, where=where, bound=self.bound.union(names))


def is_whole(pieces: Sequence[Piece], value: Value) -> bool:
    """Tell whether the only piece of a value is that value."""
    return len(pieces) == 1 and pieces[0].number == 1 and pieces[0].factors == (Factor(value),)
