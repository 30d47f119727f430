"""Maps of inames from equations, for the transformations that are a `map_domain`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

import islpy as isl

from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.rearrangement.iname_bijection import was
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import unflatten
from polygen.ir.expression import Expression

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


def map_to(olds: Sequence[str], values: Mapping[str, Expression]) -> isl.Map:
    """Return the map from inames to others that are affine in them.

    Parameters:
        olds: its inputs.
        values: its outputs in terms of the inputs, in order; a name may be an input's, too.
    """
    marked = {i: ex.Variable(was(i)) for i in olds}
    equations = [
        ex.Comparison(ex.Variable(new), "==", walk.substitute(value, marked))
        for new, value in values.items()
    ]
    return map_where(olds, tuple(values), equations)


def map_where(olds: Sequence[str], news: Sequence[str], equations: Iterable[Expression]) -> isl.Map:
    """Return the map of which affine conditions hold, where inputs are named as `was` says."""
    conditions = [condition_set(e) for e in equations]
    known = [c for c in conditions if c is not None]
    if len(known) < len(conditions):
        raise InternalError("an equation between inames is not affine")
    points = unflatten(reduce(isl.Set.intersect, known), [*(was(i) for i in olds), *news])
    found = isl.Map.from_range(points).move_dims(_IN, 0, _OUT, 0, len(olds))
    for position, iname in enumerate(olds):
        found = found.set_dim_name(_IN, position, iname)
    return found
