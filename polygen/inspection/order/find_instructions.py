"""`polygen.find_instructions`."""

from __future__ import annotations

from collections.abc import Sequence

from polygen.errors import NothingMatches
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.language.within import matching


@public
def find_instructions(
    kernel: Kernel, insn_match: str | Sequence[str] | None = None
) -> tuple[Instruction, ...]:
    """Return the instructions of a kernel that a query means, in their order.

    Parameters:
        kernel: the kernel.
        insn_match: an id, a pattern such as ``"load_*"``, a query such as
            ``"writes:a and not iname:j"``, or several of these; all instructions if not given.

    Example:
        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i]: 0<=i<n }", ["b[i] = 2*a[i]  {id=twice}", "c[i] = b[i] + 1  {id=add}"]
        ... )
        >>> [insn.id for insn in pg.find_instructions(knl, "reads:b")]
        ['add']
        >>> pg.find_instructions(knl, "reads:c")
        ()

    Raises:
        MalformedQuery: if it is no query.
        UnknownInstruction, UnknownIname, UnknownArgument, UnknownName: if it names what the kernel
            does not have.

    Source: Loo.py's function of this name.
    """
    try:
        return matching(kernel, insn_match)
    except NothingMatches:
        return ()
