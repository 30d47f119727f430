"""Polyhedra over whose integer points something is added up, in a normal form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd

import islpy as isl

from polygen.analysis.counting.quasi_polynomials import QuasiPolynomial, names_of, substituted_form
from polygen.analysis.integers.affine_forms import FloorTerm, LinearForm, combine
from polygen.analysis.integers.isl_affine import form_of_aff, to_val


@dataclass(frozen=True)
class Problem:
    """A polyhedron over whose points something is added up.

    Attributes:
        names: those that take values; all others are parameters.
        bounds: affine forms that are not negative.
        zeros: affine forms that are 0.
        summand: what is added up.
    """

    names: frozenset[str]
    bounds: tuple[LinearForm, ...]
    zeros: tuple[LinearForm, ...]
    summand: QuasiPolynomial

    def substituted(self, name: str, value: LinearForm, *, drops: bool = True) -> Problem:
        """Return it with a form in the place of a name, which is gone then."""
        return Problem(
            self.names - {name} if drops else self.names,
            tuple([substituted_form(b, name, value) for b in self.bounds]),
            tuple([substituted_form(z, name, value) for z in self.zeros]),
            self.summand.substituted(name, value),
        )


def problem_of(piece: isl.BasicSet, names: frozenset[str]) -> Problem:
    """Return the problem of counting the values of names in a flat set with known divs."""
    bounds: list[LinearForm] = []
    zeros: list[LinearForm] = []
    for constraint in piece.get_constraints():
        form = form_of_aff(constraint.get_aff())
        (zeros if constraint.is_equality() else bounds).append(form)
    return _lifted(Problem(names, tuple(bounds), tuple(zeros), QuasiPolynomial.constant(1)))


def _lifted(problem: Problem) -> Problem:
    """Return a problem with a name for each floor of names: it has one value for theirs."""
    names, bounds, zeros = set(problem.names), list(problem.bounds), list(problem.zeros)
    known: dict[FloorTerm, str] = {}
    done: list[list[LinearForm]] = [[], []]

    def without(form: LinearForm) -> LinearForm:
        parts = [(LinearForm(form.constant), 1)]
        for term, factor in form.terms.items():
            if isinstance(term, str) or names.isdisjoint(names_of(term)):
                parts.append((LinearForm(0, {term: 1}), factor))
                continue
            parts.append((LinearForm.of_name(named(term)), factor))
        return combine(parts)

    def named(term: FloorTerm) -> str:
        if term not in known:
            rest = without(term.numerator) - LinearForm(0, {f"floor {len(known)}": term.divisor})
            known[term] = f"floor {len(known)}"
            names.add(known[term])
            done[0] += [rest, -rest + (term.divisor - 1)]
        return known[term]

    done[0] += [without(form) for form in bounds]
    done[1] += [without(form) for form in zeros]
    return Problem(frozenset(names), tuple(done[0]), tuple(done[1]), problem.summand)


# --- tidying up


def tidied(problem: Problem) -> Problem | None:
    """Return a problem without needless bounds; None if it shows that there are no points.

    There may be none without that it shows: fractions can fulfil the bounds, and a single bound is
    not compared with equalities.
    """
    least: dict[frozenset[object], LinearForm] = {}
    for bound in problem.bounds:
        form = _tightened(bound)
        if form.is_constant:
            if form.constant < 0:
                return None
            continue
        key = frozenset(form.terms.items())
        if key not in least or form.constant < least[key].constant:
            least[key] = form
    zeros = [z for z in problem.zeros if not (z.is_constant and z.constant == 0)]
    if any(z.is_constant or z.constant % _common(z) for z in zeros):
        return None
    found = replace(problem, bounds=tuple(least.values()), zeros=tuple(zeros))
    return _needed(found)


def _common(form: LinearForm) -> int:
    return gcd(*form.terms.values())


def _tightened(form: LinearForm) -> LinearForm:
    """Return a form divided by what divides its coefficients: it is >= 0 for the same values."""
    common = _common(form) if form.terms else 1
    if common <= 1:
        return form
    terms = {t: c // common for t, c in form.terms.items()}
    return LinearForm(form.constant // common, terms)


def _needed(problem: Problem) -> Problem | None:
    """Return a problem without bounds that others imply; None if these contradict each other."""
    if len(problem.bounds) < 2:
        return problem
    basic = _basic_set(problem.bounds, problem.zeros)
    if basic.is_empty():
        return None
    kept = list(problem.bounds)
    for bound in problem.bounds:
        others = [b for b in kept if b is not bound]
        if len(others) < len(kept) and _implies(others, problem.zeros, bound):
            kept = others
    return replace(problem, bounds=tuple(kept))


def _implies(bounds: Sequence[LinearForm], zeros: Sequence[LinearForm], bound: LinearForm) -> bool:
    return bool(_basic_set([*bounds, -bound - 1], zeros).is_empty())


def _basic_set(bounds: Sequence[LinearForm], zeros: Sequence[LinearForm]) -> isl.BasicSet:
    """Return the rational polyhedron, in which floors are names of their own."""
    terms = list(dict.fromkeys(t for form in (*bounds, *zeros) for t in form.terms))
    space = isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, len(terms))
    found = isl.BasicSet.universe(space)
    local = isl.LocalSpace.from_space(space)
    make = (isl.Constraint.alloc_inequality, isl.Constraint.alloc_equality)
    for new, forms in zip(make, (bounds, zeros), strict=True):
        for form in forms:
            constraint = new(local).set_constant_val(to_val(form.constant))
            for position, term in enumerate(terms):
                if factor := form.terms.get(term, 0):
                    constraint = constraint.set_coefficient_val(
                        isl.dim_type.set, position, to_val(factor)
                    )
            found = found.add_constraint(constraint)
    return found
