"""The elements of temporaries that a work item, or a group, has to save."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import islpy as isl

from polygen.analysis.access.accesses import touched
from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.access.hardware_indices import first_on_axis, number_on_axis
from polygen.analysis.integers.isl_affine import to_val
from polygen.errors import NotSavable
from polygen.ir.domain import Domain, project_out, rename_dimension
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.tags import ForTag
from polygen.source import caller_location

_SET = isl.dim_type.set


def saved_number(kernel: Kernel, iname: str) -> Expression:
    """Return the index on its axis in terms of an iname.

    Raises:
        NotSavable: if its first value is no affine function of parameters.
    """
    number = number_on_axis(kernel, iname)
    if number is None:
        raise NotSavable(
            f"'{iname}' does not begin at an affine function of parameters: which work item has "
            "which value cannot be said",
            where=caller_location(),
            remedy=f"let '{iname}' begin at a constant, with a condition on instructions",
        )
    return number


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
            if here is None or first_on_axis(kernel, here) != first_on_axis(kernel, other):
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
