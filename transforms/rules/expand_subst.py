"""`polygen.expand_subst`."""

from __future__ import annotations

from polygen.ir.kernel import Kernel
from polygen.ir.substitution import expand, used_rules
from polygen.language.within import matching
from polygen.transformation import Within, transformation


@transformation
def expand_subst(kernel: Kernel, within: Within | None = None) -> Kernel:
    """Replace invocations of substitution rules by what they stand for.

    Rules that nothing invokes afterwards are gone.

    Kind: expression rewrite.

    Parameters:
        within: the instructions: an id, a pattern, or several of these; all if not given.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", ["f(x) := x*a[x]", "out[i] = f(2*i)"])
        >>> print(str(knl).splitlines()[-2])
        [i] out[i] = f(2*i)  {id=insn}
        >>> print(str(pg.expand_subst(knl)).splitlines()[-2])
        [i] out[i] = (2*i)*a[2*i]  {id=insn}

    Raises:
        UnknownInstruction: if the kernel has no such instruction.

    Source: Loo.py's transformation of this name.
    """
    insns = matching(kernel, within)
    ids = {insn.id for insn in insns}
    gone = used_rules([use for insn in insns for use in insn.invocations], kernel.rules)
    new = kernel.copy(
        instructions=tuple(
            insn.map_expressions(lambda e: expand(e, kernel.rules)) if insn.id in ids else insn
            for insn in kernel.instructions
        )
    )
    return new.without_unused(kernel.rules if within is None else gone)
