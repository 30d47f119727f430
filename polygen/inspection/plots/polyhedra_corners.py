"""The corners and faces of polyhedra of two and three dimensions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import atan2
from typing import TypeAlias

import islpy as isl

Point: TypeAlias = tuple[Fraction, ...]
_SET = isl.dim_type.set


@dataclass(frozen=True)
class _Row:
    """A constraint: coefficients * x + constant is not negative, or 0."""

    coefficients: tuple[int, ...]
    constant: int
    is_equation: bool

    def at(self, point: Point) -> Fraction:
        return sum((c * x for c, x in zip(self.coefficients, point, strict=True)), Fraction(0)) + (
            self.constant
        )

    def allows(self, point: Point) -> bool:
        value = self.at(point)
        return value == 0 if self.is_equation else value >= 0


def outlines(values: isl.Set) -> Iterator[tuple[tuple[Point, ...], ...]]:
    """Yield the faces of each polyhedron that a set consists of: its corners, in a circle.

    A polygon is its own only face; a line, or a point, is a face of two corners, or of one.

    Parameters:
        values: a bounded set of two or three dimensions, without parameters.

    >>> import islpy as isl
    >>> (faces,) = outlines(isl.Set("{ [i, j] : 0 <= j <= i < 4 }"))
    >>> [tuple(map(str, corner)) for corner in faces[0]]
    [('0', '0'), ('3', '0'), ('3', '3')]
    """
    for piece in values.coalesce().get_basic_sets():
        # Without what is known of remainders: all that lies between the points.
        rows = _rows(piece.remove_divs().detect_equalities())
        corners = _corners(rows, values.dim(_SET))
        if corners:
            yield _faces(rows, corners)


def _rows(piece: isl.BasicSet) -> list[_Row]:
    found: list[_Row] = []
    for constraint in piece.get_constraints():
        count = constraint.get_space().dim(_SET)
        coefficients = [constraint.get_coefficient_val(_SET, k).to_python() for k in range(count)]
        constant = constraint.get_constant_val().to_python()
        found.append(_Row(tuple(coefficients), constant, constraint.is_equality()))
    return found


def _corners(rows: Sequence[_Row], dimensions: int) -> list[Point]:
    """Return where as many constraints as there are dimensions hold just so, and all hold."""
    found: dict[Point, None] = {}
    for tight in combinations(rows, dimensions):
        point = _solved([[*map(Fraction, r.coefficients), Fraction(-r.constant)] for r in tight])
        if point is not None and all(row.allows(point) for row in rows):
            found[point] = None
    return sorted(found)


def _solved(matrix: list[list[Fraction]]) -> Point | None:
    """Return the only solution of equations, by Gauss and Jordan; None if there is not one."""
    count = len(matrix)
    for column in range(count):
        pivot = next((r for r in range(column, count) if matrix[r][column] != 0), None)
        if pivot is None:
            return None
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        scale = matrix[column][column]
        matrix[column] = [value / scale for value in matrix[column]]
        for r in range(count):
            if r != column:
                factor = matrix[r][column]
                pairs = zip(matrix[r], matrix[column], strict=True)
                matrix[r] = [a - factor * b for a, b in pairs]
    return tuple(row[-1] for row in matrix)


def _faces(rows: Sequence[_Row], corners: Sequence[Point]) -> tuple[tuple[Point, ...], ...]:
    if len(corners) < 3:
        return (tuple(corners),)
    if len(corners[0]) == 2:
        return (_in_a_circle(corners, (0, 1)),)
    faces: dict[frozenset[Point], tuple[Point, ...]] = {}
    for row in rows:
        on_it = [corner for corner in corners if row.at(corner) == 0]
        if len(on_it) >= 3:
            # The plane is seen from the direction in which it is widest.
            widths = [abs(c) for c in row.coefficients]
            first, second = (k for k in range(3) if k != widths.index(max(widths)))
            faces.setdefault(frozenset(on_it), _in_a_circle(on_it, (first, second)))
    return tuple(faces.values())


def _in_a_circle(corners: Sequence[Point], axes: tuple[int, int]) -> tuple[Point, ...]:
    """Return the corners of a polygon in their order around it, the least one first."""
    x, y = axes
    middle = [sum(c[k] for c in corners) / len(corners) for k in (x, y)]
    ordered = sorted(corners, key=lambda c: atan2(c[y] - middle[1], c[x] - middle[0]))
    first = ordered.index(min(ordered))
    return tuple(ordered[first:] + ordered[:first])


def hull(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the corners of the convex hull of points in a plane, counterclockwise.

    Source: A. M. Andrew, Another efficient algorithm for convex hulls in two dimensions (1979).
    """
    ordered = sorted(set(points))
    if len(ordered) < 3:
        return ordered
    halves: list[list[tuple[float, float]]] = []
    for direction in (ordered, ordered[::-1]):
        half: list[tuple[float, float]] = []
        for point in direction:
            while len(half) > 1 and _turn(half[-2], half[-1], point) <= 0:
                half.pop()
            half.append(point)
        halves.append(half[:-1])
    return halves[0] + halves[1]


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
