"""Maps from new inames to old ones that are one to one, as the digits of the old ones show.

``16*i_outer + i_inner`` is each integer once, for all `i_outer` and for 0 <= i_inner < 16: the
coefficients are 1 and multiples of each other, and each new iname but that of the largest has as
many values, from 0 on, as the next coefficient is larger.  A negative coefficient counts from the
other end.  Where other inames that the step leaves as they are, or sizes, are added, that is so
for each value of these.  So a map in which each old iname that moved has digits of its own is one
to one from the points at which the digits are in these ranges onto all integers, and from those
that it maps into a set onto that set.  It remains to see that the new points are just these: that
is one comparison of sets, most often of equal ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from itertools import pairwise

import islpy as isl

from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.integers.isl_affine import to_aff
from polygen.ir import expression as ex
from polygen.ir.domain import flat_names, project_out, rename_dimension, same_points
from polygen.ir.expression import Expression

_PARAM = isl.dim_type.param


def are_plainly_digits(
    before: isl.Set, after: isl.Set, values: Mapping[str, Expression], inames: Set[str]
) -> bool:
    """Tell whether it shows that a map is one to one from new points onto old ones.

    Parameters:
        before: the old points, as a flat set.
        after: the new ones.
        values: what each old iname is in terms of the new ones.
        inames: the new inames that the values mention.
    """
    unmoved = {iname for iname, value in values.items() if value == ex.Variable(iname)}
    used = {*flat_names(before)}
    for iname, value in values.items():
        if iname in unmoved:
            continue
        form = linear_form(value)
        digits = None if form is None else _digits(form, inames - unmoved)
        if form is None or digits is None or not used.isdisjoint(digits):
            return False
        used.update(digits)
        before = _in_digits(before, iname, form, digits)
    return same_points(before, after)


def _digits(form: LinearForm, inames: Set[str]) -> dict[str, int] | None:
    """Return the digits of a form, each with how many values it has; None if it has none.

    Those with smaller coefficients come first; the last has all values, and 0 here.
    """
    found: list[tuple[int, str]] = []
    for term, coefficient in form.terms.items():
        if isinstance(term, str):
            if term in inames:
                found.append((abs(coefficient), term))
        elif not inames.isdisjoint(term.numerator.names()):
            return None
    found.sort()
    if not found or found[0][0] != 1:
        return None
    sizes: dict[str, int] = {}
    for (unit, digit), (more, _) in pairwise(found):
        sizes[digit], rest = divmod(more, unit)
        if rest:
            return None
    return {**sizes, found[-1][1]: 0}


def _in_digits(flat: isl.Set, iname: str, form: LinearForm, digits: Mapping[str, int]) -> isl.Set:
    """Return a flat set with the digits of an iname instead of it."""
    *others, last = digits
    if form == LinearForm.of_name(last):
        return rename_dimension(flat, iname, last)
    flat = flat.intersect(to_aff(form - LinearForm.of_name(iname)).zero_basic_set().to_set())
    for digit in others:
        position = flat.find_dim_by_name(_PARAM, digit)
        flat = flat.lower_bound_val(_PARAM, position, isl.Val(0))
        flat = flat.upper_bound_val(_PARAM, position, isl.Val(digits[digit] - 1))
    return project_out(flat, (iname,))
