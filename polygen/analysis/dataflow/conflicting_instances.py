"""Finds conflicting instances: they touch one element of one copy, and one of them writes.

Two views: every such pair, and the direct ones, without a write of that element in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from typing import TypeAlias

import islpy as isl

from polygen.analysis.access.accesses import Access, touched
from polygen.analysis.access.instance_map import UNMOVED
from polygen.analysis.access.storage_copies import lanes_of, same_copy
from polygen.analysis.dataflow.outermost_nests import accesses_in, written_in
from polygen.analysis.dataflow.read_sources import Source, next_writes, sources
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.integers.second_instance import OTHER
from polygen.analysis.order.access_times import moments
from polygen.analysis.order.instance_order import order_of
from polygen.analysis.pairs.constant_distances import distances
from polygen.analysis.pairs.instance_pairs import (
    conflict,
    equal,
    in_conflict,
    is_read,
    piece_set,
    users,
)
from polygen.analysis.pairs.iteration_local import apart, common_inames, passes_nothing
from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace, GlobalArg, TemporaryVariable
from polygen.ir.domain import flat_names
from polygen.ir.kernel import Kernel

_PARAM = isl.dim_type.param

# Accesses by instruction and by which of its assignees they write.
_Writes: TypeAlias = Mapping[tuple[str | None, int], Access]


@dataclass(frozen=True)
class Related:
    """Pairs of instances that touch one element, one of them writing, in whatever order.

    Attributes:
        first: what the first instance does.
        second: what the second does; to another array, if these two may overlap.
        pairs: a flat set over the inames of the two accesses, the second's with a suffix.
        certain: whether both touch the element for certain; otherwise data decides.
    """

    first: Access
    second: Access
    pairs: isl.Set
    certain: bool

    @property
    def kind(self) -> str:
        """``"flow"`` (written, then read), ``"anti"`` (read, then written) or ``"output"``."""
        if not self.first.is_write:
            return "anti"
        return "output" if self.second.is_write else "flow"


def memory_pairs(kernel: Kernel) -> Iterator[Related]:
    """Yield every pair, those of each two accesses by themselves."""
    for name in kernel.writers:
        for a, b in product(*[_accesses(kernel, name, None)] * 2):
            if in_conflict(kernel, a, b) and distances(kernel, a, b) is not None:
                yield _related(kernel, a, b)
    yield from _overlapping(kernel, None)


def ordered_pairs(kernel: Kernel, nest: int | None = None) -> Iterator[Related]:
    """Yield the pairs of accesses of which instances of the first may come first, as it is plain.

    Parameters:
        kernel: the kernel.
        nest: the position of an outermost loop (`polygen.analysis.dataflow.outermost_nests`), if
            pairs in it alone are wanted: all that a loop in it carries are among these.
    """
    for name in _written(kernel, nest):
        yield from _touching(kernel, name, nest)
    yield from _overlapping(kernel, nest)


def direct_pairs(kernel: Kernel, nest: int | None = None) -> Iterator[Related]:
    """Yield the pairs without a write of the element in between, as far as that is known.

    Temporaries that nothing reads are left out, and pairs in different iterations between which a
    temporary passes nothing.  Parameters are those of `ordered_pairs`: what is executed between two
    instances in an outermost loop is in that loop, too.
    """
    for name in _written(kernel, nest):
        if is_read(kernel, name):
            same = [equal(i) for i in sorted(_frame(kernel, name))]
            for related in _direct(kernel, name, nest):
                yield replace(related, pairs=reduce(isl.Set.intersect, same, related.pairs))
    yield from _overlapping(kernel, nest)


# --- every pair


def _written(kernel: Kernel, nest: int | None) -> Iterable[str]:
    return kernel.writers if nest is None else written_in(kernel, nest)


def _accesses(kernel: Kernel, name: str, nest: int | None) -> Sequence[Access]:
    if nest is not None:
        return accesses_in(kernel, name, nest)
    return [a for insn_id in users(kernel, name) for a in touched(kernel, insn_id)[name]]


def _touching(kernel: Kernel, name: str, nest: int | None) -> Iterator[Related]:
    accesses = _accesses(kernel, name, nest)
    for a, b in product(accesses, accesses):
        if in_conflict(kernel, a, b) and _may_come_first(kernel, a, b):
            yield _related(kernel, a, b)


def _related(kernel: Kernel, a: Access, b: Access) -> Related:
    copy = same_copy(kernel, (a.insn_id, b.insn_id), a.name, UNMOVED)
    found = conflict(kernel, a, b)
    pairs = found.pairs.intersect(known_parameters(kernel)).intersect(copy.possible)
    return Related(a, b, pairs, found.certain and copy.certain)


def _may_come_first(kernel: Kernel, a: Access, b: Access) -> bool:
    """Tell whether `a` may come before `b` where both touch one element, as far as it is plain."""
    gaps = distances(kernel, a, b)
    if gaps is None:
        return False
    return any(
        not any(gaps.get(iname, 0) for iname in piece.equal)
        and (piece.less is None or gaps.get(piece.less, 1) > 0)
        for piece in moments(kernel).before(a, b)
    )


def _overlapping(kernel: Kernel, nest: int | None) -> Iterator[Related]:
    """Yield what arrays that may overlap add: any of their elements may be one."""
    known = known_parameters(kernel)
    arrays = [x for x in kernel.arguments if isinstance(x, GlobalArg)]
    if not any(x.may_alias for x in arrays):
        return
    for x, y in product(arrays, arrays):
        if x != y and (x.may_alias or y.may_alias):
            found = (_accesses(kernel, array.name, nest) for array in (x, y))
            for a, b in product(*found):
                if a.is_write or b.is_write:
                    pairs = conflict(kernel, a, b).pairs.intersect(known)
                    yield Related(a, b, pairs, certain=False)


# --- direct ones


def _frame(kernel: Kernel, name: str) -> frozenset[str]:
    """Return inames between whose iterations a temporary passes nothing: as many as there are."""
    if not isinstance(kernel.variables[name], TemporaryVariable):
        return frozenset()
    inames = apart(kernel, name, common_inames(kernel, name))
    for loop in reversed(order_of(kernel).loops(users(kernel, name)[0])):
        if passes_nothing(kernel, name, inames):
            break
        inames -= {loop}
    return inames if passes_nothing(kernel, name, inames) else frozenset()


def _direct(kernel: Kernel, name: str, nest: int | None) -> Iterator[Related]:
    known = _last_writes(kernel, name, nest) if _is_overwritten(kernel, name, nest) else None
    if known is None:
        yield from _touching(kernel, name, nest)
        return
    if not _is_certain(kernel, name, nest):
        yield from (r for r in _touching(kernel, name, nest) if not r.certain)
    writes = _writes(kernel, known)
    for access, found in known.items():
        for source in found:
            if source.writer is not None:
                last = writes[source.writer, source.position]
                yield Related(last, access, _swapped(kernel, source.pairs), certain=True)
    yield from _next_writes(kernel, known, writes, nest)


def _writes(kernel: Kernel, accesses: Iterable[Access]) -> _Writes:
    """Return the writes among accesses of one variable."""
    return {
        (a.insn_id, position): a
        for a in accesses
        if a.is_write and a.reference
        for position, assignee in enumerate(kernel.instruction(a.insn_id).assignees)
        if (ex.name_of(assignee), ex.index_of(assignee)) == (a.name, a.reference.index)
    }


def _is_overwritten(kernel: Kernel, name: str, nest: int | None) -> bool:
    """Tell whether any element is written twice: if none is, nothing is ever in between."""
    writes = [a for a in _accesses(kernel, name, nest) if a.is_write]
    return any(
        not piece_set(_related(kernel, a, b).pairs, piece).is_empty()
        for a, b in product(writes, writes)
        if in_conflict(kernel, a, b) and _may_come_first(kernel, a, b)
        for piece in moments(kernel).before(a, b)
    )


def _is_certain(kernel: Kernel, name: str, nest: int | None) -> bool:
    """Tell whether data has no say in which elements of which copy of a variable are touched."""
    if kernel.address_space(name) is not AddressSpace.GLOBAL or lanes_of(kernel, name):
        return False
    return all(a.exact for a in _accesses(kernel, name, nest))


def _last_writes(
    kernel: Kernel, name: str, nest: int | None
) -> dict[Access, tuple[Source, ...]] | None:
    """Return for each access what was written before; None if that is not known.

    Reads of which data decides what they touch are left out.
    """
    found: dict[Access, tuple[Source, ...]] = {}
    for access in _accesses(kernel, name, nest):
        if not (access.is_write or access.exact):
            continue
        known = None if access.reference is None else sources(kernel, access.reference, nest)
        if known is None:
            return None
        found[access] = known
    return found


def _next_writes(
    kernel: Kernel, known: Iterable[Access], writes: _Writes, nest: int | None
) -> Iterator[Related]:
    """Yield reads with the next write of what they read."""
    for read in known:
        if read.is_write or read.reference is None:
            continue
        for found in next_writes(kernel, read.reference, nest):
            write = writes[found.writer, found.position]
            # One write may be in several copies, of which the two have others.
            copy = same_copy(kernel, (read.insn_id, write.insn_id), read.name, UNMOVED)
            yield Related(read, write, found.pairs.intersect(copy.possible), copy.certain)


_LATER = "''"


def _swapped(kernel: Kernel, pairs: isl.Set) -> isl.Set:
    pairs = _with_suffix(kernel, pairs, "", _LATER)
    pairs = _with_suffix(kernel, pairs, OTHER, "")
    return _with_suffix(kernel, pairs, _LATER, OTHER)


def _with_suffix(kernel: Kernel, flat: isl.Set, old: str, new: str) -> isl.Set:
    for position, name in enumerate(flat_names(flat)):
        iname = name.removesuffix(old)
        if name.endswith(old) and iname in kernel.home_domains:
            flat = flat.set_dim_name(_PARAM, position, iname + new)
    return flat
