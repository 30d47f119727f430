"""`polygen.add_dependency`."""

from __future__ import annotations

from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.language.within import matching
from polygen.transformation import Within, transformation


@transformation(says_more=True)
def add_dependency(kernel: Kernel, insn_match: Within, depends_on: Within) -> Kernel:
    """Let some instructions come after others, within the loops that both are in.

    An instruction that both queries mean does not come to depend on itself.

    Kind: order and storage.

    Requires:
        1. No instruction comes to depend on itself, through others or through loops.
        2. What is read is what was read before: the order of instructions that touch one element
           does not change.

    Parameters:
        insn_match: the instructions that come later: an id, a pattern, a query, or several.
        depends_on: those that come before, in the same way.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i]: 0<=i<n }", ["b[i] = 2*a[i]  {id=twice}", "c[i] = a[i] + 1  {id=add}"]
        ... )
        >>> knl = pg.add_dependency(knl, "twice", "add")
        >>> for line in str(knl).splitlines()[-3:-1]:
        ...     print(line)
        [i] b[i] = 2*a[i]  {id=twice, dep=add}
        [i] c[i] = a[i] + 1  {id=add}

    Raises:
        MalformedQuery, UnknownInstruction, UnknownIname, UnknownArgument, UnknownName,
            NothingMatches: if a query means no instruction.
        DependencyCycle, NoLoopNest: if 1 does not hold.
        IllegalStep, CannotProve: if 2 does not hold.

    Source: Loo.py's transformation of this name.
    """
    later = {insn.id for insn in matching(kernel, insn_match)}
    earlier = frozenset([insn.id for insn in matching(kernel, depends_on)])

    def ordered(insn: Instruction) -> Instruction:
        if insn.id not in later:
            return insn
        return insn.copy(depends_on=insn.depends_on | earlier - {insn.id})

    return kernel.copy(instructions=tuple(map(ordered, kernel.instructions)))
