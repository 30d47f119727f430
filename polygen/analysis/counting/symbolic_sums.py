"""Counts the integer points of a polyhedron, in terms of its parameters.

Names are taken away one by one.  What remains to be added up is a quasi-polynomial all the time:
at first it is 1.  There are four ways to take names away, the simple ones first:

- an equality says what a name is;
- a *slab*, ``0 <= 16*io + ii - e < 16`` beside nothing else that changes along a direction, has
  as many points along it whatever the rest is, so tiles leave no trace;
- names that share no inequality are added up apart, and multiplied;
- else a name runs from one of its lower to one of its upper bounds: which, is decided by
  inequalities between these, so there is a case for each pair.  Then Faulhaber's formula sums
  (`polygen.analysis.counting.quasi_polynomials`).  Floors of the name are affine on residue
  classes.

The result is a list of cases, which may overlap: they are added.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from typing import TypeAlias

from polygen.analysis.counting.polyhedra import Problem, tidied
from polygen.analysis.counting.quasi_polynomials import QuasiPolynomial, period, sum_over
from polygen.analysis.counting.slabs import without_slab
from polygen.analysis.integers.affine_forms import LinearForm, combine
from polygen.ir.empty import NO_NAMES

Case: TypeAlias = tuple[tuple[LinearForm, ...], QuasiPolynomial]  # where these are >= 0


class NotSummedError(Exception):
    """There are too many cases, or infinitely many points."""

    def __init__(self, *, is_infinite: bool = False) -> None:
        super().__init__()
        self.is_infinite = is_infinite


@dataclass
class Effort:
    """A budget of cases, and of terms of quasi-polynomials."""

    left: int

    def spend(self, amount: int) -> None:
        """Count some more.

        Raises:
            NotSummedError: if there are too many.
        """
        self.check(amount)
        self.left -= amount

    def check(self, amount: int) -> None:
        """Raise NotSummedError if there will be too many."""
        if amount > self.left:
            raise NotSummedError


def cases(problem: Problem, effort: Effort) -> list[Case]:
    """Return what the sum is, case by case; cases may overlap, and are added.

    Raises:
        NotSummedError: if that takes more than the effort, or there is no end of points.
    """
    effort.spend(1 + len(problem.summand.terms))
    tidy = tidied(problem)
    if tidy is None:
        return []
    if tidy.zeros:
        return cases(_without_zero(tidy), effort)
    if not tidy.names:
        return [(tidy.bounds, tidy.summand)]
    if tidy.summand.is_constant:
        if (less := without_slab(tidy)) is not None:
            return cases(less, effort)
        if len(parts := _parts(tidy)) > 1:
            return _multiplied([cases(part, effort) for part in parts], effort)
    name = min(sorted(tidy.names), key=lambda n: _trouble(tidy, n))
    steps = period(tidy.summand, name)
    if steps > 1:
        return _by_residues(tidy, name, steps, effort)
    return [case for part in _added_up(tidy, name) for case in cases(part, effort)]


# --- names that are known


def _without_zero(problem: Problem) -> Problem:
    """Return a problem with one equality, or one of the names in it, less."""
    zero = min(problem.zeros, key=lambda z: min(_sizes(z, problem.names), default=1 << 62))
    rest = replace(problem, zeros=tuple([z for z in problem.zeros if z is not zero]))
    inside = sorted(problem.names.intersection(zero.names()), key=lambda n: abs(zero.terms[n]))
    if not inside:
        return replace(rest, bounds=(*rest.bounds, zero, -zero))
    name, *others = inside
    factor = zero.terms[name]
    if abs(factor) == 1:
        value = combine([(zero, -factor), (LinearForm.of_name(name), 1)])
        return rest.substituted(name, value)
    if others:  # as Euclid does it: smaller coefficients for all others
        moved = {n: -(zero.terms[n] // factor) for n in others}
        value = LinearForm(0, {name: 1, **{n: c for n, c in moved.items() if c}})
        return problem.substituted(name, value, drops=False)
    # ``factor*name = value`` of parameters: a value if it is divisible, else none.
    value = combine([(zero, -1 if factor > 0 else 1), (LinearForm.of_name(name), abs(factor))])
    below, above = value // abs(factor), -(-value // abs(factor))
    there = QuasiPolynomial.of_form(below - above + 1)
    found = rest.substituted(name, below)
    return replace(found, summand=found.summand * there)


def _sizes(form: LinearForm, names: frozenset[str]) -> list[int]:
    return [abs(form.terms[n]) for n in names if n in form.terms]


# --- parts that have nothing in common


def _parts(problem: Problem) -> list[Problem]:
    groups: list[tuple[frozenset[str], list[LinearForm]]] = [
        (frozenset((name,)), []) for name in sorted(problem.names)
    ]
    apart: list[LinearForm] = []
    for bound in problem.bounds:
        touched = [g for g in groups if not g[0].isdisjoint(bound.names())]
        if not touched:
            apart.append(bound)
            continue
        groups = [g for g in groups if g not in touched]
        names = NO_NAMES.union(*(g[0] for g in touched))
        groups.append((names, [*(b for g in touched for b in g[1]), bound]))
    one = QuasiPolynomial.constant(1)
    found = [Problem(names, tuple(bounds), (), one) for names, bounds in groups]
    first = found[0]
    # What is said of parameters alone, and the factor that there was, belongs to one of them.
    found[0] = replace(first, bounds=(*first.bounds, *apart), summand=problem.summand)
    return found


def _multiplied(factors: Sequence[Sequence[Case]], effort: Effort) -> list[Case]:
    found: list[Case] = []
    for combination in product(*factors):
        bounds = tuple(dict.fromkeys(b for case in combination for b in case[0]))
        found.append((bounds, reduce(QuasiPolynomial.__mul__, [case[1] for case in combination])))
        effort.spend(1 + len(found[-1][1].terms))
    return found


# --- one name after the other


def _bounds_of(problem: Problem, name: str) -> tuple[list[LinearForm], list[LinearForm]]:
    lower = [b for b in problem.bounds if b.terms.get(name, 0) > 0]
    upper = [b for b in problem.bounds if b.terms.get(name, 0) < 0]
    return lower, upper


def _trouble(problem: Problem, name: str) -> tuple[int, int, int]:
    """Return how much work it is to take a name away: floors first, then cases."""
    lower, upper = _bounds_of(problem, name)
    fractions = sum(abs(b.terms[name]) > 1 for b in (*lower, *upper))
    return period(problem.summand, name), fractions, len(lower) * len(upper)


def _by_residues(problem: Problem, name: str, steps: int, effort: Effort) -> list[Case]:
    effort.check(steps * (1 + len(problem.summand.terms)))
    found: list[Case] = []
    for rest in range(steps):
        value = LinearForm(rest, {name: steps})
        found += cases(problem.substituted(name, value, drops=False), effort)
    return found


def _added_up(problem: Problem, name: str) -> Iterator[Problem]:
    """Yield the problems that are left when a name is summed over: one for each pair of bounds."""
    lower, upper = _bounds_of(problem, name)
    if not lower or not upper:
        raise NotSummedError(is_infinite=True)
    others = [b for b in problem.bounds if name not in b.terms]
    for first, last in product(lower, upper):
        decided = [*_strictest(first, lower, name), *_strictest(last, upper, name)]
        some = _between(first, last, name)
        begin, end = _value(first, name), _value(last, name)
        yield Problem(
            problem.names - {name},
            (*others, *decided, some),
            (),
            sum_over(problem.summand, name, begin, end),
        )


def _strictest(bound: LinearForm, bounds: Sequence[LinearForm], name: str) -> Iterator[LinearForm]:
    """Yield what holds where a bound is the strictest: of equal ones, the first."""
    earlier = True
    for other in bounds:
        if other is bound:
            earlier = False
            continue
        mine, theirs = abs(bound.terms[name]), abs(other.terms[name])
        difference = combine([(other, mine), (bound, -theirs)])
        yield difference - 1 if earlier else difference


def _between(first: LinearForm, last: LinearForm, name: str) -> LinearForm:
    """Return what is not negative where a lower bound is below an upper one, as fractions."""
    return combine([(first, -last.terms[name]), (last, first.terms[name])])


def _value(bound: LinearForm, name: str) -> LinearForm:
    """Return the least, or greatest, value that a bound allows."""
    factor = bound.terms[name]
    rest = combine([(bound, 1), (LinearForm.of_name(name), -factor)])
    return -(rest // factor) if factor > 0 else rest // -factor
