"""`polygen.remove_instructions`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from polygen.ir import walk
from polygen.ir.claims import Independent
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.language.within import matching
from polygen.transformation import Within, transformation


@transformation
def remove_instructions(kernel: Kernel, insn_ids: Within) -> Kernel:
    """Take out instructions of which nothing is seen.

    What depended on one comes after what that came after.  Temporaries that nothing mentions any
    more are gone, too.

    Kind: order and storage.

    Requires:
        1. Every argument holds the same in the end: what the instructions write is not read, or is
           written again before.

    Parameters:
        insn_ids: the instructions: an id, a pattern, a query, or several of these.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i]: 0<=i<n }", ["<> t = 3*a[i]  {id=t}", "out[i] = 2*a[i]"]
        ... )
        >>> for line in str(knl).splitlines()[-3:-1]:
        ...     print(line)
        [i] t = 3*a[i]  {id=t}
        [i] out[i] = 2*a[i]  {id=insn}
        >>> print(str(pg.remove_instructions(knl, "t")).splitlines()[-2])
        [i] out[i] = 2*a[i]  {id=insn}

    Raises:
        MalformedQuery, UnknownInstruction, UnknownIname, UnknownArgument, UnknownName,
            NothingMatches: if `insn_ids` means no instruction.
        IllegalStep, CannotProve: if 1 does not hold.

    Source: Loo.py's transformation of this name.
    """
    gone = {insn.id: insn for insn in matching(kernel, insn_ids)}
    kept = [_without(insn, gone) for insn in kernel.instructions if insn.id not in gone]
    unused = _mentioned(kernel, gone.values()) - _mentioned(kernel, kept)
    unused -= {name for domain in kernel.domains for name in domain.parameters}
    return kernel.copy(
        instructions=tuple(kept),
        temporaries=tuple([t for t in kernel.temporaries if t.name not in unused]),
        claims=tuple(
            [
                claim
                for claim in kernel.claims
                if not isinstance(claim, Independent) or gone.keys().isdisjoint(_about(claim))
            ]
        ),
    )


def _mentioned(kernel: Kernel, insns: Iterable[Instruction]) -> set[str]:
    """Return the names in instructions, and in the rules that there are."""
    rules = (walk.free_variables(rule.expression) for rule in kernel.substitutions)
    return set[str]().union(*(i.read_names.union(i.written_names) for i in insns), *rules)


def _about(claim: Independent) -> tuple[str, str]:
    return claim.first, claim.second


def _without(insn: Instruction, gone: Mapping[str, Instruction]) -> Instruction:
    return insn.copy(
        depends_on=_left(insn.depends_on, gone),
        happens_after=frozenset([r for r in insn.happens_after if r.first not in gone]),
        no_sync_with=frozenset([n for n in insn.no_sync_with if n[0] not in gone]),
    )


def _left(ids: Iterable[str], gone: Mapping[str, Instruction]) -> frozenset[str]:
    """Return what comes before by these dependencies, through those that are gone."""
    reached = dict.fromkeys(ids)
    todo = [i for i in reached if i in gone]
    for insn_id in todo:
        new = [i for i in gone[insn_id].depends_on if i not in reached]
        reached.update(dict.fromkeys(new))
        todo += [i for i in new if i in gone]
    return frozenset(reached).difference(gone)
