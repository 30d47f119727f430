"""Data races, found by executing: two instances touch one element, in either order.

Atomic updates may.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from numpy.typing import NDArray

from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag, LocalTag
from tests.oracle.overlaps import bytes_of, shared
from tests.proof.trace import Instance, Trace, trace

Place = tuple[Any, ...]

_COPIES: dict[AddressSpace, tuple[type, ...]] = {
    AddressSpace.GLOBAL: (),
    AddressSpace.LOCAL: (GroupTag,),
    AddressSpace.PRIVATE: (GroupTag, LocalTag),
}


def has_race(kernel: Kernel, arguments: Mapping[str, Any], seeds: Iterable[int]) -> bool:
    """Tell whether executions have two conflicting instances in different orders."""
    first: dict[tuple[Instance, Instance], bool] = {}
    for seed in seeds:
        found = trace(kernel, arguments, seed)
        position = {instance: n for n, instance in enumerate(found.order)}
        for a, b in _conflicting(kernel, found, shared(arguments)):
            if first.setdefault((a, b), position[a] < position[b]) != (position[a] < position[b]):
                return True
    return False


def _conflicting(
    kernel: Kernel, found: Trace, overlapping: Mapping[str, NDArray[Any]]
) -> Iterator[tuple[Instance, Instance]]:
    """Yield pairs of instances that touch one element of one copy, one of them writing."""
    at: dict[Place, dict[Instance, bool]] = {}
    for instance, touches in found.touched.items():
        for name, index, writes in touches:
            places: Iterable[Place]
            if name in overlapping:
                places = [(byte,) for byte in bytes_of(overlapping[name], index)]
            else:
                places = [(name, index, _copy(kernel, name, found.items[instance]))]
            for place in places:
                here = at.setdefault(place, {})
                here[instance] = here.get(instance, False) or writes
    for here in at.values():
        instances = sorted(here)
        for n, a in enumerate(instances):
            for b in instances[n + 1 :]:
                if (here[a] or here[b]) and not _are_updates(kernel, a, b):
                    yield a, b


def _are_updates(kernel: Kernel, first: Instance, second: Instance) -> bool:
    """Tell whether both are atomic updates with one operation, which may come in any order."""
    found = [kernel.instructions_by_id.get(insn_id) for insn_id, _ in (first, second)]
    updates = [insn.update if isinstance(insn, Assignment) else None for insn in found]
    operations = {None if update is None else update.operation for update in updates}
    return len(operations) == 1 and None not in operations


def _copy(kernel: Kernel, name: str, items: Mapping[Any, int]) -> Place:
    variable = kernel.variables.get(name)
    if not isinstance(variable, TemporaryVariable):
        return ()
    kinds = _COPIES[kernel.address_space(name)]
    return tuple(sorted((str(tag), i) for tag, i in items.items() if isinstance(tag, kinds)))
