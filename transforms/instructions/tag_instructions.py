"""`polygen.tag_instructions`."""

from __future__ import annotations

from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.language.within import matching
from polygen.transformation import Name, Within, transformation


@transformation(says_more=True)
def tag_instructions(kernel: Kernel, new_tag: Name, within: Within | None = None) -> Kernel:
    """Give instructions a tag, by which queries find them: ``within="tag:load"``.

    Kind: order and storage; nothing changes but which instructions later queries mean.

    Parameters:
        new_tag: a name; tags that the instructions have already stay.
        within: the instructions: an id, a pattern, a query, or several of these; all if not given.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", ["b[i] = a[i]", "c[i] = 2*a[i]"])
        >>> knl = pg.tag_instructions(knl, "scaled", "writes:c")
        >>> for line in str(knl).splitlines()[-3:-1]:
        ...     print(line)
        [i] b[i] = a[i]  {id=insn}
        [i] c[i] = 2*a[i]  {id=insn_0, tags=scaled}

    Raises:
        MalformedQuery, UnknownInstruction, UnknownIname, UnknownArgument, UnknownName,
            NothingMatches: if `within` means no instruction.
        InvalidArgument: if `new_tag` is no name.

    Source: Loo.py's transformation of this name.
    """
    meant = {insn.id for insn in matching(kernel, within)}

    def tagged(insn: Instruction) -> Instruction:
        return insn.copy(tags=insn.tags | {new_tag}) if insn.id in meant else insn

    return kernel.copy(instructions=tuple(map(tagged, kernel.instructions)))
