"""Instances of instructions as the rows of a table, once sizes and data are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl
import numpy as np

from polygen.analysis.affine import LinearForm
from polygen.analysis.constraint_forms import constraint_forms
from polygen.analysis.domains import domain_of, surrounding_inames
from polygen.analysis.isl_affine import set_condition
from polygen.ir.domain import project_out
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.runtime.table_values import Column, NotKnown, Rows, Values

_MOST_ROWS = 20_000_000


def instances(
    kernel: Kernel, inames: frozenset[str], conditions: Sequence[Expression], values: Values
) -> Rows:
    """Return the points of loop domains at which conditions hold.

    Parameters:
        kernel: the kernel.
        inames: those of an instruction, and of a reduction in it.
        conditions: what has to hold.
        values: evaluates what bounds and conditions mention.

    Raises:
        NotKnown: if the kernel computes bounds or conditions, or if there are too many points.
        Outside: if these need an element that does not exist.
    """
    domain = domain_of(kernel, inames)
    if domain.is_empty():
        return Rows(0, {iname: np.zeros(0, np.int64) for iname in inames})
    rows = Rows(1, {})
    order = _outermost_first(kernel, inames)
    for number, iname in enumerate(order):
        rows = _with_iname(project_out(domain, order[number + 1 :]), iname, values, rows)
    rows = values.where(set_condition(domain), rows, integers=True)
    for condition in conditions:
        rows = values.where(condition, rows)
    return rows


def _outermost_first(kernel: Kernel, inames: frozenset[str]) -> list[str]:
    """Sort inames so that each comes after those that its bounds mention."""
    return sorted(
        (iname for iname in kernel.inames if iname in inames),
        key=lambda iname: len(surrounding_inames(kernel, iname)),
    )


def _with_iname(domain: isl.Set, iname: str, values: Values, rows: Rows) -> Rows:
    """Return the rows, each once for every value that an iname may have beside the others."""
    lower, upper = (_bound(domain, iname, values, rows, upper=x) for x in (False, True))
    counts = np.maximum(upper - lower + 1, 0)
    total = int(counts.sum())
    if total > _MOST_ROWS:
        raise NotKnown(f"more than {_MOST_ROWS} instances")
    source = np.repeat(np.arange(rows.count), counts)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    found = rows.take(source)
    return Rows(total, {**found.columns, iname: lower[source] + np.arange(total) - first})


def _bound(domain: isl.Set, iname: str, values: Values, rows: Rows, *, upper: bool) -> Column:
    """Return what an iname is at most, or at least, for each row."""
    found: list[Column] = []
    for part in domain.get_basic_sets():
        bounds = [
            column // -factor if upper else -(column // factor)
            for factor, rest in _constraints(part.remove_divs(), iname)
            if (factor < 0) is upper
            for column in (values.column(rest.expression(), rows).astype(np.int64),)
        ]
        if not bounds:
            raise NotKnown(f"the bounds of {iname}")
        found.append((np.minimum if upper else np.maximum).reduce(bounds))
    bound: Column = (np.maximum if upper else np.minimum).reduce(found)
    return bound


def _constraints(part: isl.BasicSet, iname: str) -> Iterator[tuple[int, LinearForm]]:
    """Yield pairs of which ``factor*iname + rest`` is not negative."""
    for constraint in constraint_forms(part, iname):
        form = constraint.form
        factor = form.terms.get(iname, 0)
        rest = form - LinearForm(0, {iname: factor}) if factor else form
        if factor:
            yield factor, rest
            if constraint.is_equality:
                yield -factor, -rest
