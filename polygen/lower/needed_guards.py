"""Finds the guards that a statement needs, with one question to isl for each kind of place."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from functools import reduce

import islpy as isl

from polygen.analysis.integers.constraint_forms import constraint_forms
from polygen.analysis.integers.isl_affine import condition_set
from polygen.ir import expression as ex
from polygen.ir.domain import flat_names, intersection, universe
from polygen.ir.expression import Expression
from polygen.lower.conditions import Condition, folded, guards


class NeededGuards:
    """The guards of statements, remembered: many are within the same inames, in the same place.

    Parameters:
        computed: names of variables that may have no value where they are not needed.
        inames: the names of loops, and of what is on axes.
    """

    def __init__(self, computed: Container[str], inames: Container[str] = ()) -> None:
        self._computed = computed
        self._inames = inames
        self._found: dict[tuple[object, ...], tuple[Condition, ...]] = {}
        self._tied: dict[tuple[object, ...], bool] = {}
        self._constraints: dict[int, Sequence[tuple[frozenset[str], ex.Comparison]] | None] = {}
        self._about_names: dict[int, frozenset[str]] = {}
        self._kept_alive: list[isl.Set] = []  # sets that are keys by their identity

    def of(
        self,
        inames: frozenset[str],
        needed: isl.Set,
        known: isl.Set,
        values: Mapping[str, Expression],
    ) -> tuple[Condition, ...]:
        """Return the conditions for `needed` where `known` holds.

        Parameters:
            inames: what `needed` is about; there is one such set for each set of inames.
            needed: a flat set.
            known: another.
            values: what stands for inames of unrolled loops.
        """
        key = (inames, id(known), tuple(values.items()))
        if key not in self._found:
            self._found[key] = self._look(inames, needed, known, values)
            self._kept_alive.append(known)
        return self._found[key]

    def _look(
        self,
        inames: frozenset[str],
        needed: isl.Set,
        known: isl.Set,
        values: Mapping[str, Expression],
    ) -> tuple[Condition, ...]:
        if not values:
            return guards(needed, self._about(needed, known), self._computed)
        found = self.of(inames, needed, known, {})
        mentioned = any(c.names & values.keys() for c in found)
        if not found or not (mentioned or self._ties(known, values.keys())):
            return found
        # In a copy of an unrolled loop's body fewer guards are needed, some of them constant.
        fixed = known.intersect(equations(values))
        return tuple(
            c
            for guard in guards(needed, fixed, self._computed)
            if (c := folded(guard, values)).expression is not True
        )

    def _about(self, needed: isl.Set, known: isl.Set) -> isl.Set:
        """Return what is known of the names in `needed`, where most of it is about other loops.

        A launch of many nests has many inames on one axis: isl's time grows with all of them.
        """
        mine = {n for n in flat_names(needed) if n in self._inames}
        if len(self._names(known) - mine) <= _MANY:
            return known
        forms = self._forms(known)
        if forms is None:
            return known
        connected = _connected([about for about, _ in forms], frozenset(mine))
        found = (condition_set(condition) for about, condition in forms if about <= connected)
        return reduce(intersection, (f for f in found if f is not None), universe())

    def _names(self, known: isl.Set) -> frozenset[str]:
        """Return the inames that a set is about."""
        if id(known) not in self._about_names:
            self._kept_alive.append(known)
            names = frozenset(n for n in flat_names(known) if n in self._inames)
            self._about_names[id(known)] = names
        return self._about_names[id(known)]

    def _forms(self, known: isl.Set) -> Sequence[tuple[frozenset[str], ex.Comparison]] | None:
        """Return the constraints of a set, each with the inames in it; None if it is no polyhedron.

        Where there are floors, or several pieces, that is.
        """
        if id(known) not in self._constraints:
            self._kept_alive.append(known)
            pieces = known.get_basic_sets()
            plain = len(pieces) == 1 and not pieces[0].dim(isl.dim_type.div)
            self._constraints[id(known)] = (
                [
                    (
                        frozenset(n for n in c.form.names() if n in self._inames),
                        ex.Comparison(c.form.expression(), "==" if c.is_equality else ">=", 0),
                    )
                    for c in constraint_forms(pieces[0])
                ]
                if plain
                else None
            )
        return self._constraints[id(known)]

    def _ties(self, known: isl.Set, names: Collection[str]) -> bool:
        """Tell whether what is known of these names may say something of others, too."""
        key = (id(known), *names)
        if key not in self._tied:
            self._tied[key] = _is_tied(known, names)
            self._kept_alive.append(known)
        return self._tied[key]


def _connected(constrained: Sequence[frozenset[str]], names: frozenset[str]) -> frozenset[str]:
    """Return names that constraints connect with some, one with the other."""
    several = [c for c in constrained if len(c) > 1]
    while more := [c for c in several if not c <= names and not c.isdisjoint(names)]:
        names = names.union(*more)
    return names


_MANY = 12  # inames: fewer cost nothing


def _is_tied(known: isl.Set, names: Collection[str]) -> bool:
    pieces = known.get_basic_sets()
    if len(pieces) != 1 or pieces[0].dim(isl.dim_type.div):
        return True
    return any(
        len({name in names for name in constraint.form.terms}) > 1
        for constraint in constraint_forms(pieces[0])
    )


def equations(values: Mapping[str, Expression]) -> isl.Set:
    """Return the flat set in which inames have these values."""
    found = (
        condition_set(ex.Comparison(ex.Variable(i), "==", value)) for i, value in values.items()
    )
    return reduce(isl.Set.intersect, (e for e in found if e is not None), universe())
