"""The nests that a step changed, as kernels of their own: a proof for these is one for the whole.

    for i: for j: a[i, j] = ...      tag_inames(knl, {"i": "g.0"}) changes this nest,
    for k: b[k] = a[k, 0]            and leaves this one, and the order of the two, as they were

What shares no loop with anything that a step changed does what it did.  What it does comes before
all of a nest, or after it, and that stays: if the nest is one loop still; or if its parts are in a
row, what comes before it comes before the first of them, and what comes after it after the last.
Variables of which work items have copies have to be used in the changed nests alone, or outside.

So the work for a step does not depend on how many nests there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from polygen.analysis.access.instance_map import InstanceMap
from polygen.analysis.dataflow.permitted_executions import why_none_is_permitted
from polygen.analysis.order.instance_order import order_of
from polygen.ir.array import AddressSpace, Argument, GlobalArg, TemporaryVariable
from polygen.ir.empty import NO_NAMES
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.kernel_changes import KernelChanges, kernel_changes

FEWEST = 6  # instructions of which it pays to look at a part
LARGEST = 0.5  # of the instructions, in a part
_Nests: TypeAlias = tuple[Kernel, Kernel]


def changed_nests(old: Kernel, new: Kernel, instances: InstanceMap) -> _Nests | None:
    """Return the nests that a step changed, as they were and as they are.

    None says nothing: the whole kernels have to be looked at.

    Parameters:
        old: a kernel that has a permitted order, without rules and calls.
        new: the kernel after a step, without them.
        instances: which old instance each new one computes.
    """
    if len(old.instructions) < FEWEST or not (_is_plain(old) and _is_plain(new)):
        return None
    changes = kernel_changes(old, new)
    if changes is None or any(a.depends_on != b.depends_on for a, b in changes.instructions):
        return None
    numbers = _touched(old, changes, instances)
    if numbers is None:
        return None
    olds, news = ([kernel.instructions[n] for n in numbers] for kernel in (old, new))
    shared = _shared(old, {insn.id for insn in olds}, (*olds, *news))
    if shared is None:
        return None
    before, after = _part(old, olds, shared), _part(new, news, shared)
    if before is None or after is None:
        return None
    if why_none_is_permitted(before) is not None or why_none_is_permitted(after) is not None:
        return None
    return (before, after) if _stands_as_before(old, before, after) else None


def _is_plain(kernel: Kernel) -> bool:
    """Tell whether nothing but loops and dependencies orders a kernel's instances."""
    if kernel.expanded is not kernel or kernel.claims or not kernel.has_plain_instructions:
        return False
    if any(isinstance(a, GlobalArg) and a.may_alias for a in kernel.arguments):
        return False
    scalars = {t.name for t in kernel.temporaries if not t.shape}
    return not scalars or all(scalars.isdisjoint(d.parameters) for d in kernel.domains)


def _touched(old: Kernel, changes: KernelChanges, instances: InstanceMap) -> list[int] | None:
    """Return the numbers of the instructions that share loops with what a step changed.

    None if these are so many that nothing is gained.
    """
    afters = [after for _, after in changes.instructions]
    ids = {*(insn.id for insn in afters), *instances.by_instruction}
    inames = changes.inames.union(instances.values, *map(_inames, afters))
    found = old.in_nests(inames, ids)
    return found if len(found) <= LARGEST * len(old.instructions) else None


def _inames(insn: Instruction) -> frozenset[str]:
    return insn.within_inames | insn.reduction_inames


def _shared(
    kernel: Kernel, ids: set[str], insns: Sequence[Instruction]
) -> Mapping[str, TemporaryVariable] | None:
    """Return the global temporaries that some instructions share with others.

    None if they share temporaries of which work items have copies, or may have.

    Parameters:
        kernel: the kernel.
        ids: the ids of the instructions.
        insns: the instructions, in two kernels.
    """
    used = _used(insns)
    own = [t for t in kernel.temporaries if t.name in used and not t.read_only]
    if any(t.address_space is AddressSpace.AUTO for t in own):
        return None
    names = {t.name for t in own}
    if not names:
        return {}
    elsewhere = _used([i for i in kernel.instructions if i.id not in ids]) & names
    shared = {t.name: t for t in own if t.name in elsewhere}
    is_global = [t.address_space is AddressSpace.GLOBAL for t in shared.values()]
    return shared if all(is_global) else None


def _used(insns: Sequence[Instruction]) -> frozenset[str]:
    return NO_NAMES.union(*[i.read_names for i in insns], *[i.written_names for i in insns])


def _part(
    kernel: Kernel, insns: Sequence[Instruction], shared: Mapping[str, TemporaryVariable]
) -> Kernel | None:
    """Return a kernel of some instructions; None if their domains have loops of others.

    Parameters:
        kernel: the kernel.
        insns: the instructions, some of its.
        shared: the temporaries of which others see what they hold.
    """
    inames = NO_NAMES.union(*map(_inames, insns))
    home = kernel.numbers_of_domains
    homes = tuple([kernel.domains[n] for n in sorted({home[i] for i in inames})])
    if any(not inames.issuperset(d.inames) for d in homes):
        return None
    ids = {insn.id for insn in insns}
    used = _used(insns)
    arguments: tuple[Argument, ...] = kernel.arguments
    if shared:
        arguments = (*arguments, *(t.as_argument() for t in shared.values()))
    return kernel.copy(
        domains=homes,  # in their order, which may decide how loops are nested
        instructions=tuple([i.copy(depends_on=i.depends_on & ids) for i in insns]),
        arguments=arguments,
        temporaries=tuple(
            [t for t in kernel.temporaries if t.name in used and t.name not in shared]
        ),
        tags={i: tag for i in sorted(inames) if (tag := kernel.tags.get(i)) is not None},
        priorities=tuple([p for p in kernel.priorities if not inames.isdisjoint(p)]),
        separations=(),
    )


# --- what is around them


def _stands_as_before(kernel: Kernel, before: Kernel, after: Kernel) -> bool:
    """Tell whether what is around nests comes before and after each of them as it did.

    Parameters:
        kernel: the whole kernel, as it was.
        before: the nests, as they were.
        after: the nests, as they are.
    """
    parts = _outermost(after)
    top = {insn_id: number for number, ids in _outermost(before).items() for insn_id in ids}
    rows: dict[int, list[list[str]]] = {}
    for _, part in sorted(parts.items()):
        if len({top[insn_id] for insn_id in part}) > 1:
            return False
        rows.setdefault(top[part[0]], []).append(part)
    order = order_of(after)
    for row in rows.values():
        if len(row) == 1:
            continue
        if not all(order.depends(a[0], b[0]) for a, b in pairwise(row)):
            return False
        if not _has_its_ends_around(kernel, row):
            return False
    return True


def _outermost(kernel: Kernel) -> dict[int, list[str]]:
    """Return the ids of the instructions in each of the outermost siblings."""
    order = order_of(kernel)
    found: dict[int, list[str]] = {}
    for insn in kernel.instructions:
        found.setdefault(order.path(insn.id)[0], []).append(insn.id)
    return found


def _has_its_ends_around(kernel: Kernel, row: Sequence[Sequence[str]]) -> bool:
    """Tell whether what comes before any part of a row comes before the first, and so on."""
    ids = {insn_id for part in row for insn_id in part}
    by_id = kernel.instructions_by_id
    before = [NO_NAMES.union(*(by_id[i].depends_on for i in part)) - ids for part in row]
    if not before[0] >= NO_NAMES.union(*before):
        return False
    later = [i for i in kernel.instructions if i.id not in ids and not i.depends_on.isdisjoint(ids)]
    return all(not insn.depends_on.isdisjoint(row[-1]) for insn in later)
