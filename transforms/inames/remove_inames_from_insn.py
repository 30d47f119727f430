"""`polygen.remove_inames_from_insn`."""

from __future__ import annotations

from polygen.errors import InameNotUsed
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.verify import excerpt
from polygen.language.within import matching
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Inames, Within, to_names, transformation


@transformation(says_more=True)
def remove_inames_from_insn(kernel: Kernel, inames: Inames, insn_match: Within) -> Rearranged:
    """Let some instructions be executed once instead of in each iteration of loops.

    Kind: order and storage.

    Requires:
        1. Each of the inames is one that some of the instructions are within.
        2. The instructions do not mention the inames, and are in no loop whose bounds do.
        3. Once or often makes no difference: what is written is the same in each iteration, and
           a write more than there was, if the loops have no iteration, is not seen.

    Parameters:
        inames: ``"i"``, ``"i, j"``, or a sequence.
        insn_match: the instructions: an id, a pattern, a query, or several of these.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j]: 0<=i<n and 0<=j<m }",
        ...     ["<> t = 2*a[i]  {id=t, inames=i:j}", "out[i,j] = t"],
        ...     name="rows",
        ...     loop_priority="i, j",
        ... )
        >>> knl = pg.add_dtypes(knl, {"a": "float32"})
        >>> print(pg.generate_code(pg.remove_inames_from_insn(knl, "j", "t"), "c"))
        void rows(float const *restrict a, int const m, int const n, float *restrict out)
        {
            for (int i = 0; i < n; ++i) {
                float const t = 2.0f * a[i];
                for (int j = 0; j < m; ++j)
                    out[i * m + j] = t;
            }
        }

    Raises:
        UnknownIname: if the kernel has no such iname.
        MalformedQuery, UnknownInstruction, UnknownArgument, UnknownName, NothingMatches: if
            `insn_match` means no instruction.
        InameNotUsed: if 1 does not hold.
        UnknownName, MalformedKernel: if 2 does not hold.
        IllegalStep, CannotProve, NotTheSame: if 3 does not hold.
        MalformedRelation: if a dependency on instances mentions one of the instructions.

    Source: Loo.py's transformation of this name.
    """
    gone = frozenset(to_names(inames))
    insns = matching(kernel, insn_match)
    for iname in sorted(gone):
        if not any(iname in insn.within_inames for insn in insns):
            raise InameNotUsed(
                f"remove_inames_from_insn: none of these instructions is within '{iname}'",
                where=caller_location(),
                excerpt=excerpt(kernel, *(insn.id for insn in insns)),
                remedy="name an iname that one of them is within",
            )
    # An instruction with fewer instances is not the one that it was: it has to write the values.
    others = {
        i.id: kernel.new_name(f"{i.id}_before")
        for i in insns
        if not gone.isdisjoint(i.within_inames)
    }

    def outside(insn: Instruction) -> Instruction:
        return insn.copy(within_inames=insn.within_inames - gone) if insn.id in others else insn

    return Rearranged(
        kernel.copy(instructions=tuple(map(outside, kernel.instructions))), ids=others
    )
