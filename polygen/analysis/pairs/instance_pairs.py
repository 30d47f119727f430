"""Pairs of instances: sets over the inames of two instances at once.

The second instance's inames have a suffix.  All sets are flat (see `polygen.ir.domain`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce

import islpy as isl

from polygen.analysis.access.accesses import Access, touched, touched_names
from polygen.analysis.integers.isl_affine import condition_set, to_val
from polygen.analysis.integers.second_instance import OTHER
from polygen.analysis.order.instance_order import Piece
from polygen.analysis.pairs.exclusive_instances import never_both
from polygen.analysis.pairs.indirect_accesses import may_be_equal
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.atomicity import EXACT, MemoryScope
from polygen.ir.claims import Independent
from polygen.ir.domain import flat_names, flatten, universe
from polygen.ir.dtype import is_exact
from polygen.ir.instruction import Assigning, Instruction, KernelCall, MultiAssignment
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel

_PARAM = isl.dim_type.param


@lru_cache(maxsize=4096)
def _compared(first: str, operator: str, second: str) -> isl.Set:
    # Not from a text: isl reads i' as i.
    found = condition_set(ex.Comparison(ex.Variable(first), operator, ex.Variable(second)))
    if found is None:
        raise InternalError(f"'{first}' and '{second}' cannot be compared")
    return found


def equal(iname: str) -> isl.Set:
    """Return the pairs that agree in an iname."""
    return _compared(iname, "==", iname + OTHER)


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
    if piece.only is not None:
        wanted.append(piece.only)
    return reduce(isl.Set.intersect_params, wanted, pairs)


def renamed(flat: isl.Set, inames: Iterable[str] | Mapping[str, object]) -> isl.Set:
    """Return the set as one of second instances: with the suffix at the inames."""
    known: Container[str] = inames if isinstance(inames, Container) else frozenset(inames)
    for position in range(flat.dim(_PARAM)):  # there are fewer of these than of a kernel's inames
        name = flat.get_dim_name(_PARAM, position)
        if name is not None and name in known:
            flat = flat.set_dim_name(_PARAM, position, name + OTHER)
    return flat


# --- conflicts


@per_kernel
def users(kernel: Kernel, name: str) -> tuple[str, ...]:
    """Return the ids of the instructions that touch a variable."""
    return _all_users(kernel).get(name, ())


@per_kernel
def _all_users(kernel: Kernel) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for insn in kernel.instructions:
        for name in touched_names(kernel, insn.id):
            found.setdefault(name, []).append(insn.id)
    return {name: tuple(insn_ids) for name, insn_ids in found.items()}


def is_read(kernel: Kernel, name: str) -> bool:
    """Tell whether anything ever reads a variable; the caller reads arguments."""
    return not isinstance(kernel.variables[name], TemporaryVariable) or any(
        not access.is_write
        for insn in users(kernel, name)
        for access in touched(kernel, insn)[name]
    )


def is_shared(kernel: Kernel, name: str) -> bool:
    """Tell whether several work items have one copy of a variable."""
    return kernel.address_space(name) is not AddressSpace.PRIVATE


@dataclass(frozen=True)
class Conflict:
    """Pairs of instances that touch one element, one of them writing.

    Attributes:
        name: the variable.
        kind: ``"flow"`` (written, then read), ``"anti"`` (read, then written) or ``"output"``.
        certain: whether both touch it for certain; otherwise data decides.
        pairs: a flat set.
    """

    name: str
    kind: str
    certain: bool
    pairs: isl.Set


def in_conflict(kernel: Kernel, a: Access, b: Access) -> bool:
    """Tell whether the order of two accesses that touch one element matters.

    It does if one of them writes, unless both are part of atomic updates with one operation, or
    both claim that they may come in any order.
    """
    return (a.is_write or b.is_write) and not _commute(kernel, a, b)


def _commute(kernel: Kernel, a: Access, b: Access) -> bool:
    if a.reference is None or b.reference is None or a.name != b.name:
        return False
    operation, other = a.reference.update, b.reference.update
    if not (operation and other):
        return False
    insns = a.reference.insn, b.reference.insn
    if not all(_is_seen_by_all(kernel, insn, a.name) for insn in insns):
        return False
    if all(_is_claimed(insn, a.name) for insn in insns):
        return True
    if operation != other:
        return False
    return kernel.options.allow_reassociation or _is_exact(kernel, operation, a.name)


def _is_seen_by_all(kernel: Kernel, insn: Instruction, name: str) -> bool:
    """Tell whether an update is atomic for all that share a variable."""
    if isinstance(insn, KernelCall):
        parts = [part for part in insn.parts if name in part.written_names]
        return all(_is_seen_by_all(kernel, part, name) for part in parts)
    assert isinstance(insn, Assigning)
    assert insn.atomicity is not None
    scope = insn.atomicity.scope
    if kernel.address_space(name) is AddressSpace.GLOBAL:
        return scope in (MemoryScope.WORK_DEVICE, MemoryScope.ALL_DEVICES)
    return scope is not MemoryScope.WORK_ITEM


def _is_claimed(insn: Instruction, name: str) -> bool:
    """Tell whether updates of a variable are claimed to be right in any order."""
    if isinstance(insn, KernelCall):
        return all(_is_claimed(part, name) for part in insn.parts if name in part.written_names)
    return isinstance(insn, Assigning) and bool(insn.atomicity and insn.atomicity.any_order)


def could_claim(kernel: Kernel, insn_ids: Iterable[str], name: str) -> list[str]:
    """Return which updates of a variable could claim to be right in any order, and do not.

    None, if anything else than updates that return old values is among the instructions.

    Parameters:
        kernel: the kernel.
        insn_ids: the instructions.
        name: the variable.
    """
    found: list[str] = []
    for insn in map(kernel.instruction, dict.fromkeys(insn_ids)):
        if not isinstance(insn, MultiAssignment) or insn.atomicity is None:
            return []
        if insn.written_names[-1] != name:
            return []
        found += [] if insn.atomicity.any_order else [insn.id]
    return found


def _is_exact(kernel: Kernel, operation: str, name: str) -> bool:
    """Tell whether updates have the same result in any order, for certain."""
    dtype = kernel.variables[name].dtype
    return operation in EXACT or (dtype is not None and is_exact(dtype))


def conflicts(
    kernel: Kernel, first: str, second: str, name: str, other_name: str | None = None
) -> Iterator[Conflict]:
    """Yield the pairs of instances that touch one element of a variable, one of them writing.

    An instruction's instance is among its own pairs.  Copies of a variable are not told apart.

    Parameters:
        kernel: the kernel.
        first: the id of the first instance's instruction.
        second: the id of the second's.
        name: the variable that the first touches.
        other_name: the one that the second touches, if it is an array that may overlap the first.
    """
    for a in touched(kernel, first).get(name, ()):
        for b in touched(kernel, second).get(other_name or name, ()):
            if in_conflict(kernel, a, b):
                yield conflict(kernel, a, b)


def conflict(kernel: Kernel, a: Access, b: Access) -> Conflict:
    """Return the pairs of instances that touch one element through these accesses.

    One of them writes.  Accesses of two variables are of arrays that may overlap.
    """
    kind = ("output" if b.is_write else "flow") if a.is_write else "anti"
    certain = a.exact and b.exact and a.name == b.name
    if a.name == b.name:
        pairs = a.relation.intersect(renamed(b.relation, kernel.home_domains)).params()
    else:
        pairs = a.relation.params().intersect(renamed(b.relation.params(), kernel.home_domains))
    if not certain:
        pairs = _not_ruled_out(kernel, a, b, pairs)
    return Conflict(a.name, kind, certain, pairs)


def _not_ruled_out(kernel: Kernel, a: Access, b: Access, pairs: isl.Set) -> isl.Set:
    """Return the pairs less those that touch nothing in common, by claims and conditions."""
    if any(isinstance(c, Independent) and c.is_about(a.insn_id, b.insn_id) for c in kernel.claims):
        if a.insn_id != b.insn_id:
            return pairs.intersect(universe().complement())
        inames = sorted(kernel.instruction(a.insn_id).within_inames)
        return reduce(isl.Set.intersect, map(equal, inames), pairs)
    if a.reference is None or b.reference is None:
        return pairs
    excluded = never_both(kernel, a.reference, b.reference)
    if excluded is not None:  # of these pairs alone: the complement may have many pieces
        pairs = pairs.subtract(excluded)
    if a.name != b.name:
        return pairs
    return pairs.intersect(may_be_equal(kernel, a.reference, b.reference))


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


_AXIS = "__axis_"  # names of users do not begin so


def element_witness(relation: isl.Set) -> tuple[dict[str, int], list[int]]:
    """Return one instance, and the subscripts of the element that it touches.

    Parameters:
        relation: like that of an access; not empty.
    """
    axes = [f"{_AXIS}{axis}" for axis in range(relation.dim(isl.dim_type.set))]
    for position, axis in enumerate(axes):
        relation = relation.set_dim_name(isl.dim_type.set, position, axis)
    point = witness(flatten(relation))
    return point, [point.pop(axis) for axis in axes]


def _within(pairs: isl.Set, bound: int) -> isl.Set:
    for position in range(pairs.dim(_PARAM)):
        pairs = pairs.lower_bound_val(_PARAM, position, to_val(-bound))
        pairs = pairs.upper_bound_val(_PARAM, position, to_val(bound))
    return pairs
