"""Counts what each launch of a call moves and computes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import SupportsIndex

from polygen.errors import UserError
from polygen.inspection.counts.access_footprints import (
    footprint_bytes_in,
    gather_access_footprint_bytes,
)
from polygen.inspection.counts.count_keys import CountGranularity
from polygen.inspection.counts.executions import carried_out, in_full, lowered
from polygen.inspection.counts.op_map import get_op_map
from polygen.inspection.counts.trips import (
    Trips,
    ended_loops,
    names_of_ended_loops,
    with_trips,
)
from polygen.ir.dtype import dtype_name
from polygen.ir.empty import NO_NAMES
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import tell
from polygen.ir.target_facts import facts_of
from polygen.lower.program import HostLoop, HostNode, Launch
from polygen.runtime.calls.call_recording import Called

Operations = Mapping[str, int]  # by the name of their type


@dataclass(frozen=True)
class Work:
    """The work of all launches of one function in a call.

    Attributes:
        bytes: how many have to move: in each launch, each element of an array once for reading, and
            once for writing; None if that cannot be counted.
        operations: how many there are of each type, those in subscripts left out; None if that
            cannot be counted.
        why: what cannot be counted, and why.
    """

    bytes: int | None
    operations: Operations | None
    why: tuple[str, ...] = ()


def operations_of(
    kernel: Kernel,
    sizes: Mapping[str, SupportsIndex],
    within: Sequence[str] | None = None,
    trips: Trips | None = None,
) -> dict[str, int]:
    """Return how many operations of each type work items do, what several repeat included.

    Those in subscripts are left out: compilers find addresses in other ways.

    Raises:
        NotCountable: if data decides what is done.
    """
    each = CountGranularity.WORKITEM
    done = get_op_map(kernel, True, False, within=within, count_granularity=each, trips=trips)
    counts = done.group_by("dtype").items()
    return dict(sorted((dtype_name(k.dtype), n.at(sizes)) for k, n in counts))


def work_of(called: Called, launches: Mapping[str, int]) -> dict[str, Work]:
    """Return what a call does, by the name of the function that is launched.

    Parameters:
        called: the call.
        launches: how often each function was launched.  So it is known how often a loop on the host
            was repeated that a condition ends: once less, where its head found that it is over.
            With `check_every`, that is an upper limit.
    """
    has_grid = facts_of(called.target).has_grid
    if has_grid and not called.typed.calls:  # what was generated is on one
        tell(called.typed, lowered, called.program.loop_program)
    functions, host = called.program.launches, called.program.loop_program.host
    if len(functions) == 1 and (not has_grid or isinstance(host[0], Launch)):
        return {functions[0].name: _all_of(called)}
    plain = in_full(called.typed)
    found = dict(_parts(lowered(called.typed).host, NO_NAMES))
    own = {insn.id for insn in plain.instructions}
    return {
        name: _part_of(
            called, plain, insns & own, around, found, _trips(plain, around, launches.get(name, 0))
        )
        for name, (insns, around) in found.items()
    }


def _all_of(called: Called) -> Work:
    kernel, sizes, why = called.typed, called.sizes, list[str]()
    moved = done = None
    try:
        counts = gather_access_footprint_bytes(kernel)
        moved = sum(count.at(sizes) for count in counts.values())
    except UserError as error:
        why.append(error.what)
    try:
        done = operations_of(kernel, sizes)
    except UserError as error:
        why.append(error.what)
    return Work(moved, done, tuple(why))


_Part = tuple[frozenset[str], frozenset[str]]  # instructions, and inames of loops on the host


def _parts(nodes: Sequence[HostNode], around: frozenset[str]) -> Iterator[tuple[str, _Part]]:
    for node in nodes:
        if isinstance(node, Launch):
            yield node.name, (frozenset(carried_out(node.body)), around)
        else:
            assert isinstance(node, HostLoop)
            yield from _parts(node.body, around | {node.iname})


def _part_of(
    called: Called,
    plain: Kernel,
    insns: frozenset[str],
    around: frozenset[str],
    parts: Mapping[str, _Part],
    trips: Trips | None,
) -> Work:
    shared = sorted(i for i in insns if sum(i in others for others, _ in parts.values()) > 1)
    if shared:
        return Work(None, None, (f"'{shared[0]}' is part of several launches",))
    why = list[str]()
    moved = done = None
    try:
        moved = footprint_bytes_in(with_trips(plain, trips), insns, around).at(called.sizes)
    except UserError as error:
        why.append(error.what)
    try:
        ids = [f"id:{insn.id}" for insn in plain.assignments if insn.id in insns]
        done = operations_of(called.typed, called.sizes, ids, trips) if ids else {}
    except UserError as error:
        why.append(error.what)
    return Work(moved, done, tuple(why))


def _trips(kernel: Kernel, around: frozenset[str], launches: int) -> Trips | None:
    """Return how many iterations the loop around a launch had, if a condition ended it."""
    ended = around.intersection(names_of_ended_loops(kernel))
    if not ended or len(around) > 1:  # how many each time that it is reached, launches do not tell
        return None
    (iname,) = ended
    (loop,) = ended_loops(kernel, {iname: launches})
    return {iname: launches if loop.head is None else max(0, launches - 1)}
