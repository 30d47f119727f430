"""Sums of integers of which some terms are data: ``s + i//8`` and ``i_outer + s``, in a subscript.

They are computed without rounding, so the order of terms does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping

from polygen.analysis.affine import LinearForm, linear_form
from polygen.analysis.context import Context, Frame
from polygen.ir.expression import Expression


def data_terms(old: Expression, new: Expression, at: Context) -> tuple[str, ...]:
    """Return the scalars of which two subscripts are the same sum, if these have the same values.

    None of them, if they differ in something else, too.
    """
    forms = linear_form(old), linear_form(new)
    if forms[0] is None or forms[1] is None:
        return ()
    was, data = _without_data(forms[0], at.old)
    now, other_data = _without_data(forms[1], at.new)
    values = at.old.integer(was), at.new.integer(now)
    if data != other_data or values[0] is None or values[1] is None:
        return ()
    same = at.points.intersect(values[0].ne_set(values[1])).is_empty()
    return tuple(sorted(data)) if same else ()


def _without_data(form: LinearForm, frame: Frame) -> tuple[Expression, Mapping[str, int]]:
    """Return what of a sum is no data, and how often each scalar is in it that is."""
    data = {n: c for n, c in form.terms.items() if isinstance(n, str) and n not in frame.integers}
    rest = {term: c for term, c in form.terms.items() if term not in data}
    return LinearForm(form.constant, rest).expression(), data
