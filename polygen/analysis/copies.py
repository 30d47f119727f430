"""Which copy of a variable an instance touches.

There is one of a private temporary for each work item, and one of a local temporary for each
group: so temporaries have an index for each axis of the hardware that the text does not show.  It
is the distance of an iname from the first value that it ever has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import islpy as isl

from polygen.analysis.domains import domain_of, domain_temporaries, with_surrounding
from polygen.analysis.instance_map import InstanceMap
from polygen.analysis.isl_affine import condition_set
from polygen.analysis.second import in_other
from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace
from polygen.ir.domain import flat_names, project_out, unflatten, universe
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel, per_kernel
from polygen.ir.tags import GroupTag, InameTag, LocalTag

_PARAM = isl.dim_type.param
_SET = isl.dim_type.set
FIRST = "_first_"

_INDEXED_BY: Mapping[AddressSpace, tuple[type, ...]] = {
    AddressSpace.GLOBAL: (),
    AddressSpace.LOCAL: (GroupTag,),
    AddressSpace.PRIVATE: (GroupTag, LocalTag),
}


@dataclass(frozen=True)
class SameCopy:
    """The pairs of instances that touch one copy of a variable.

    Attributes:
        possible: a flat set of pairs: outside of it, the copies are two.
        certain: whether, inside of it, the copy is one.
        complete: whether the second touches no copy but the first's.  If it lacks an axis that
            the first has, it finds what the first wrote in one of its copies only.
    """

    possible: isl.Set
    certain: bool
    complete: bool

    def finds(self, pairs: isl.Set) -> isl.Set:
        """Return those of the pairs of which the second certainly reads what the first wrote."""
        found = pairs.intersect(self.possible)
        return found if self.certain and self.complete else found.subtract(found)


def has_copies(kernel: Kernel, name: str, iname: str) -> bool:
    """Tell whether instances with other values of an iname have other copies of a variable."""
    return isinstance(kernel.tags.get(iname), _INDEXED_BY[kernel.address_space(name)])


def axes(kernel: Kernel, insn_id: str, name: str) -> dict[InameTag, str]:
    """Return the inames of an instruction that tell copies of a variable apart, by axis."""
    return _axes(kernel, insn_id, kernel.address_space(name))


def _axes(kernel: Kernel, insn_id: str, space: AddressSpace) -> dict[InameTag, str]:
    inames, tags = kernel.instruction(insn_id).within_inames, _INDEXED_BY[space]
    return {kernel.tags[i]: i for i in inames if isinstance(kernel.tags.get(i), tags)}


def same_copy(
    kernel: Kernel, insns: tuple[str, str], name: str, instances: InstanceMap
) -> SameCopy:
    """Return the pairs that touch one copy of a variable.

    An instruction that lacks an axis touches the copies of all work items along it.

    Parameters:
        kernel: says which copies there are.
        insns: the instructions of the first and the second instance.
        name: the variable.
        instances: what inames of the kernel are in terms of those of the pairs.
    """
    return same_copy_in(kernel, insns, kernel.address_space(name), instances)


def same_copy_in(
    kernel: Kernel, insns: tuple[str, str], space: AddressSpace, instances: InstanceMap
) -> SameCopy:
    """Return the pairs that touch one copy of a variable that is in an address space.

    Parameters are those of `same_copy`, with the space instead of the variable.
    """
    first, second = (_axes(kernel, insn, space) for insn in insns)
    possible, certain = universe(), True
    for tag in sorted(first.keys() & second.keys(), key=str):
        here, there = first[tag], second[tag]
        left = instances.value(insns[0], here)
        right = in_other(kernel, instances.value(insns[1], there))
        pair = _same_index(kernel, (here, left), (there, right))
        if pair is None:
            certain = False
        else:
            possible = possible.intersect(pair)
    return SameCopy(possible, certain, first.keys() <= second.keys())


def _same_index(
    kernel: Kernel, first: tuple[str, Expression], second: tuple[str, Expression]
) -> isl.Set | None:
    """Return the pairs with one index along an axis, or None if that is not known.

    Parameters:
        kernel: the kernel.
        first: the iname on the axis that the first instance is within, and its value.
        second: the same of the second.
    """
    (here, left), (there, right) = first, second
    if here == there:
        return condition_set(ex.Comparison(left, "==", right))
    firsts = [first_of(kernel, here), first_of(kernel, there)]
    if firsts[0] is None or firsts[1] is None:
        return None
    left = ex.sum_of(left, ex.Variable(FIRST + there))
    right = ex.sum_of(right, ex.Variable(FIRST + here))
    found = condition_set(ex.Comparison(left, "==", right))
    if found is None:
        return None
    found = found.intersect(firsts[0]).intersect(firsts[1])
    return project_out(found, (FIRST + here, FIRST + there))


@per_kernel
def first_of(kernel: Kernel, iname: str) -> isl.Set | None:
    """Return a flat set in which a name has the first value of an iname; None if data decides."""
    around = with_surrounding(kernel, (iname,))
    if domain_temporaries(kernel, around):
        return None
    flat = domain_of(kernel, around)
    flat = project_out(flat, [n for n in flat_names(flat) if n in around and n != iname])
    first = unflatten(flat, (iname,)).lexmin().set_dim_name(_SET, 0, FIRST + iname)
    return first.move_dims(_PARAM, first.dim(_PARAM), _SET, 0, 1).params()
