"""Counts the points of a flat set: as a formula in what is left, or as a number.

The formula is isl's piecewise quasi-polynomial, made by `polygen.analysis.counting.symbolic_sums`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import Any

import islpy as isl
import numpy as np

from polygen.analysis.counting.array_values import selected, where_true
from polygen.analysis.counting.point_enumeration import blocks, inside, summed_up
from polygen.analysis.counting.polyhedra import problem_of
from polygen.analysis.counting.quasi_polynomials import QuasiPolynomial, form_text
from polygen.analysis.counting.symbolic_sums import Case, Effort, NotSummedError, cases
from polygen.analysis.integers.affine_forms import FloorTerm, LinearForm, Term
from polygen.analysis.integers.isl_affine import condition_set, to_aff, to_val
from polygen.analysis.integers.proving import limited_count
from polygen.errors import ProofLimit
from polygen.ir import walk
from polygen.ir.domain import flat_names, intersection, project_out, unflatten
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression

_PARAM = isl.dim_type.param
_MOST_TERMS = 2000
_FEW_TERMS = 300  # where points can be looked at instead


def formula(flat: isl.Set, names: Iterable[str], known: isl.Set) -> isl.PwQPolynomial | None:
    """Return how many values names have together, in terms of the other names of a flat set.

    Parameters:
        flat: the set.
        names: what is counted.
        known: what is known of the parameters, as a flat set: the formula is right there.

    Returns:
        The formula, or None if there are too many cases to tell apart.

    Raises:
        NotSummedError: if there is no end of values.
    """
    counted = frozenset(names)
    effort = Effort(_MOST_TERMS)
    found: list[Case] = []
    try:
        with limited_count():
            both = intersection(flat, known)
            for piece in _disjoint(both):
                found += cases(problem_of(piece, counted), effort)
            parameters = [n for n in flat_names(both) if n not in counted]
            simple = [(bounds, _simplified(sum_, known)) for bounds, sum_ in found]
            return _joined(parameters, simple, known)
    except ProofLimit:
        return None
    except NotSummedError as error:
        if error.is_infinite:
            raise
        return None


def is_finite(flat: isl.Set, names: Iterable[str]) -> bool:
    """Tell whether names have finitely many values in a flat set, whatever the others are."""
    return bool(unflatten(flat, sorted(names)).is_bounded())


def number(
    flat: isl.Set,
    names: Iterable[str],
    sizes: Mapping[str, int],
    where: Iterable[Expression] = (),
) -> int:
    """Return how many values names have together, for given values of the others.

    Names that conditions mention take their values one after the other, many at once; so do others
    where there is no formula for the rest.

    Parameters:
        flat: the set.
        names: what is counted.
        sizes: the values of others; of what is left, some value will do.
        where: what has to hold beside.

    Raises:
        NotSummedError: if there is no end of values.
    """
    for position, name in enumerate(flat_names(flat)):
        if name in sizes:
            flat = flat.fix_val(_PARAM, position, to_val(sizes[name]))
    flat = project_out(flat, sizes)
    conditions: list[Expression] = []
    for condition in where:
        for part in walk.conjuncts(walk.substitute(condition, sizes)):
            affine = condition_set(part)
            if affine is None:
                conditions.append(part)
            else:
                flat = flat.intersect(affine)
    counted = frozenset(names)
    asked = NO_NAMES.union(*map(walk.free_variables, conditions))
    flat = project_out(flat, set(flat_names(flat)) - counted - asked)
    if not unflatten(flat, flat_names(flat)).is_bounded():
        raise NotSummedError(is_infinite=True)
    if not asked <= counted:
        return _number_of_distinct(flat, counted, asked, conditions)
    return sum(_number_in(piece, counted, asked, conditions) for piece in _disjoint(flat))


def _number_in(
    piece: isl.BasicSet,
    counted: frozenset[str],
    asked: frozenset[str],
    conditions: Sequence[Expression],
) -> int:
    """Return how many points of a piece fulfil conditions."""
    taken = sorted(asked)
    while True:
        try:
            found = cases(problem_of(piece, counted.difference(taken)), Effort(_FEW_TERMS))
            break
        except NotSummedError:
            taken.append(_next_name(piece, counted.difference(taken)))
    scale = lcm(*(c.denominator for _, polynomial in found for c in polynomial.terms.values()))
    if not taken:
        return sum(int(polynomial.terms.get((), 0)) for _, polynomial in found)
    total = 0
    for points in blocks(piece, taken):
        total += summed_up(found, scale, _fulfilling(conditions, points))
    assert total % scale == 0
    return total // scale


def _next_name(piece: isl.BasicSet, names: Iterable[str]) -> str:
    """Return the name that takes fewest values."""
    extents: dict[str, int] = {}
    for name in sorted(names):
        values = unflatten(piece.to_set(), [name])
        values = values.project_out(_PARAM, 0, values.dim(_PARAM))
        extents[name] = (values.dim_max_val(0) - values.dim_min_val(0)).to_python()
    return min(extents, key=extents.__getitem__)


def _fulfilling(conditions: Sequence[Expression], points: dict[str, Any]) -> dict[str, Any]:
    for condition in conditions:
        if not len(next(iter(points.values()))):
            break
        points = selected(points, where_true(condition, points))
    return points


def _number_of_distinct(
    flat: isl.Set, counted: frozenset[str], asked: frozenset[str], conditions: Sequence[Expression]
) -> int:
    """Return how many values names have for which some values of others fulfil conditions."""
    names = [*sorted(counted), *sorted(asked - counted)]
    found = np.zeros((0, len(counted)), np.int64)
    for piece in _disjoint(flat):
        for bounds, _ in cases(problem_of(piece, NO_NAMES), Effort(_FEW_TERMS)):
            for block in blocks(piece, names):
                points = _fulfilling(conditions, inside(block, bounds))
                rows = np.stack([points[name] for name in sorted(counted)], axis=1)
                found = np.unique(np.concatenate([found, rows]), axis=0)
    return len(found)


def _disjoint(flat: isl.Set) -> list[isl.BasicSet]:
    found: list[isl.BasicSet] = flat.coalesce().compute_divs().make_disjoint().get_basic_sets()
    return found


# --- what is known


def _simplified(polynomial: QuasiPolynomial, known: isl.Set) -> QuasiPolynomial:
    """Return a quasi-polynomial without floors of what has a known remainder."""
    if not known.involves_locals():
        return polynomial
    values: dict[Term, QuasiPolynomial] = {}
    for term in polynomial.factors():
        if isinstance(term, FloorTerm):
            rest = _remainder(term, known)
            if rest is not None:
                exact = QuasiPolynomial.of_form(term.numerator - rest)
                values[term] = exact * Fraction(1, term.divisor)
    return polynomial.replaced(values)


def _remainder(term: FloorTerm, known: isl.Set) -> int | None:
    """Return what is left when the numerator is divided, if it is always the same."""
    form: LinearForm = term.numerator % term.divisor
    function = isl.PwAff.from_aff(to_aff(form))
    values = isl.Set.from_pw_aff(function).intersect_params(known)
    values = values.project_out(_PARAM, 0, values.dim(_PARAM))
    if values.is_empty() or not values.is_singleton():
        return None
    least: int = values.dim_min_val(0).to_python()
    return least


# --- isl's form


def _joined(parameters: list[str], found: list[Case], known: isl.Set) -> isl.PwQPolynomial:
    """Return the sum of all cases."""
    names = f"[{', '.join(parameters)}]"
    total = isl.PwQPolynomial(f"{names} -> {{ 0 }}")
    alike: dict[QuasiPolynomial, isl.Set] = {}
    for bounds, summand in found:
        where = isl.Set(f"{names} -> {{ : {_condition(bounds)} }}")
        if summand in alike and where.is_disjoint(alike[summand]):
            alike[summand] = alike[summand].union(where)
            continue
        if summand in alike:
            total = total.add(_piece(names, summand, alike[summand]))
        alike[summand] = where
    for summand, where in alike.items():
        total = total.add(_piece(names, summand, where))
    return total.coalesce().gist_params(known).drop_unused_params()


def _condition(bounds: Iterable[LinearForm]) -> str:
    return " and ".join(f"{form_text(b)} >= 0" for b in bounds) or "true"


def _piece(names: str, summand: QuasiPolynomial, where: isl.Set) -> isl.PwQPolynomial:
    whole = isl.PwQPolynomial(f"{names} -> {{ {summand.text()} }}")
    return whole.intersect_params(where.coalesce())
