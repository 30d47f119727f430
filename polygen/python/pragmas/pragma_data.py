"""Pragmas as data: each part knows its place in the user's file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from polygen.source import SourceLocation


@dataclass(frozen=True)
class Named:
    """A name in a clause.

    Attributes:
        name: the name.
        where: its place.
    """

    name: str
    where: SourceLocation


@dataclass(frozen=True)
class ReductionClause:
    """The clause ``reduction(+: s, t)``.

    Attributes:
        operation: the name of polygen's operation: ``"sum"``, ``"product"``, ``"min"``, ...
        names: the variables that are reduced into.
        where: its place.
    """

    operation: str
    names: tuple[Named, ...]
    where: SourceLocation


@dataclass(frozen=True)
class LoopPragma:
    """A pragma before a loop.

    Attributes:
        parallel: whether its iterations may run in any order.
        sequential: whether they are to run in theirs, in one kernel.
        simd: whether they may run in lanes of vectors.
        auto_simd: whether array statements in it may have lanes along their last axis.
        shared: scalars that all iterations share.
        reductions: variables that iterations reduce into.
        to_device, from_device: arrays that are to be moved; where arrays are, polygen sees itself.
        block: how many iterations one block of work items has, as asked for; None if it is open.
        where: its place.
        is_call: whether `prange` says it, and no comment.
    """

    parallel: bool
    sequential: bool
    simd: bool
    auto_simd: bool
    shared: tuple[Named, ...]
    reductions: tuple[ReductionClause, ...]
    to_device: tuple[Named, ...]
    from_device: tuple[Named, ...]
    block: int | None
    where: SourceLocation
    is_call: bool = False

    def names(self) -> Iterator[Named]:
        """Yield all names in its clauses."""
        yield from self.shared
        for reduction in self.reductions:
            yield from reduction.names
        yield from self.to_device
        yield from self.from_device


@dataclass(frozen=True)
class AtomicPragma:
    """A pragma before an update that is to be atomic.

    Attributes:
        where: its place.
    """

    where: SourceLocation


@dataclass(frozen=True)
class Dimension:
    """A slice of an array statement, with what is said of the loop over it: ``:M=>parallel``.

    Attributes:
        slice: the slice, as it is written.
        lower, upper, step: its parts, as expressions of Python in a normal form; ``"0"`` and
            ``"1"`` where they are left out.
        parallel, simd: whether its iterations may run in any order, or in lanes.
        reduction: the operation over it; None if it is not reduced.
        target: the name that is reduced into, where that is said.
        at_most: a number that its extent does not exceed; None if nothing is said.
        block: how many of its iterations one block has, as asked for.
        where: its place.
    """

    slice: str
    lower: str
    upper: str
    step: str
    parallel: bool
    simd: bool
    reduction: str | None
    target: Named | None
    at_most: int | None
    block: int | None
    where: SourceLocation


@dataclass(frozen=True)
class TensorPragma:
    """A pragma before an array statement: its slices, in the order of the loops over them.

    Attributes:
        dimensions: the slices, outermost loop first.
        where: its place.
    """

    dimensions: tuple[Dimension, ...]
    where: SourceLocation


Pragma: TypeAlias = LoopPragma | AtomicPragma | TensorPragma
