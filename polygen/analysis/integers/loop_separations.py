"""Conditions on inames that divide a loop into consecutive ones."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polygen.analysis.integers.affine_forms import LinearForm
from polygen.analysis.integers.constraint_forms import constraint_forms
from polygen.analysis.integers.isl_affine import condition_set, to_aff
from polygen.ir import walk
from polygen.ir.cached import cached_property
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel


@dataclass(frozen=True)
class HalfSpace:
    """The half space of a form: ``form >= 0``."""

    form: LinearForm

    @cached_property
    def inside(self) -> isl.Set:
        """The flat set where it is so."""
        return to_aff(self.form * -1 - 1).neg_basic_set().to_set()

    @cached_property
    def outside(self) -> isl.Set:
        """The flat set where it is not."""
        return to_aff(self.form).neg_basic_set().to_set()

    @cached_property
    def names(self) -> frozenset[str]:
        """The names that it mentions."""
        return frozenset(self.form.names())


@dataclass(frozen=True)
class Separation:
    """A condition that is a conjunction of affine inequalities.

    Attributes:
        condition: what the user said, or a transformation.
        halves: the inequalities.
    """

    condition: Expression
    halves: tuple[HalfSpace, ...]

    @cached_property
    def points(self) -> isl.Set:
        """The flat set where it holds."""
        found = self.halves[0].inside
        for half in self.halves[1:]:
            found = found.intersect(half.inside)
        return found

    def at(
        self, iname: str | None, around: frozenset[str], inames: frozenset[str]
    ) -> list[HalfSpace]:
        """Return the inequalities that can be asked in a loop, and not outside of it.

        Parameters:
            iname: of the loop; None for those that can be asked outside of all loops.
            around: the inames that have values around it.
            inames: those of the kernel.
        """
        known = around if iname is None else around | {iname}
        return [
            half
            for half in self.halves
            if (mine := half.names & inames) and mine <= known and (iname is None or iname in mine)
        ]


def separation(condition: Expression) -> Separation | None:
    """Return what a condition says; None if it is no conjunction of affine inequalities.

    A condition that holds always, or never, is none either.
    """
    found: list[HalfSpace] = []
    for part in walk.conjuncts(condition):
        halves = _halves(part)
        if halves is None:
            return None
        found += [half for half in halves if half not in found]
    return Separation(condition, tuple(found)) if found else None


def _halves(condition: Expression) -> list[HalfSpace] | None:
    points = condition_set(condition)
    if points is None:
        return None
    points = points.coalesce()
    plain = points.remove_divs()
    if plain.n_basic_set() != 1 or not plain.is_equal(points):
        return None
    (piece,) = plain.get_basic_sets()
    found: list[HalfSpace] = []
    for constraint in constraint_forms(piece):
        found.append(HalfSpace(constraint.form))
        if constraint.is_equality:
            found.append(HalfSpace(-constraint.form))
    return [half for half in found if half.names]


@per_kernel
def separations_of(kernel: Kernel) -> tuple[Separation, ...]:
    """Return the separations of a kernel that can be made, as it is now."""
    found = (separation(c) for c in kernel.separations)
    return tuple([s for s in found if s is not None])
