"""Small whole reductions, which each group of a launch repeats rather than wait for a launch.

    launch: s = sum(i, x[i])             launch: each group: s = sum(i, x[i])
    launch: y[j] = s*x[j]        ->              a barrier; y[j] = s*x[j]

A launch takes about as long as a group takes to reduce a few thousand elements, and all groups do
that side by side.  What they find is in local memory: there, a scalar is one for each group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, prod
from typing import SupportsIndex

from polygen.errors import NotCountable, UserError
from polygen.inspection.devices.limits import Limits
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.empty import NO_NAMES
from polygen.ir.instruction import Barrier
from polygen.ir.kernel import Kernel
from polygen.transforms.arrays.set_temporary_address_space import set_temporary_address_space
from polygen.tuning.launch_plan import Unit, can_share, joined, units_of
from polygen.tuning.model import MOST_SHARE

_BYTES = 4  # that are read for an instance, about
_TREE = 80  # operations of a work item, in the tree of a reduction
_WORTH = 0.5  # of what a launch takes: as much may be repeated


def with_repeated(kernel: Kernel, sizes: Mapping[str, SupportsIndex], limits: Limits) -> Kernel:
    """Return the kernel in which groups that need the result of a small reduction compute it.

    Parameters:
        kernel: the kernel; its loops are on axes.
        sizes: what to expect of sizes that are not numbers.
        limits: those of the device.
    """
    plain = kernel.expanded
    names = [t.name for t in kernel.temporaries if _is_result(plain, t)]
    if not names or any(isinstance(insn, Barrier) for insn in plain.instructions):
        return kernel
    try:
        units = units_of(plain, sizes)
    except NotCountable:
        return kernel
    # From the last one back: what the first one is needed for is together then.
    names.sort(key=lambda name: -_place(plain, name))
    for name in names:
        users = [unit for unit in units if _uses(plain, unit, name)]
        rest = [unit for unit in units if unit not in users]
        if len(users) > 1 and _fit(plain, users, rest, name) and _is_worth_it(plain, users, limits):
            try:
                kernel = set_temporary_address_space(kernel, name, AddressSpace.LOCAL)
            except UserError:  # it is not certain that a group finds what it reads
                continue
            units = [*rest, joined(users)]
    return kernel


def _is_result(kernel: Kernel, temporary: TemporaryVariable) -> bool:
    """Tell whether a variable is a scalar in global memory that one reduction writes."""
    if temporary.shape or kernel.address_space(temporary.name) is not AddressSpace.GLOBAL:
        return False
    writers = kernel.writers.get(temporary.name, ())
    is_whole = [bool(i.reductions) and not (i.within_inames or i.predicates) for i in writers]
    return is_whole == [True]


def _place(kernel: Kernel, name: str) -> int:
    """Return where in the kernel a variable is written."""
    return kernel.instructions.index(kernel.writers[name][0])


def _names(kernel: Kernel, unit: Unit, *, written: bool) -> frozenset[str]:
    """Return what a unit writes, or all that it touches."""
    insns = [kernel.instruction(name) for name in unit.ids]
    found = NO_NAMES.union(*(insn.written_names for insn in insns))
    return found if written else found.union(*(insn.read_names for insn in insns))


def _uses(kernel: Kernel, unit: Unit, name: str) -> bool:
    return name in _names(kernel, unit, written=False)


def _fit(kernel: Kernel, users: Sequence[Unit], rest: Sequence[Unit], name: str) -> bool:
    """Tell whether all that uses a result can be in one launch, if each group has it."""
    if not can_share(users):
        return False
    for unit in users:
        written = _names(kernel, unit, written=True)
        for other in users:
            # What else one of them writes, a group would not find.
            if other is not unit and written & _names(kernel, other, written=False) - {name}:
                return False
    return not _is_between(joined(users), rest)


def _is_between(together: Unit, rest: Sequence[Unit]) -> bool:
    """Tell whether something else needs a unit, and is needed by it."""
    later, ids = [together], set(together.ids)
    while more := [unit for unit in rest if unit not in later and unit.before & ids]:
        later += more
        ids.update(name for unit in more for name in unit.ids)
    return not together.before.isdisjoint(ids)


def _is_worth_it(kernel: Kernel, users: Sequence[Unit], limits: Limits) -> bool:
    """Tell whether a launch takes longer than to repeat reductions in all groups."""
    together = joined(users)
    groups, threads = prod(together.groups), prod(together.shape)
    units = limits.compute_units or 1
    if groups > units * max(1, limits.items_per_unit // threads):
        return False
    repeating = [unit for unit in users if unit.repeats]
    names = [name for unit in repeating for name in unit.ids]
    whole = [kernel.instruction(name) for name in names]
    trees = sum(1 for insn in whole if insn.reductions and not insn.within_inames)
    read = _BYTES * sum(unit.count for unit in repeating)
    # What the first group on each unit does would take as long in a launch of its own.
    of_unit = MOST_SHARE * limits.bytes_per_second / units
    one = read / of_unit + trees * threads * _TREE * units / (limits.rate_of("float32") or inf)
    again = (-(-groups // units) - 1) * one + groups * read / limits.bytes_per_second
    return again <= _WORTH * limits.launch_seconds
