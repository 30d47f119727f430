"""Finds the copy of a variable that an instance touches.

There is one of a private temporary for each work item, and one of a local temporary for each
group: so temporaries have an index for each axis of the hardware that the text does not show.  It
is the distance of an iname from the first value that it ever has.  A private temporary all uses of
which are in the lanes of an iname (``ilp``, ``vec``), which no subscript of it mentions, has one
for each lane, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import islpy as isl

from polygen.analysis.access.accesses import references_by_name
from polygen.analysis.access.domains import domain_of, domain_temporaries, with_surrounding
from polygen.analysis.access.instance_map import InstanceMap
from polygen.analysis.integers.constraint_forms import constraint_forms
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.second_instance import in_other
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.domain import flat_names, project_out, unflatten, universe
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel
from polygen.ir.tags import GroupTag, InameTag, LocalTag, is_lane

_PARAM = isl.dim_type.param
_SET = isl.dim_type.set
FIRST = "_first_"

_INDEXED_BY: Mapping[AddressSpace, tuple[type, ...]] = {
    AddressSpace.GLOBAL: (),
    AddressSpace.LOCAL: (GroupTag,),
    AddressSpace.PRIVATE: (GroupTag, LocalTag),
}


# What tells copies apart: an axis of the hardware, or the iname of lanes.
Axis: TypeAlias = InameTag | str


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


def lanes_of(kernel: Kernel, name: str) -> tuple[str, ...]:
    """Return the inames for each lane of which a variable has a copy, in the kernel's order.

    Without them, what lanes write would be in each other's way.  A bound of a loop is the same for
    all lanes.
    """
    tagged = _lane_inames(kernel)
    return _lanes_of(kernel, name) if tagged else ()


@per_kernel
def _lane_inames(kernel: Kernel) -> tuple[str, ...]:
    return tuple([i for i in kernel.inames if is_lane(kernel.tags.get(i))])


@per_kernel
def _lanes_of(kernel: Kernel, name: str) -> tuple[str, ...]:
    variable = kernel.variables.get(name)
    if (
        not isinstance(variable, TemporaryVariable)
        or kernel.address_space(name) is not AddressSpace.PRIVATE
        or any(name in domain.parameters for domain in kernel.domains)
    ):
        return ()
    uses = references_by_name(kernel).get(name, ())
    mentioned = {n for use in uses for i in use.index for n in walk.free_variables(i)}
    return tuple(
        [
            iname
            for iname in _lane_inames(kernel)
            if uses and iname not in mentioned and all(iname in use.inames for use in uses)
        ]
    )


def has_copies(kernel: Kernel, name: str, iname: str) -> bool:
    """Tell whether instances with other values of an iname have other copies of a variable."""
    on_axis = isinstance(kernel.tags.get(iname), _INDEXED_BY[kernel.address_space(name)])
    return on_axis or iname in lanes_of(kernel, name)


def axes(kernel: Kernel, insn_id: str, name: str) -> dict[Axis, str]:
    """Return the inames of an instruction that tell copies of a variable apart, by axis."""
    found = _axes(kernel, insn_id, kernel.address_space(name))
    return found | {iname: iname for iname in lanes_of(kernel, name)}


def _axes(kernel: Kernel, insn_id: str, space: AddressSpace) -> dict[Axis, str]:
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
    return _same_copy(kernel, insns, [axes(kernel, insn, name) for insn in insns], instances)


def same_copy_in(
    kernel: Kernel, insns: tuple[str, str], space: AddressSpace, instances: InstanceMap
) -> SameCopy:
    """Return the pairs that touch one copy of a variable that is in an address space.

    Copies for lanes are left out: no address space has fewer.

    Parameters are those of `same_copy`, with the space instead of the variable.
    """
    return _same_copy(kernel, insns, [_axes(kernel, insn, space) for insn in insns], instances)


def _same_copy(
    kernel: Kernel,
    insns: tuple[str, str],
    found: Sequence[Mapping[Axis, str]],
    instances: InstanceMap,
) -> SameCopy:
    first, second = found
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
    """Return a flat set in which a name has the first value of an iname; None if data decides.

    Where data bounds it, that is the least value that it has for any data: axes begin there.
    """
    around = with_surrounding(kernel, (iname,))
    flat = domain_of(kernel, around)
    others = domain_temporaries(kernel, around).union(around) - {iname}
    values = unflatten(project_out(flat, [n for n in flat_names(flat) if n in others]), (iname,))
    if others - around and not values.dim_has_lower_bound(_SET, 0):
        return None
    first = values.lexmin().set_dim_name(_SET, 0, FIRST + iname)
    return first.move_dims(_PARAM, first.dim(_PARAM), _SET, 0, 1).params()


@per_kernel
def at_other_index(kernel: Kernel, first: str, second: str) -> isl.Set | None:
    """Return the pairs with different indices along an axis that two inames are on.

    None if it is not known where the axis begins: data, or loops around, decide.
    """
    plain = [plain_first(kernel, iname) for iname in (first, second)]
    if plain[0] is not None and plain[1] is not None:
        left = ex.sum_of(ex.Variable(first), plain[1])
        right = ex.sum_of(in_other(kernel, ex.Variable(second)), plain[0])
        same = condition_set(ex.Comparison(left, "==", right))
        assert same is not None
        return same.complement()
    begins = [_steady_first(kernel, iname) for iname in (first, second)]
    if begins[0] is None or begins[1] is None:
        return None
    left = ex.sum_of(ex.Variable(first), ex.Variable(FIRST + second))
    right = ex.sum_of(in_other(kernel, ex.Variable(second)), ex.Variable(FIRST + first))
    found = condition_set(ex.Comparison(left, "==", right))
    assert found is not None
    found = found.intersect(begins[0]).intersect(begins[1])
    return project_out(found, (FIRST + first, FIRST + second)).complement()


@per_kernel
def plain_first(kernel: Kernel, iname: str) -> int | None:
    """Return the first value of an iname, if constants alone are what bounds it from below."""
    home = kernel.home_domains[iname].flat
    if home.n_basic_set() != 1 or home.involves_locals():
        return None
    if domain_temporaries(kernel, with_surrounding(kernel, (iname,))):
        return None
    found: list[int] = []
    for constraint in constraint_forms(home.get_basic_sets()[0], iname):
        form = constraint.form
        if constraint.is_equality or (form.terms[iname] > 0 and len(form.terms) > 1):
            return None
        if form.terms[iname] > 0:
            found.append(-(form.constant // form.terms[iname]))
    return max(found, default=None)


def _steady_first(kernel: Kernel, iname: str) -> isl.Set | None:
    """Return a flat set in which a name has the first value of an iname, if all loops agree."""
    around = with_surrounding(kernel, (iname,))
    if domain_temporaries(kernel, around):
        return None
    values = unflatten(domain_of(kernel, around), (iname,))
    first = values.lexmin().set_dim_name(_SET, 0, FIRST + iname)
    flat = first.move_dims(_PARAM, first.dim(_PARAM), _SET, 0, 1).params()
    found = unflatten(project_out(flat, around - {iname}), (FIRST + iname,))
    if not found.is_subset(found.lexmin()):
        return None
    return found.move_dims(_PARAM, found.dim(_PARAM), _SET, 0, 1).params()
