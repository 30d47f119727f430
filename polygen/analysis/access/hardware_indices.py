"""Hardware indices: the number of a work item, or a group, along its axis.

Where an axis begins, the inames on it say: each at the least value that it has.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polygen.analysis.access.domains import domain_of, domain_temporaries, with_surrounding
from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.integers.isl_affine import (
    form_of_aff,
    is_negative_somewhere,
    pieces,
    pw_aff_expression,
)
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.integers.moving_box import tile_axis
from polygen.ir import expression as ex
from polygen.ir.domain import project_out, unflatten
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.tags import LocalTag


def first_on_axis(kernel: Kernel, iname: str) -> LinearForm | None:
    """Return the first value of an iname; None if it is no affine function of parameters."""
    forms = dict.fromkeys(form_of_aff(a) for _, a in pieces(_values(kernel, iname).dim_min(0)))
    if len(forms) != 1 or domain_temporaries(kernel, with_surrounding(kernel, (iname,))):
        return None
    return next(iter(forms))


def number_on_axis(kernel: Kernel, iname: str) -> Expression | None:
    """Return the index on its axis in terms of an iname; None as `first_on_axis` does."""
    first = first_on_axis(kernel, iname)
    return None if first is None else (LinearForm.of_name(iname) - first).expression()


def axis_count(kernel: Kernel, iname: str) -> Expression:
    """Return how many indices an axis has because of an iname."""
    values = _values(kernel, iname)
    axis = tile_axis(values) if isinstance(kernel.tags[iname], LocalTag) else None
    if axis is not None:
        return (axis.extent - 1) * axis.stride + 1
    last = pw_aff_expression(values.dim_max(0).sub(values.dim_min(0)))
    form = linear_form(last)
    if form is not None and not is_negative_somewhere(known_parameters(kernel), form + 1):
        return (form + 1).expression()
    count = ex.sum_of(last, 1)
    return ex.Max((0, count))


def largest(counts: Sequence[Expression]) -> Expression:
    """Return the largest of several numbers."""
    different = tuple(dict.fromkeys(counts))
    return different[0] if len(different) == 1 else ex.Max(different)


def _values(kernel: Kernel, iname: str) -> isl.Set:
    around = with_surrounding(kernel, (iname,))
    flat = project_out(domain_of(kernel, around), sorted(around - {iname}))
    return unflatten(flat, (iname,))
