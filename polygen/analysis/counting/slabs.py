"""Directions along which a polyhedron has always as many points: tiles leave no trace in counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import product
from math import gcd

from polygen.analysis.counting.polyhedra import Problem
from polygen.analysis.integers.affine_forms import LinearForm


def without_slab(problem: Problem) -> Problem | None:
    """Return a problem without a direction along which there are always as many points.

    It has a name less, and is summed up to the same; None if there is no such direction.

    Parameters:
        problem: a tidy one without equalities, whose summand is the same at all points.
    """
    slabs = list(_slabs(problem))
    # Slabs stay as they are: that they hold is what the others may be widened by.
    members = [bound for slab in slabs for bound in slab]
    common = [b if b in members else _widened(b, slabs, problem) for b in problem.bounds]
    for slab in slabs:
        if (found := _without(problem, common, slab)) is not None:
            return found
    for first, second in slabs:  # digits of digits: what bounds one of them is a slab, too
        both = (first, second), (second, first)
        own = [b if b in (first, second) else _widened(b, both, problem) for b in problem.bounds]
        if (found := _without(problem, own, (first, second))) is not None:
            return found
    return None


def _without(
    problem: Problem, bounds: Sequence[LinearForm], slab: tuple[LinearForm, LinearForm]
) -> Problem | None:
    """Return a problem without the direction along which a slab alone changes, if there is one."""
    first, second = slab
    both = first + second
    others = [b for b in bounds if b is not first and b is not second]
    direction = _direction(others, sorted(problem.names))
    step = abs(sum(first.terms.get(n, 0) * c for n, c in direction.items()))
    unit = next((n for n, c in sorted(direction.items()) if abs(c) == 1), None)
    if not step or unit is None or (both.constant + 1) % step:
        return None
    moved = replace(problem, bounds=tuple(others))
    for name, factor in direction.items():
        if name != unit:
            # What the name was when the unit is 0: the point at which the direction begins.
            value = LinearForm(0, {name: 1, unit: factor * direction[unit]})
            moved = moved.substituted(name, value, drops=False)
    times = (both.constant + 1) // step
    return replace(moved, names=moved.names - {unit}, summand=moved.summand * times)


def _slabs(problem: Problem) -> Iterator[tuple[LinearForm, LinearForm]]:
    """Yield pairs of bounds whose sum is a number: the first is between 0 and that."""
    for first, second in product(problem.bounds, problem.bounds):
        if (first + second).is_constant and not problem.names.isdisjoint(first.names()):
            yield first, second


def _widened(
    bound: LinearForm, slabs: Sequence[tuple[LinearForm, LinearForm]], problem: Problem
) -> LinearForm:
    """Return a bound in terms in which another bound is: ``16*io + ii >= 0`` for ``io >= 0``.

    For integers, and 0 <= s < d, the form ``d*b + s`` is not negative where `b` is not.
    """
    for first, second in slabs:
        wide = bound * ((first + second).constant + 1) + first
        if wide.names() != bound.names() and any(
            _is_part(wide, other, problem.names) for other in problem.bounds
        ):
            return _widened(wide, slabs, problem)
    return bound


def _is_part(form: LinearForm, other: LinearForm, names: frozenset[str]) -> bool:
    """Tell whether another form has the names of this one in the same proportions."""
    inside = sorted(names.intersection(form.names()))
    if len(inside) < 2 or any(n not in other.terms for n in inside):
        return False
    one = inside[0]
    return (
        all(form.terms[one] * other.terms[n] == form.terms[n] * other.terms[one] for n in inside)
        and form != other
    )


def _direction(bounds: Sequence[LinearForm], names: Sequence[str]) -> dict[str, int]:
    """Return the only direction in which no bound changes, in lowest terms; {} if it is not so."""
    rows = [[b.terms.get(n, 0) for n in names] for b in bounds]
    pivots: list[tuple[int, list[int]]] = []
    for row in rows:
        reduced = row
        for column, pivot in pivots:
            reduced = _eliminated(reduced, pivot, column)
        first = next((c for c, value in enumerate(reduced) if value), None)
        if first is not None:
            pivots = [(c, _eliminated(p, reduced, first)) for c, p in pivots]
            pivots.append((first, reduced))
    if len(pivots) != len(names) - 1:
        return {}
    (free,) = {*range(len(names))}.difference(c for c, _ in pivots)
    scale = reduce(lambda a, b: a * b // gcd(a, b), [abs(p[c]) for c, p in pivots], 1)
    found = {names[free]: scale}
    found |= {names[c]: -p[free] * scale // p[c] for c, p in pivots if p[free]}
    common = gcd(*found.values())
    return {name: value // common for name, value in found.items()}


def _eliminated(row: list[int], pivot: list[int], column: int) -> list[int]:
    """Return a row without a column, by a multiple of another row."""
    if not row[column]:
        return row
    found = [a * pivot[column] - b * row[column] for a, b in zip(row, pivot, strict=True)]
    common = gcd(*found)
    return [value // common for value in found] if common > 1 else found
