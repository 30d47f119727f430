"""`polygen.remove_dependency`."""

from __future__ import annotations

from polygen.errors import NothingMatches
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.verify import excerpt
from polygen.language.within import matching
from polygen.source import caller_location
from polygen.transformation import Within, transformation


@transformation
def remove_dependency(kernel: Kernel, insn_match: Within, depends_on: Within) -> Kernel:
    """Take away dependencies that nothing needs; those on some instances only, too.

    Kind: order and storage.

    Requires:
        1. One of the instructions depends on one of the others.
        2. What is read is what was read before, and all instances that touch one element, one of
           them writing, are still in an order.

    Parameters:
        insn_match: the instructions that have the dependencies: an id, a pattern, a query, or
            several.
        depends_on: those that they depend on, in the same way.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i]: 0<=i<n }", ["b[i] = 2*a[i]  {id=twice}", "c[i] = a[i]  {dep=twice}"]
        ... )
        >>> print(str(knl).splitlines()[-2])
        [i] c[i] = a[i]  {id=insn, dep=twice}
        >>> print(str(pg.remove_dependency(knl, "insn", "twice")).splitlines()[-2])
        [i] c[i] = a[i]  {id=insn}

    Raises:
        MalformedQuery, UnknownInstruction, UnknownIname, UnknownArgument, UnknownName: if a query
            names what the kernel does not have.
        NothingMatches: if a query means no instruction, or if 1 does not hold.
        IllegalStep, CannotProve, NewObligation, NoLoopNest: if 2 does not hold.
    """
    later = {insn.id for insn in matching(kernel, insn_match)}
    earlier = {insn.id for insn in matching(kernel, depends_on)}

    def freed(insn: Instruction) -> Instruction:
        if insn.id not in later:
            return insn
        return insn.copy(
            depends_on=insn.depends_on - earlier,
            happens_after=frozenset([r for r in insn.happens_after if r.first not in earlier]),
        )

    new = kernel.copy(instructions=tuple(map(freed, kernel.instructions)))
    if new is kernel:
        raise NothingMatches(
            f"remove_dependency: nothing that '{insn_match}' means depends directly on anything "
            f"that '{depends_on}' means",
            where=caller_location(),
            excerpt=excerpt(kernel, *sorted(later)),
            remedy="name the instruction that has dep=, then what that names",
        )
    return new
