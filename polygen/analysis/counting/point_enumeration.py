"""The integer points of a polyhedron, in blocks of NumPy's arrays.

Names take their values one after the other.  For each point so far, what the next name runs over
follows from the constraints without floors; those with floors are asked at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import islpy as isl
import numpy as np

from polygen.analysis.counting.array_values import Columns, selected
from polygen.analysis.counting.quasi_polynomials import QuasiPolynomial
from polygen.analysis.integers.affine_forms import FloorTerm, LinearForm, Term
from polygen.analysis.integers.isl_affine import form_of_aff
from polygen.ir.domain import flat_names, project_out

_AT_ONCE = 1 << 17  # points in a block
_SAFE = 2**44  # so that sums over a block fit into 64 bits


def blocks(piece: isl.BasicSet, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the values of names, block by block, and perhaps some that the set does not have.

    Parameters:
        piece: a flat set in which each of the names has finitely many values.
        names: in the order in which they take values.
    """
    if piece.is_empty():
        return
    levels = [_bounds(piece, names[: at + 1], names[at]) for at in range(len(names))]
    start: dict[str, Any] = {"": np.zeros(1, np.int64)}
    for block in _extended(start, list(zip(names, levels, strict=True))):
        block.pop("")
        yield block


def _bounds(piece: isl.BasicSet, known: Sequence[str], name: str) -> list[LinearForm]:
    """Return forms that are not negative, and have the last of some names in them."""
    found: list[LinearForm] = []
    others = [n for n in flat_names(piece) if n not in known]
    # Without floors there are more values, but one interval of them.
    (rest,) = project_out(piece.remove_divs().to_set(), others).get_basic_sets()
    for constraint in rest.remove_divs().get_constraints():
        form = form_of_aff(constraint.get_aff())
        if name in form.terms:
            found += [form, -form] if constraint.is_equality() else [form]
    return found


def _extended(
    columns: dict[str, Any], levels: Sequence[tuple[str, list[LinearForm]]]
) -> Iterator[dict[str, Any]]:
    if not levels:
        yield columns
        return
    (name, bounds), *rest = levels
    low, high = _range(bounds, name, columns)
    ends = np.cumsum(np.maximum(high - low + 1, 0))
    total = int(ends[-1]) if len(ends) else 0
    for begin in range(0, total, _AT_ONCE):
        at = np.arange(begin, min(begin + _AT_ONCE, total))
        row = np.searchsorted(ends, at, side="right")
        value = high[row] - (ends[row] - 1 - at)
        yield from _extended({**selected(columns, row), name: value}, rest)


def _range(bounds: Sequence[LinearForm], name: str, columns: Columns) -> tuple[Any, Any]:
    """Return the least and the greatest value of a name, for each point."""
    low: Any = None
    high: Any = None
    for form in bounds:
        factor = form.terms[name]
        rest = values_of(form - LinearForm(0, {name: factor}), columns)
        if factor > 0:
            least = -(rest // factor)
            low = least if low is None else np.maximum(low, least)
        else:
            greatest = rest // -factor
            high = greatest if high is None else np.minimum(high, greatest)
    return low, high


# --- forms at many points


def values_of(form: LinearForm, columns: Columns) -> Any:
    """Return the values of an affine form at many points, exactly."""
    dtype = _dtype_for(form, columns)
    found = np.full(len(next(iter(columns.values()))), form.constant, dtype)
    for term, factor in form.terms.items():
        found = found + factor * _term(term, columns).astype(dtype, copy=False)
    return found


def _term(term: Term, columns: Columns) -> Any:
    if isinstance(term, FloorTerm):
        return values_of(term.numerator, columns) // term.divisor
    return columns[term]


def _size(term: Term, columns: Columns) -> int:
    """Return what the absolute values of a term do not exceed."""
    if isinstance(term, FloorTerm):
        return _form_size(term.numerator, columns)
    column = columns[term]
    return max(abs(int(column.min())), abs(int(column.max())), 1) if len(column) else 1


def _form_size(form: LinearForm, columns: Columns) -> int:
    return abs(form.constant) + sum(abs(c) * _size(t, columns) for t, c in form.terms.items())


def _dtype_for(form: LinearForm, columns: Columns) -> Any:
    return np.int64 if _form_size(form, columns) < _SAFE else object


def inside(columns: Columns, bounds: Sequence[LinearForm]) -> dict[str, Any]:
    """Return the points at which forms are not negative."""
    points = dict(columns)
    for bound in bounds:
        points = selected(points, values_of(bound, points) >= 0)
    return points


def summed_up(
    cases: Sequence[tuple[tuple[LinearForm, ...], QuasiPolynomial]], scale: int, columns: Columns
) -> int:
    """Return the sum of cases over many points, times a number.

    Parameters:
        cases: each a polynomial that counts where some forms are not negative; all are added.
        scale: makes integers of the coefficients of the polynomials.
        columns: the points.
    """
    total = 0
    for bounds, polynomial in cases:
        points = inside(columns, bounds)
        for monomial, factor in polynomial.terms.items():
            total += int(factor * scale) * _sum_of_products(monomial, points)
    return total


def _sum_of_products(monomial: Sequence[Term], columns: Columns) -> int:
    count = len(next(iter(columns.values())))
    size = 1
    for term in monomial:
        size *= _size(term, columns)
    product = np.ones(count, np.int64 if size < _SAFE else object)
    for term in monomial:
        product = product * _term(term, columns)
    return int(product.sum()) if count else 0
