"""`polygen.add_nosync`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated

from polygen.errors import NothingMatches
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.verify import excerpt
from polygen.language.within import matching
from polygen.source import caller_location
from polygen.transformation import Kind, Within, is_one_of, transformation

_SCOPES = ("local", "global", "any")

Scope = Annotated[str, Kind("'local', 'global' or 'any'", is_one_of(_SCOPES))]


@transformation
def add_nosync(
    kernel: Kernel,
    scope: Scope,
    source: Within,
    sink: Within,
    bidirectional: bool = False,
    force: bool = False,
    empty_ok: bool = False,
) -> Kernel:
    """Say that no work item has to wait for another between some instructions and others.

    Where that is wrong, code is refused (`WaitNeeded`), not made without the barrier.  So this
    serves to make sure of an absence of barriers.

    Kind: order and storage.

    Requires:
        1. One of the sinks depends on one of the sources, also through other instructions, or is
           in a group that conflicts with one of a source's.
        2. When code is generated: they touch no shared element in different work items.

    Parameters:
        scope: which variables it is about: those in ``"local"`` or ``"global"`` memory, or
            ``"any"``.
        source: the instructions that come first: an id, a pattern, a query, or several of these.
        sink: those that need not wait, in the same way.
        bidirectional: the sources need not wait for the sinks either.
        force: 1 need not hold.
        empty_ok: if there are no such instructions, the kernel stays as it is.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i]: 0<=i<n }", ["b[i] = 2*a[i]  {id=first}", "c[i] = b[i]  {id=second}"]
        ... )
        >>> knl = pg.add_nosync(knl, "global", "first", "second")
        >>> print(str(knl).splitlines()[-2])
        [i] c[i] = b[i]  {id=second, dep=first, nosync=first@global}

    Raises:
        MalformedQuery, UnknownInstruction, UnknownIname, UnknownArgument, UnknownName: if a query
            names what the kernel does not have.
        NothingMatches: if a query means no instruction, or if 1 does not hold.
        InvalidArgument: if another argument is of the wrong kind.

    Source: Loo.py's transformation of this name.
    """
    sources = matching(kernel, source)
    sinks = matching(kernel, sink)
    marks: dict[str, set[tuple[str, str]]] = {}
    for late in sinks:
        before = _all_before(kernel.instructions_by_id, late.id)
        for early in sources:
            if early.id != late.id and (force or early.id in before or _exclude(early, late)):
                marks.setdefault(late.id, set()).add((early.id, scope))
                if bidirectional:
                    marks.setdefault(early.id, set()).add((late.id, scope))
    if not marks and not empty_ok:
        raise NothingMatches(
            f"add_nosync: nothing that '{sink}' means depends on anything that '{source}' means",
            where=caller_location(),
            excerpt=excerpt(kernel, *(insn.id for insn in sinks)),
            remedy="name first the instruction that comes first; or say force=True",
        )
    return kernel.copy(
        instructions=tuple(
            [
                i.copy(no_sync_with=i.no_sync_with | marks[i.id]) if i.id in marks else i
                for i in kernel.instructions
            ]
        )
    )


def _all_before(insns: Mapping[str, Instruction], insn_id: str) -> Collection[str]:
    """Return what an instruction depends on, directly or not."""
    found: dict[str, None] = {}
    todo = [insn_id]
    for later in todo:
        insn = insns[later]
        new = insn.depends_on.union(r.first for r in insn.happens_after).difference(found)
        found.update(dict.fromkeys(sorted(new)))
        todo += sorted(new)
    return found


def _exclude(first: Instruction, second: Instruction) -> bool:
    """Tell whether one of the two conflicts with a group that the other is in."""
    return not (
        first.groups.isdisjoint(second.conflicts_with_groups)
        and second.groups.isdisjoint(first.conflicts_with_groups)
    )
