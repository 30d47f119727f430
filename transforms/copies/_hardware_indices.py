"""Hardware indices: the number of a work item, or a group, along its axis."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import islpy as isl

from polygen.analysis.access.accesses import touched
from polygen.analysis.access.domains import domain_of, domain_temporaries, with_surrounding
from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.integers.isl_affine import (
    form_of_aff,
    is_negative_somewhere,
    pieces,
    pw_aff_expression,
    to_val,
)
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.integers.moving_box import tile_axis
from polygen.errors import NotSavable
from polygen.ir import expression as ex
from polygen.ir.domain import Domain, project_out, rename_dimension, unflatten
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.tags import ForTag, LocalTag
from polygen.source import caller_location

_SET = isl.dim_type.set


def _values(kernel: Kernel, iname: str) -> isl.Set:
    around = with_surrounding(kernel, (iname,))
    flat = project_out(domain_of(kernel, around), sorted(around - {iname}))
    return unflatten(flat, (iname,))


def _first(kernel: Kernel, iname: str) -> LinearForm | None:
    """Return the first value of an iname, if it is an affine function of parameters."""
    forms = dict.fromkeys(form_of_aff(a) for _, a in pieces(_values(kernel, iname).dim_min(0)))
    if len(forms) != 1 or domain_temporaries(kernel, with_surrounding(kernel, (iname,))):
        return None
    return next(iter(forms))


def number_on_axis(kernel: Kernel, iname: str) -> Expression:
    """Return the index on its axis in terms of an iname.

    Raises:
        NotSavable: if its first value is no affine function of parameters.
    """
    first = _first(kernel, iname)
    if first is None:
        raise NotSavable(
            f"'{iname}' does not begin at an affine function of parameters: which work item has "
            "which value cannot be said",
            where=caller_location(),
            remedy=f"let '{iname}' begin at a constant, with a condition on instructions",
        )
    return (LinearForm.of_name(iname) - first).expression()


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


def written_elements(kernel: Kernel, name: str, inames: Sequence[str]) -> isl.Set:
    """Return the elements of a temporary that a work item, or a group, writes, or may write.

    Parameters:
        kernel: the kernel, without rules.
        name: the temporary.
        inames: those that say which work item; its parameters are these, and sizes.
    """
    on_axis = {kernel.tags[i]: i for i in inames}
    known = domain_of(kernel, with_surrounding(kernel, inames))
    found: list[isl.Set] = []
    for access in (a for w in kernel.writers.get(name, ()) for a in touched(kernel, w.id)[name]):
        if not access.is_write:
            continue
        written = access.relation
        for other in sorted(access.inames):
            here = on_axis.get(kernel.tags.get(other, ForTag()))
            if here is None or _first(kernel, here) != _first(kernel, other):
                written = project_out(written, (other,))
            elif here != other:
                written = rename_dimension(written, other, here)
        found.append(written)
    elements = reduce(isl.Set.union, found)
    for axis, extent in enumerate(kernel.array(name).shape or ()):
        assert isinstance(extent, int)  # of what is private or local
        elements = elements.lower_bound_val(_SET, axis, isl.Val(0))
        elements = elements.upper_bound_val(_SET, axis, to_val(extent - 1))
    return elements.coalesce().gist_params(known)


def domain_over(elements: isl.Set, inames: Sequence[str]) -> tuple[Domain, ...]:
    """Return the domain in which inames run over a set; none without inames."""
    if not inames:
        return ()
    for axis, iname in enumerate(inames):
        elements = elements.set_dim_name(_SET, axis, iname)
    return (Domain(elements.drop_unused_params()),)
