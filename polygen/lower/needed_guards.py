"""Finds the guards that a statement needs, with one question to isl for each kind of place."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from functools import reduce

import islpy as isl

from polygen.analysis.integers.constraint_forms import constraint_forms
from polygen.analysis.integers.isl_affine import condition_set
from polygen.ir import expression as ex
from polygen.ir.domain import universe
from polygen.ir.expression import Expression
from polygen.lower.conditions import Condition, folded, guards


class NeededGuards:
    """The guards of statements, remembered: many are within the same inames, in the same place.

    Parameters:
        computed: names of variables that may have no value where they are not needed.
    """

    def __init__(self, computed: Container[str]) -> None:
        self._computed = computed
        self._found: dict[tuple[object, ...], tuple[Condition, ...]] = {}
        self._tied: dict[tuple[object, ...], bool] = {}
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
            return guards(needed, known, self._computed)
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

    def _ties(self, known: isl.Set, names: Collection[str]) -> bool:
        """Tell whether what is known of these names may say something of others, too."""
        key = (id(known), *names)
        if key not in self._tied:
            self._tied[key] = _is_tied(known, names)
            self._kept_alive.append(known)
        return self._tied[key]


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
