"""Which instances touch one element of one copy of a variable, one of them writing.

Two views: every such pair, and the direct ones, without a write of that element in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product

import islpy as isl

from polygen.analysis.access import Reference, access_of, references_by_name
from polygen.analysis.copies import same_copy
from polygen.analysis.dataflow import Source, sources
from polygen.analysis.instance_map import UNMOVED
from polygen.analysis.order import order_of
from polygen.analysis.pairs import OTHER, conflicts, equal, is_read, piece_set, renamed, users
from polygen.analysis.scratch import apart, common_inames, passes_nothing
from polygen.ir.array import GlobalArg, TemporaryVariable
from polygen.ir.domain import project_out
from polygen.ir.kernel import Kernel

_PARAM = isl.dim_type.param


@dataclass(frozen=True)
class Related:
    """Pairs of instances that touch one element, one of them writing, in whatever order.

    Attributes:
        first, second: the ids of the instructions.
        name: the variable.
        kind: ``"flow"`` (written, then read), ``"anti"`` (read, then written) or ``"output"``.
        pairs: a flat set over the inames of the two instructions, the second's with a suffix.
        certain: whether both touch the element for certain; otherwise data decides.
        other_name: the variable that the second touches, if it is another that may overlap.
    """

    first: str
    second: str
    name: str
    kind: str
    pairs: isl.Set
    certain: bool
    other_name: str | None = None


def memory_pairs(kernel: Kernel) -> Iterator[Related]:
    """Yield every pair, those of each two references by themselves."""
    for name in kernel.writers:
        yield from _touching(kernel, name)
    yield from _overlapping(kernel)


def direct_pairs(kernel: Kernel) -> Iterator[Related]:
    """Yield the pairs without a write of the element in between, as far as that is known.

    Temporaries that nothing reads are left out, and pairs in different iterations between which a
    temporary passes nothing.
    """
    for name in kernel.writers:
        if is_read(kernel, name):
            same = [equal(i) for i in sorted(_frame(kernel, name))]
            for related in _direct(kernel, name):
                yield replace(related, pairs=reduce(isl.Set.intersect, same, related.pairs))
    yield from _overlapping(kernel)


# --- every pair


def _touching(kernel: Kernel, name: str, other_name: str | None = None) -> Iterator[Related]:
    known = kernel.assumptions.flat
    for insns in product(users(kernel, name), users(kernel, other_name or name)):
        copy = None if other_name else same_copy(kernel, insns, name, UNMOVED)
        for conflict in conflicts(kernel, *insns, name, other_name):
            pairs = conflict.pairs.intersect(known)
            if copy is not None:
                pairs = pairs.intersect(copy.possible)
            pairs = _of_instances(kernel, insns, pairs)
            certain = conflict.certain and (copy is None or copy.certain)
            yield Related(*insns, name, conflict.kind, pairs, certain, other_name)


def _of_instances(kernel: Kernel, insns: tuple[str, str], pairs: isl.Set) -> isl.Set:
    """Return the pairs without the inames of reductions."""
    first, second = (kernel.instruction(insn) for insn in insns)
    inner = [*first.reduction_inames, *(i + OTHER for i in second.reduction_inames)]
    return project_out(pairs, inner)


def _overlapping(kernel: Kernel) -> Iterator[Related]:
    """Yield what arrays that may overlap add: any of their elements may be one."""
    arrays = [a for a in kernel.arguments if isinstance(a, GlobalArg)]
    for a, b in product(arrays, arrays):
        overlap = (a.may_alias or b.may_alias) and a != b
        if overlap and (a.name in kernel.writers or b.name in kernel.writers):
            yield from _touching(kernel, a.name, b.name)


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


def _direct(kernel: Kernel, name: str) -> Iterator[Related]:
    every = list(_touching(kernel, name))
    outputs = (r for r in every if r.kind == "output")
    if all(pairs.is_empty() for r in outputs for pairs in _in_order(kernel, r)):
        yield from every  # no element is written twice
        return
    known = _last_writes(kernel, name)
    if known is None:
        yield from every
        return
    yield from (r for r in every if not r.certain)
    for reference, found in known.items():
        kind = "output" if reference.is_write else "flow"
        for source in found:
            if source.writer is not None:
                insns = source.writer, reference.insn.id
                pairs = _of_instances(kernel, insns, _swapped(kernel, source.pairs))
                yield Related(*insns, name, kind, pairs, certain=True)
    yield from _next_writes(kernel, name, known)


def _in_order(kernel: Kernel, related: Related) -> Iterator[isl.Set]:
    for piece in order_of(kernel).before(related.first, related.second):
        yield piece_set(related.pairs, piece)


def _last_writes(kernel: Kernel, name: str) -> dict[Reference, tuple[Source, ...]] | None:
    """Return for each reference what was written before; None if that is not known.

    Reads of which data decides what they touch are left out.
    """
    found: dict[Reference, tuple[Source, ...]] = {}
    for reference in references_by_name(kernel)[name]:
        if not (reference.is_write or access_of(kernel, reference).exact):
            continue
        known = sources(kernel, reference)
        if known is None:
            return None
        found[reference] = known
    return found


def _next_writes(
    kernel: Kernel, name: str, known: dict[Reference, tuple[Source, ...]]
) -> Iterator[Related]:
    """Yield reads with the next write of what they read: both come after the same last write."""
    reads = [r for r in known if not r.is_write]
    writes = [r for r in known if r.is_write]
    for read, write in product(reads, writes):
        insns = read.insn.id, write.insn.id
        found = [
            _after_same(kernel, read, write, a, b)
            for a, b in product(known[read], known[write])
            if a.writer == b.writer
        ]
        if found:
            # One write may be in several copies, of which the two have others.
            copy = same_copy(kernel, insns, name, UNMOVED)
            pairs = reduce(isl.Set.union, found).intersect(copy.possible)
            pairs = _of_instances(kernel, insns, pairs)
            yield Related(*insns, name, "anti", pairs, copy.certain)


def _after_same(kernel: Kernel, read: Reference, write: Reference, a: Source, b: Source) -> isl.Set:
    if a.writer is None:
        first, second = access_of(kernel, read).relation, access_of(kernel, write).relation
        first, second = first.intersect_params(a.pairs), second.intersect_params(b.pairs)
        return first.intersect(renamed(second, kernel.inames)).params()
    later = _with_suffix(kernel, b.pairs, "", _LATER)
    pairs = a.pairs.intersect(later)
    pairs = project_out(pairs, [i + OTHER for i in kernel.inames])
    return _with_suffix(kernel, pairs, _LATER, OTHER)


_LATER = "_later"


def _swapped(kernel: Kernel, pairs: isl.Set) -> isl.Set:
    pairs = _with_suffix(kernel, pairs, "", _LATER)
    pairs = _with_suffix(kernel, pairs, OTHER, "")
    return _with_suffix(kernel, pairs, _LATER, OTHER)


def _with_suffix(kernel: Kernel, flat: isl.Set, old: str, new: str) -> isl.Set:
    for iname in kernel.inames:
        position = flat.find_dim_by_name(_PARAM, iname + old)
        if position >= 0:
            flat = flat.set_dim_name(_PARAM, position, iname + new)
    return flat
