"""`polygen.split_reduction_outward`."""

from __future__ import annotations

from polygen.ir.kernel import Kernel
from polygen.transformation import Inames, Within, to_names, transformation
from polygen.transforms.reductions.split_reduction_inward import nested


@transformation
def split_reduction_outward(kernel: Kernel, inames: Inames, within: Within | None = None) -> Kernel:
    """Make a reduction two, of which the outer one runs over some of the inames.

    ``sum((i, j, k), x)`` becomes ``sum(i, sum((j, k), x))`` for ``inames="i"``.  Reductions that
    do not run over all of these inames, or over no other, are left as they are.

    Kind: order and storage.

    Requires:
        1. Some reduction runs over all of these inames, and over others.
        2. The bounds of what becomes the outer reduction do not mention the inner inames.
        3. Reductions that share loops can still do so: they are not nested against each other.
        4. The kernel permits reassociation (`set_options`), or what is added up is an integer, or
           a minimum or maximum.

    Parameters:
        inames: ``"i"``, ``"i, j"``, or a sequence.
        within: the instructions: an id, a pattern, or several of these; all if not given.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<4 }", "total[0] = sum((i,j), a[i,j])")
        >>> knl = pg.split_reduction_outward(knl, "j")
        >>> print(str(knl).splitlines()[-2])
        [] total[0] = sum(j, sum(i, a[i, j]))  {id=insn}

    Raises:
        UnknownIname, UnknownInstruction: if the kernel has no such iname or instruction.
        NoSuchReduction: if 1 does not hold.
        InameNeeded: if 2 does not hold.
        ReductionNotNestable: if 3 does not hold.
        Reassociated: if 4 does not hold.

    Source: Loo.py's transformation of this name.
    """
    return nested(kernel, to_names(inames), within, inward=False)
