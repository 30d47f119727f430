"""Outermost loops as kernels of their own, with all that is in them: parts to try steps on.

    for i: for j: a[i, j] = ...      the nest of i and j
    for k: b[k] = a[k, 0]            the nest of k, with a as an argument

What other nests do comes before all of such a nest, or after it, and that stays: if the nest is
one loop still; or if its parts are in a row, what comes before it comes before the first of them,
and what comes after it after the last (`stands_as_before`).  So a step can be proved for the
kernel if it can be for the nest; and the work for it does not depend on how many nests there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from polygen.analysis.access.accesses import touched
from polygen.analysis.access.domains import domain_temporaries
from polygen.analysis.dataflow.permitted_executions import why_none_is_permitted
from polygen.analysis.order.instance_order import order_of
from polygen.analysis.order.instruction_groups import conflicts_with_groups
from polygen.analysis.order.reduction_statements import shares_reduction_loops
from polygen.analysis.pairs.instance_pairs import users
from polygen.ir.array import AddressSpace, Argument, GlobalArg, TemporaryVariable
from polygen.ir.empty import NO_NAMES
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel
from polygen.ir.tags import is_on_axis


def single_nest(kernel: Kernel, iname: str) -> Kernel | None:
    """Return a kernel of the outermost loop that the loop of an iname is in, or is.

    Global temporaries that other instructions use, too, are arguments of it.  None if the nest
    cannot be looked at alone: something spans nests (claims, groups, arrays that may overlap,
    computed bounds), or it is on axes of the hardware, or shares work items' own temporaries.
    """
    top = _nests(kernel).of_iname.get(iname)
    return None if top is None else _part(kernel, tuple(_nests(kernel).members[top]))


def nest_in_loops(kernel: Kernel, iname: str) -> tuple[Kernel, int] | None:
    """Return a kernel of the loop of an iname, in those around it, and the number of these.

    Of loops that hold the same instructions, these are the ones around the outermost.  Each has
    more instructions, so it is outside whatever priorities say; in the kernel that is returned,
    which has those of the one loop alone, priorities say so.  None where `single_nest` would
    suffice, or say None; and if an instruction reduces over the iname.

        for t: for i: for j: ...         for i or j, a kernel of t, i and j, and 1
               for k: ...
    """
    numbers = kernel.numbers_of_loops.get(iname, ())
    insns = [kernel.instructions[number] for number in numbers]
    if iname not in _nests(kernel).of_iname or any(iname in i.reduction_inames for i in insns):
        return None
    around = order_of(kernel).loops(insns[0].id)
    outer = [o for o in around if len(kernel.numbers_of_loops[o]) > len(numbers)]
    if not outer:
        return None
    part = _part(kernel, tuple([insn.id for insn in insns]))
    if part is None:
        return None
    inner = [i for i in part.inames if i not in outer]
    fixed = [(o, i) for o in outer for i in inner]
    return part.copy(priorities=(*fixed, *part.priorities)), len(outer)


@dataclass(frozen=True)
class _Nests:
    """The outermost siblings of the loop tree.

    Attributes:
        of_iname: the position of the one that has the loop of an iname.
        of_insn: the position of the one that an instruction is in.
        members: the ids of the instructions in each.
    """

    of_iname: Mapping[str, int]
    of_insn: Mapping[str, int]
    members: Mapping[int, Sequence[str]]


@per_kernel
def _nests(kernel: Kernel) -> _Nests:
    """Return the nests that can be looked at alone; none, if the kernel has what spans them."""
    if not _is_plain(kernel):
        return _Nests({}, {}, {})
    order = order_of(kernel)
    of_iname: dict[str, int] = {}
    of_insn: dict[str, int] = {}
    members: dict[int, list[str]] = {}
    for insn in kernel.instructions:
        top = order.path(insn.id)[0]
        of_iname.update(dict.fromkeys(order.loops(insn.id), top))
        of_insn[insn.id] = top
        members.setdefault(top, []).append(insn.id)
    return _Nests(of_iname, of_insn, members)


def _is_plain(kernel: Kernel) -> bool:
    if kernel.expanded is not kernel or kernel.claims or conflicts_with_groups(kernel):
        return False
    if any(isinstance(a, GlobalArg) and a.may_alias for a in kernel.arguments):
        return False
    if any(insn.happens_after for insn in kernel.instructions):
        return False
    if why_none_is_permitted(kernel) is not None or shares_reduction_loops(kernel):
        return False
    return not domain_temporaries(kernel, kernel.inames)


@per_kernel
def _part(kernel: Kernel, members: tuple[str, ...]) -> Kernel | None:
    """Return a kernel of some instructions and the loops that they are in.

    None if these are on axes, or domains have others, too, or work items' own temporaries are
    shared with other instructions.
    """
    ids = frozenset(members)
    insns = [kernel.instruction(i) for i in members]
    within = NO_NAMES.union(*(insn.within_inames for insn in insns))
    if any(is_on_axis(kernel.tags.get(iname)) for iname in within):
        return None
    arguments: list[Argument] = list(kernel.arguments)
    temporaries: list[TemporaryVariable] = []
    for name in dict.fromkeys(n for insn in insns for n in touched(kernel, insn.id)):
        variable = kernel.variables[name]
        if not isinstance(variable, TemporaryVariable):
            continue
        if variable.read_only or ids.issuperset(users(kernel, name)):
            temporaries.append(variable)
        elif variable.address_space is AddressSpace.GLOBAL:
            arguments.append(variable.as_argument())  # others see what it holds
        else:
            return None
    inames = within.union(*(insn.reduction_inames for insn in insns))
    homes = [kernel.domains[n] for n in sorted({kernel.numbers_of_domains[i] for i in inames})]
    if any(not inames.issuperset(d.inames) for d in homes):
        return None
    return kernel.copy(
        domains=tuple(homes),  # in their order, which may decide how loops are nested
        instructions=tuple([i.copy(depends_on=i.depends_on & ids) for i in insns]),
        arguments=tuple(arguments),
        temporaries=tuple(temporaries),
        tags={i: kernel.tags[i] for i in inames if i in kernel.tags},
        priorities=_priorities(kernel, inames),
    )


def _priorities(kernel: Kernel, inames: frozenset[str]) -> tuple[tuple[str, ...], ...]:
    """Return the priorities that mention any of some inames, in the order of the kernel."""
    numbers = {n for iname in inames for n in _numbered(kernel).get(iname, ())}
    return tuple([kernel.priorities[n] for n in sorted(numbers)])


@per_kernel
def _numbered(kernel: Kernel) -> Mapping[str, Sequence[int]]:
    """Return the numbers of the priorities that mention each iname."""
    found: dict[str, list[int]] = {}
    for number, names in enumerate(kernel.priorities):
        for iname in names:
            found.setdefault(iname, []).append(number)
    return found


# --- what is around one


def stands_as_before(kernel: Kernel, nest: Kernel, depth: int = 0) -> bool:
    """Tell whether all that comes before a nest comes before all of its parts; and after it.

    Parameters:
        kernel: the kernel.
        nest: one of its nests, which may be in several parts: of what loops it had, some are gone.
        depth: how many loops are around it, which are left.
    """
    order = order_of(nest)
    parts: dict[tuple[int, ...], list[str]] = {}
    for insn in nest.instructions:
        parts.setdefault(order.path(insn.id)[: depth + 1], []).append(insn.id)
    row = [parts[top] for top in sorted(parts)]
    if len(row) == 1:
        return True
    if not all(order.depends(a[0], b[0]) for a, b in pairwise(row)):
        return False
    dependents = _dependents(kernel)
    ids = nest.instructions_by_id.keys()
    before = [
        NO_NAMES.union(*(kernel.instruction(i).depends_on for i in part)) - ids for part in row
    ]
    after = [NO_NAMES.union(*(dependents.get(i, NO_NAMES) for i in part)) - ids for part in row]
    return before[0] >= NO_NAMES.union(*before) and after[-1] >= NO_NAMES.union(*after)


@per_kernel
def _dependents(kernel: Kernel) -> Mapping[str, frozenset[str]]:
    """Return the instructions that depend on each, directly."""
    found: dict[str, set[str]] = {}
    for insn in kernel.instructions:
        for earlier in insn.depends_on:
            found.setdefault(earlier, set()).add(insn.id)
    return {insn_id: frozenset(later) for insn_id, later in found.items()}
