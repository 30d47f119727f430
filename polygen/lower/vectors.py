"""Vectors whose components several work items write.

Compilers may write a component by reading the vector, and writing all of it: what another work item
has written to it in between is lost.  Proofs and barriers know of elements alone, so where that can
happen, components are written as the numbers that they are.  So are those of vectors of three,
which take the place of four: what is there beside them is nobody's business.
"""

from __future__ import annotations

from itertools import combinations_with_replacement

import islpy as isl

from polygen.analysis.access.accesses import Access, touched
from polygen.analysis.pairs.instance_pairs import equal, renamed
from polygen.ir.array import AddressSpace, GlobalArg, TemporaryVariable
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Vector, vector_length
from polygen.ir.tags import GroupTag, HardwareTag, LocalTag


def shared_vectors(kernel: Kernel) -> frozenset[str]:
    """Return the arrays of vectors, components of which are written as numbers.

    Of others than those of three, several work items may write components of one vector.
    """
    axes = {tag for tag in kernel.tags.values() if isinstance(tag, GroupTag | LocalTag)}
    found: set[str] = set()
    for array in (*kernel.arguments, *kernel.temporaries):
        if not isinstance(array, GlobalArg | TemporaryVariable):
            continue
        length = vector_length(array)
        if length not in (None, 1) and array.name in kernel.writers:
            space = kernel.address_space(array.name)
            local = space is AddressSpace.LOCAL
            seen = {tag for tag in axes if not (local and isinstance(tag, GroupTag))}
            shared = length == 3 or _is_shared(kernel, array.name, seen)
            if space is not AddressSpace.PRIVATE and shared:
                found.add(array.name)
    return frozenset(found)


def _is_shared(kernel: Kernel, name: str, axes: set[HardwareTag]) -> bool:
    writes = [
        access
        for insn in kernel.writers[name]
        for access in touched(kernel, insn.id).get(name, ())
        if access.is_write
    ]
    along = (kernel.array(name).dim_tags or ()).index(Vector())
    return any(
        _may_meet(kernel, a, b, along, axes) for a, b in combinations_with_replacement(writes, 2)
    )


def _may_meet(kernel: Kernel, a: Access, b: Access, along: int, axes: set[HardwareTag]) -> bool:
    """Tell whether two work items may write to one vector by these accesses."""
    first, second = (x.relation.project_out(isl.dim_type.set, along, 1) for x in (a, b))
    pairs = first.intersect(renamed(second, kernel.inames)).params()
    for tag in axes:
        own, other = (
            {iname for iname in x.inames if kernel.tags.get(iname) == tag} for x in (a, b)
        )
        # One that lacks the axis is executed by one or by all of the work items along it.
        same = equal(min(own)) if own and own == other else None
        apart = pairs if same is None else pairs.subtract(same)
        if not apart.is_empty():
            return True
    return False
