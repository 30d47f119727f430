"""`polygen.add_barrier`."""

from __future__ import annotations

from typing import Annotated

from polygen.errors import InvalidArgument
from polygen.ir.array import AddressSpace
from polygen.ir.instruction import Barrier, Instruction
from polygen.ir.kernel import Kernel
from polygen.language.within import matching
from polygen.source import caller_location
from polygen.transformation import (
    Inames,
    Kind,
    Name,
    Names,
    Within,
    is_one_of,
    to_names,
    transformation,
)

_SCOPES = {"local": AddressSpace.LOCAL, "global": AddressSpace.GLOBAL}

WhoWaits = Annotated[str, Kind("'local' or 'global'", is_one_of(tuple(_SCOPES)))]


@transformation(says_more=True)
def add_barrier(
    kernel: Kernel,
    insn_before: Within | None = None,
    insn_after: Within | None = None,
    id_based_on: Name | None = None,
    tags: Names | None = None,
    synchronization_kind: WhoWaits = "global",
    within_inames: Inames | None = None,
) -> Kernel:
    """Let all work items wait for each other between some instructions and others.

    Where work items have to wait, code has barriers anyway; this is for those that one wants
    elsewhere, or besides.

    Kind: order and storage.

    Requires:
        1. Instructions are named that come before the barrier, or after it, or both.
        2. No instruction comes to depend on itself, and the order of instructions that touch one
           element does not change: what the barrier separates comes in this order already, or
           may come in any.

    Parameters:
        insn_before: the instructions that are over before the barrier: an id, a pattern, a query,
            or several of these.
        insn_after: those that begin after it, in the same way.
        id_based_on: the id of the barrier, or what it begins with; ``barrier`` if not given.
        tags: names by which queries find the barrier.
        synchronization_kind: ``"local"``, the work items of a group wait for each other, or
            ``"global"``, all do.
        within_inames: the loops that it is in; if not given, those that all of these instructions
            are in.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i]: 0<=i<n }", ["b[i] = 2*a[i]  {id=first}", "c[i] = a[i]  {id=second}"]
        ... )
        >>> knl = pg.add_barrier(knl, "first", "second", synchronization_kind="local")
        >>> for line in str(knl).splitlines()[-4:-1]:
        ...     print(line)
        [i] b[i] = 2*a[i]  {id=first}
        [i] c[i] = a[i]  {id=second, dep=barrier}
        [i] ... lbarrier  {id=barrier, dep=first}

    Raises:
        MalformedQuery, UnknownInstruction, UnknownIname, UnknownArgument, UnknownName,
            NothingMatches: if a query means no instruction.
        InvalidArgument: if 1 does not hold, or if another argument is of the wrong kind.
        DependencyCycle, NoLoopNest, IllegalStep, CannotProve: if 2 does not hold.

    Source: Loo.py's transformation of this name.
    """
    before = _meant(kernel, insn_before)
    after = _meant(kernel, insn_after)
    if not (before or after):
        raise InvalidArgument(
            "add_barrier was not told where: neither insn_before nor insn_after is given",
            where=caller_location(),
            remedy="name the instructions that come before it, and those that come after",
        )
    barrier = Barrier(
        kernel.new_name(id_based_on or "barrier"),
        _SCOPES[synchronization_kind],
        within_inames=_shared(before + after) if within_inames is None else _set(within_inames),
        depends_on=frozenset([insn.id for insn in before]),
        tags=_set(tags or ()),
    )
    waiting = {insn.id for insn in after}

    def behind(insn: Instruction) -> Instruction:
        if insn.id not in waiting:
            return insn
        return insn.copy(depends_on=insn.depends_on | {barrier.id})

    return kernel.copy(instructions=(*map(behind, kernel.instructions), barrier))


def _meant(kernel: Kernel, query: Within | None) -> tuple[Instruction, ...]:
    return () if query is None else matching(kernel, query)


def _set(names: Names | Inames) -> frozenset[str]:
    return frozenset(to_names(names))


def _shared(insns: tuple[Instruction, ...]) -> frozenset[str]:
    """Return the inames that all of them are within."""
    first, *others = [insn.within_inames for insn in insns]
    return first.intersection(*others)
