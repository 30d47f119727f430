"""Chooses the address space of temporaries that are declared ``auto``.

It is the narrowest in which every read still finds the value that was written last before it.  In
a narrower one, there are more copies of each element.  That is harmless for a write and a later
read in different copies, if the read's own copy has been written since, or by an instance that is
in no order with the write: with one copy for both, chance would decide.  It is not harmless if all
that the read's own copy has is older.  Sets of instances decide, exactly where subscripts are
affine; what data decides counts as written elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

import islpy as isl

from polygen.analysis.access.accesses import Access, touched
from polygen.analysis.access.instance_map import UNMOVED
from polygen.analysis.access.storage_copies import same_copy_in
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.integers.second_instance import OTHER
from polygen.analysis.order.access_times import moments
from polygen.analysis.pairs.instance_pairs import is_read, piece_set, renamed, users
from polygen.analysis.pairs.iteration_local import certainly_written
from polygen.ir.array import AddressSpace
from polygen.ir.domain import flat_names, project_out, universe
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel
from polygen.ir.tags import AutoLocalTag, GroupTag, LocalTag

_PARAM = isl.dim_type.param
_THIRD = OTHER + OTHER  # at the inames of an instance besides the two of a pair


@dataclass(frozen=True)
class Choice:
    """The address space of a temporary that is declared ``auto``.

    Attributes:
        space: private, local or global.
        pair: the ids of a writer and a reader for which no narrower one will do; else None.
    """

    space: AddressSpace
    pair: tuple[str, str] | None


@per_kernel
def choice(kernel: Kernel, name: str) -> Choice:
    """Return the narrowest address space in which each read of a temporary finds its value.

    One whose size a call decides is global: the runtime allocates it.

    Raises:
        NoLoopNest, DependencyCycle: if no execution is permitted.
    """
    if kernel.expanded is not kernel:
        return choice(kernel.expanded, name)
    if not all(isinstance(extent, int) for extent in kernel.array(name).shape or ()):
        return Choice(AddressSpace.GLOBAL, None)
    if not _axes(kernel):
        return Choice(AddressSpace.PRIVATE, None)  # there is one work item
    pair: tuple[str, str] | None = None
    for space in AddressSpace.PRIVATE, AddressSpace.LOCAL:
        found = _lost(kernel, name, space)
        if found is None:
            return Choice(space, pair)
        pair = found
    return Choice(AddressSpace.GLOBAL, pair)


def _axes(kernel: Kernel) -> bool:
    """Tell whether there may be several work items."""
    return any(isinstance(t, GroupTag | LocalTag | AutoLocalTag) for t in kernel.tags.values())


def with_spaces(kernel: Kernel) -> Kernel:
    """Return the kernel with an address space chosen for each temporary declared ``auto``."""
    return kernel.copy(
        temporaries=tuple([t.in_space(kernel.address_space(t.name)) for t in kernel.temporaries])
    )


def reason(kernel: Kernel, name: str) -> str:
    """Return why it matters who writes a variable, to go on with; nothing where that is plain.

    That is, where one is declared ``auto``, or where nothing reads it.
    """
    if not is_read(kernel, name):
        return f". Nothing reads '{name}', but work items share it"
    variable = kernel.variables[name]
    if getattr(variable, "address_space", None) is not AddressSpace.AUTO or not _axes(kernel):
        return ""
    chosen = choice(kernel, name)
    text = f". '{name}' is declared auto, and is {chosen.space.value}"
    if chosen.pair is None:
        return f"{text}: no read of it needs what another work item writes"
    who = "group" if chosen.space is AddressSpace.GLOBAL else "work item"
    writer, reader = chosen.pair
    return f"{text}: '{reader}' may read what '{writer}' writes in another {who}"


def _lost(kernel: Kernel, name: str, space: AddressSpace) -> tuple[str, str] | None:
    """Return a writer and a reader that would not find its value, or None if all do."""
    if space is AddressSpace.PRIVATE:
        shared = next(_shared_iterations(kernel, name), None)
        if shared is not None:
            return shared
    accesses = [a for insn in users(kernel, name) for a in touched(kernel, insn)[name]]
    writes = [a for a in accesses if a.is_write]
    for read in (a for a in accesses if not a.is_write):
        for write in writes:
            lost = _elsewhere(kernel, write, read, space)
            for other in writes:
                if not lost.is_empty():
                    lost = lost.subtract(_found(kernel, other, write, read, space))
            if not lost.is_empty():
                return write.insn_id, read.insn_id
    return None


def _shared_iterations(kernel: Kernel, name: str) -> Iterator[tuple[str, str]]:
    """Yield writers and readers of which nobody says which work item executes what: l.auto."""
    for writer in kernel.writers.get(name, ()):
        for reader in users(kernel, name):
            kinds = [
                {type(kernel.tags.get(i)) for i in kernel.instruction(insn).within_inames}
                for insn in (writer.id, reader)
            ]
            if AutoLocalTag in kinds[0] or (AutoLocalTag in kinds[1] and LocalTag in kinds[0]):
                yield writer.id, reader


def _elsewhere(kernel: Kernel, write: Access, read: Access, space: AddressSpace) -> isl.Set:
    """Return the pairs in which a write comes before a read of an element, in another copy."""
    pairs = _before(kernel, write, read)
    return pairs.subtract(_in_one_copy(kernel, write, read, pairs, space))


def _in_one_copy(
    kernel: Kernel, write: Access, read: Access, pairs: isl.Set, space: AddressSpace
) -> isl.Set:
    """Return those of the pairs in which a read certainly sees the copy that was written."""
    copy = same_copy_in(kernel, (write.insn_id, read.insn_id), space, UNMOVED)
    if copy.certain and copy.complete:
        return pairs.intersect_params(copy.possible)
    return pairs.subtract(pairs)


def _before(kernel: Kernel, first: Access, second: Access) -> isl.Set:
    """Return the pairs of instances of which the first comes first, with what both touch."""
    pairs = first.relation.intersect(renamed(second.relation, kernel.inames))
    pairs = pairs.intersect_params(known_parameters(kernel))
    return pairs.intersect_params(_earlier(kernel, first, second))


def _earlier(kernel: Kernel, first: Access, second: Access) -> isl.Set:
    pieces = [piece_set(universe(), piece) for piece in moments(kernel).before(first, second)]
    return reduce(isl.Set.union, pieces, universe().complement())


def _found(
    kernel: Kernel, other: Access, write: Access, read: Access, space: AddressSpace
) -> isl.Set:
    """Return pairs of a write and a read, of which the read has no need to see the write.

    Another write of the element is in the read's copy, before the read, and not before the write.
    """
    seen = _in_one_copy(kernel, other, read, _before(kernel, other, read), space)
    there = certainly_written(kernel, kernel.instruction(other.insn_id), other, read)
    if there is None:
        return seen.subtract(seen)
    seen = _renamed(seen.intersect_params(there), {i: i + _THIRD for i in kernel.inames})
    if other.reference is not None and other.reference.update:
        # It adds to what was written before, and hides no more than that.
        later = _earlier(kernel, write, other)
        later = _renamed(later, {i + OTHER: i + _THIRD for i in kernel.inames})
        seen = seen.intersect_params(later)
    else:
        older = _earlier(kernel, other, write)
        older = _renamed(older, {i: i + _THIRD for i in kernel.inames})
        older = _renamed(older, {i + OTHER: i for i in kernel.inames})
        seen = seen.intersect_params(older.complement())
    return project_out(seen, [n for n in flat_names(seen) if n.endswith(_THIRD)])


def _renamed(flat: isl.Set, names: dict[str, str]) -> isl.Set:
    for position, name in enumerate(flat_names(flat)):
        if name in names:
            flat = flat.set_dim_name(_PARAM, position, names[name])
    return flat


def chosen_space(kernel: Kernel, name: str) -> AddressSpace:
    """Return what `Kernel.address_space` does, of a temporary that is declared `auto`."""
    return choice(kernel, name).space
