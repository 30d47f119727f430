"""Inverts maps between inames, where they are one to one.

All sets are flat (see `polygen.ir.domain`); old inames have a mark behind their names, so that
new ones may have the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import TypeAlias

import islpy as isl

from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.integers.isl_affine import (
    condition_set,
    form_of_aff,
    pieces,
    pw_aff_expression,
)
from polygen.analysis.integers.second_instance import OTHER
from polygen.analysis.pairs.instance_pairs import renamed, witness
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir.cached import cached_property
from polygen.ir.domain import flat_names, project_out, rename_dimension, unflatten
from polygen.ir.expression import Expression

_PARAM, _IN, _OUT, _SET = isl.dim_type.param, isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set
_OLD = "~"  # no name in a kernel has one, and it is not what marks second points

Point: TypeAlias = Mapping[str, int]
Clash: TypeAlias = tuple[Point, Point, Point]  # what two points have in common, and the two


def was(iname: str) -> str:
    """Return the name of an old iname beside new ones."""
    return iname + _OLD


class InameMap:
    """A map from old inames to new ones, for the points of a domain.

    Parameters:
        domain: a flat set: the values of the old inames together.
        transform: an isl map.
        olds: the names of its inputs.
        news: those of its outputs.

    Attributes:
        olds, news: the same.
        relation: old and new points, as a flat set.
    """

    def __init__(
        self, domain: isl.Set, transform: isl.Map, olds: Sequence[str], news: Sequence[str]
    ) -> None:
        self.olds, self.news = tuple(olds), tuple(news)
        self._domain = reduce(_marked, self.olds, domain)
        self._equations = _flat_map(transform, self.olds, self.news)
        self.relation = self._equations.intersect(self._domain)

    # --- whether it is one to one

    def missing(self) -> Point | None:
        """Return an old point that it maps to nothing, or None."""
        left = self._domain.subtract(project_out(self.relation, self.news))
        return None if left.is_empty() else _unmarked(witness(left))

    def several(self) -> Clash | None:
        """Return an old point with two new ones, or None."""
        return _twice(self.relation, self.news)

    def merged(self) -> Clash | None:
        """Return a new point with two old ones, or None."""
        return _twice(self.relation, [was(i) for i in self.olds])

    def image(self, flat: isl.Set) -> isl.Set:
        """Return a flat set that old inames are in, or bound, with the new ones instead."""
        marked = reduce(_marked, self.olds, flat).intersect(self._equations)
        return project_out(marked, [was(i) for i in self.olds])

    # --- expressions

    @cached_property
    def values(self) -> Mapping[str, Expression | None]:
        """The old inames in terms of the new ones; None if one is not (quasi-)affine."""
        found: dict[str, Expression | None] = {}
        for iname in self.olds:
            others = [was(i) for i in self.olds if i != iname]
            function = self._function(others, was(iname))
            if function.domain().is_empty():  # no point at all: it may be anything
                found[iname] = ex.Variable(self.news[0])
                continue
            value = pw_aff_expression(function)
            found[iname] = None if linear_form(value) is None else value
        return found

    @cached_property
    def needs(self) -> Mapping[str, frozenset[str]]:
        """For each new iname, the old ones that its value depends on.

        One that always has the same value counts as depending on the first.
        """
        found: dict[str, frozenset[str]] = {}
        for iname in self.news:
            others = [i for i in self.news if i != iname]
            names = _names(self._function(others, iname))
            found[iname] = frozenset(i for i in self.olds if was(i) in names) or frozenset(
                self.olds[:1]
            )
        return found

    def _function(self, others: Sequence[str], name: str) -> isl.PwAff:
        """Return what a name is, as a flat function of all but some others.

        Of what the map says alone, if that is enough: in a domain where an iname has one value,
        it would be that value, and lose sight of the others.
        """
        for relation in (self._equations, self.relation):
            found = unflatten(project_out(relation, others), [name])
            if isl.Map.from_range(found).is_single_valued():
                return isl.PwMultiAff.from_set(found).get_pw_aff(0)
        raise InternalError(f"'{name}' has several values: the map is not one to one")


def _marked(flat: isl.Set, iname: str) -> isl.Set:
    return rename_dimension(flat, iname, was(iname))


def _unmarked(point: Point) -> Point:
    return {name.removesuffix(_OLD): value for name, value in point.items()}


def _flat_map(transform: isl.Map, olds: Sequence[str], news: Sequence[str]) -> isl.Set:
    """Return a map as a flat set of pairs of points."""
    for position, iname in enumerate(olds):
        transform = transform.set_dim_name(_IN, position, was(iname))
    for position, iname in enumerate(news):
        transform = transform.set_dim_name(_OUT, position, iname)
    count = transform.dim(_PARAM)
    points = transform.move_dims(_PARAM, count, _IN, 0, len(olds)).range()
    return points.move_dims(_PARAM, count + len(olds), _SET, 0, len(news)).params()


def _twice(relation: isl.Set, names: Sequence[str]) -> Clash | None:
    """Return two points of a relation that differ in some of the names, and in nothing else."""
    both = relation.intersect(renamed(relation, names))
    for name in names:
        found = both.intersect(_comparison(name, "!=", ex.Variable(name + OTHER)))
        if not found.is_empty():
            point = witness(found)
            first = {n: point.pop(n) for n in names}
            second = {n: point.pop(n + OTHER) for n in names}
            return _unmarked(point), _unmarked(first), _unmarked(second)
    return None


def _comparison(name: str, operator: str, value: Expression) -> isl.Set:
    condition = condition_set(ex.Comparison(ex.Variable(name), operator, value))
    if condition is None:
        raise InternalError(f"{value!r} is not affine")
    return condition


def _names(function: isl.PwAff) -> frozenset[str]:
    """Return the names that the value of a flat function depends on."""
    found = pieces(function.coalesce())
    names = {name for _, aff in found for name in form_of_aff(aff).names()}
    if len(found) > 1:
        names.update(n for domain, _ in found for n in flat_names(domain.drop_unused_params()))
    return frozenset(names)


def in_new_terms(flat: isl.Set, values: Mapping[str, Expression], inames: Iterable[str]) -> isl.Set:
    """Return a flat set that mentions old inames, with their values instead.

    Parameters:
        flat: the set.
        values: what the old inames are in terms of the new ones.
        inames: those of them that are to be replaced.
    """
    inames = tuple(i for i in inames if i in flat_names(flat))
    flat = reduce(_marked, inames, flat)
    for iname in inames:
        flat = flat.intersect(_comparison(was(iname), "==", values[iname]))
    return project_out(flat, [was(i) for i in inames])
