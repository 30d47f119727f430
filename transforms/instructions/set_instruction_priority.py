"""`polygen.set_instruction_priority`."""

from __future__ import annotations

from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.language.within import matching
from polygen.transformation import Within, transformation


@transformation(says_more=True)
def set_instruction_priority(kernel: Kernel, insn_match: Within, priority: int) -> Kernel:
    """Say which instructions come first in the code where several may: those of high priority.

    A priority is advice: it gives way to dependencies, and no result depends on it.

    Kind: order and storage.

    Parameters:
        insn_match: the instructions: an id, a pattern, a query, or several of these.
        priority: their priority from now on; 0 is that of instructions of which nothing is said.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", ["b[i] = a[i]", "c[i] = 2*a[i]  {id=twice}"])
        >>> knl = pg.add_dtypes(knl, {"a": "float32"})
        >>> knl = pg.set_instruction_priority(knl, "twice", 1)
        >>> for line in str(pg.generate_code(knl, "c")).splitlines()[2:5]:
        ...     print(line)
            for (int i = 0; i < n; ++i) {
                c[i] = 2.0f * a[i];
                b[i] = a[i];

    Raises:
        MalformedQuery, UnknownInstruction, UnknownIname, UnknownArgument, UnknownName,
            NothingMatches: if `insn_match` means no instruction.
        InvalidArgument: if `priority` is no integer.

    Source: Loo.py's transformation of this name.
    """
    meant = {insn.id for insn in matching(kernel, insn_match)}

    def preferred(insn: Instruction) -> Instruction:
        return insn.copy(priority=priority) if insn.id in meant else insn

    return kernel.copy(instructions=tuple(map(preferred, kernel.instructions)))
