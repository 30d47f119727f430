"""Pairs of instances: sets over the inames of two instances at once.

The second instance's inames have a suffix.  All sets are flat (see `polygen.ir.domain`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache, reduce

import islpy as isl

from polygen.analysis.access import Access, accesses
from polygen.analysis.order import Piece
from polygen.errors import InternalError
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.domain import flat_names
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel, per_kernel
from polygen.ir.tags import GroupTag, LocalTag, is_parallel

_PARAM = isl.dim_type.param
OTHER = "_other"


@lru_cache(maxsize=4096)
def _compared(first: str, operator: str, second: str) -> isl.Set:
    return isl.Set(f"[{first}, {second}] -> {{ : {first} {operator} {second} }}")


def equal(iname: str) -> isl.Set:
    """Return the pairs that agree in an iname."""
    return _compared(iname, "=", iname + OTHER)


def less(iname: str) -> isl.Set:
    """Return the pairs of which the first instance has the smaller value of an iname."""
    return _compared(iname, "<", iname + OTHER)


def greater(iname: str) -> isl.Set:
    """Return the pairs of which the first instance has the larger value of an iname."""
    return _compared(iname, ">", iname + OTHER)


def piece_set(pairs: isl.Set, piece: Piece) -> isl.Set:
    """Return those of the pairs that are in a piece of the order."""
    wanted = [equal(iname) for iname in piece.equal]
    if piece.less is not None:
        wanted.append(less(piece.less))
    return reduce(isl.Set.intersect, wanted, pairs)


def renamed(flat: isl.Set, inames: Iterable[str]) -> isl.Set:
    """Return the set as one of second instances: with the suffix at the inames."""
    for iname in inames:
        position = flat.find_dim_by_name(_PARAM, iname)
        if position >= 0:
            flat = flat.set_dim_name(_PARAM, position, iname + OTHER)
    return flat


# --- conflicts


def address_space(kernel: Kernel, name: str) -> AddressSpace:
    """Return who shares a variable; arguments are everyone's."""
    variable = kernel.variables[name]
    if isinstance(variable, TemporaryVariable):
        return variable.address_space
    return AddressSpace.GLOBAL


@per_kernel
def touched(kernel: Kernel, insn_id: str) -> dict[str, tuple[Access, ...]]:
    """Return the accesses of an instruction by variable, those of inames and sizes left out."""
    found: dict[str, tuple[Access, ...]] = {}
    for access in accesses(kernel, insn_id):
        found[access.name] = (*found.get(access.name, ()), access)
    return found


def users(kernel: Kernel, name: str) -> list[Assignment]:
    """Return the instructions that touch a variable."""
    return [insn for insn in kernel.instructions if name in touched(kernel, insn.id)]


def conflicts(
    kernel: Kernel, first: str, second: str, name: str
) -> Iterator[tuple[Access, Access, isl.Set]]:
    """Yield the pairs of instances that touch one element of a variable, one of them writing.

    An instruction's instance is among its own pairs.
    """
    for a in touched(kernel, first).get(name, ()):
        for b in touched(kernel, second).get(name, ()):
            if a.is_write or b.is_write:
                pairs = a.relation.intersect(renamed(b.relation, kernel.inames)).params()
                yield a, b, _same_copy(kernel, (first, second), name, pairs)


def _same_copy(kernel: Kernel, insns: tuple[str, str], name: str, pairs: isl.Set) -> isl.Set:
    """Keep the pairs that touch the same copy: each work item has its own private variables."""
    kinds: tuple[type, ...] = {
        AddressSpace.GLOBAL: (),
        AddressSpace.LOCAL: (GroupTag,),
        AddressSpace.PRIVATE: (GroupTag, LocalTag),
    }[address_space(kernel, name)]
    if not kinds:
        return pairs
    axes = [_axes(kernel, insn) for insn in insns]
    for tag in axes[0].keys() & axes[1].keys():
        if isinstance(tag, kinds):
            here, there = axes[0][tag], axes[1][tag]
            pairs = pairs.intersect(_compared(here, "=", there + OTHER))
    return pairs


def _axes(kernel: Kernel, insn_id: str) -> dict[object, str]:
    inames = kernel.instruction(insn_id).within_inames
    return {kernel.tags[i]: i for i in inames if is_parallel(kernel.tags.get(i))}


def witness(pairs: isl.Set) -> dict[str, int]:
    """Return one pair, and the parameters it exists for, by name.

    The set is not empty.  Small values are preferred: they are easier to follow.
    """
    for bound in (4, 16, None):
        found = pairs if bound is None else _within(pairs, bound)
        point = found.sample_point()
        if not point.is_void():
            return {
                name: point.get_coordinate_val(_PARAM, position).to_python()
                for position, name in enumerate(flat_names(found))
            }
    raise InternalError("a set that is not empty has no point")


def _within(pairs: isl.Set, bound: int) -> isl.Set:
    for position in range(pairs.dim(_PARAM)):
        pairs = pairs.lower_bound_val(_PARAM, position, isl.Val(-bound))
        pairs = pairs.upper_bound_val(_PARAM, position, isl.Val(bound))
    return pairs
