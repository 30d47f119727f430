"""`polygen.add_inames_to_insn`."""

from __future__ import annotations

from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.language.within import matching
from polygen.proof import Rearranged
from polygen.transformation import Inames, Within, to_names, transformation


@transformation(says_more=True)
def add_inames_to_insn(kernel: Kernel, inames: Inames, insn_match: Within) -> Rearranged:
    """Let some instructions be executed in each iteration of further loops.

    Kind: order and storage.

    Requires:
        1. The instructions are within what the bounds of the loops need, and reduce over none of
           the inames.
        2. Once or often makes no difference: what the instructions write is the same each time,
           and the loops have an iteration at least wherever it is needed.

    Parameters:
        inames: ``"i"``, ``"i, j"``, or a sequence.
        insn_match: the instructions: an id, a pattern, a query, or several of these.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j]: 0<=i<n and 0<=j<4 }",
        ...     ["<> t = 2*a[i]  {id=t, inames=i}", "out[i,j] = t  {id=out}"],
        ...     name="rows",
        ...     loop_priority="i, j",
        ... )
        >>> knl = pg.add_dtypes(knl, {"a": "float32"})
        >>> print(pg.generate_code(pg.add_inames_to_insn(knl, "j", "t"), "c"))
        void rows(float const *restrict a, int const n, float *restrict out)
        {
            for (int i = 0; i < n; ++i) {
                for (int j = 0; j < 4; ++j) {
                    float const t = 2.0f * a[i];
                    out[4 * i + j] = t;
                }
            }
        }

    Raises:
        UnknownIname: if the kernel has no such iname.
        MalformedQuery, UnknownInstruction, UnknownArgument, UnknownName, NothingMatches: if
            `insn_match` means no instruction.
        MalformedKernel: if 1 does not hold.
        IllegalStep, CannotProve, NotTheSame, NoLoopNest: if 2 does not hold.
        MalformedRelation: if a dependency on instances mentions one of the instructions.

    Source: Loo.py's transformation of this name.
    """
    added = frozenset(to_names(inames))
    insns = matching(kernel, insn_match)
    # An instruction with more instances is not the one that it was: it has to write the values.
    others = {
        i.id: kernel.new_name(f"{i.id}_before") for i in insns if not added <= i.within_inames
    }

    def inside(insn: Instruction) -> Instruction:
        return insn.copy(within_inames=insn.within_inames | added) if insn.id in others else insn

    new = kernel.copy(instructions=tuple(map(inside, kernel.instructions)))
    return Rearranged(new, ids=others)
