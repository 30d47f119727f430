"""All obligations of a kernel, for people: those of its accesses and those of its powers.

Steps, and what else compares obligations, look at those of accesses alone
(`polygen.analysis.wellformed.check`): a power of integers with a negative exponent is 1, so that
wherever a step computes it, nothing goes wrong.
"""

from __future__ import annotations

from polygen.analysis.wellformed import check
from polygen.analysis.wellformed.integer_powers import power_obligations
from polygen.analysis.wellformed.obligations import Obligation
from polygen.ir.kernel import Kernel
from polygen.ir.public import public


@public
def obligations(kernel: Kernel) -> tuple[Obligation, ...]:
    r"""Return what has to hold for a kernel to be well formed, where data decides.

    A call with ``check_assumptions=True`` checks these on its arguments.  Exponents are listed
    where they are known to be of integers: once the types of arguments are declared.

    Raises:
        UserError: if the kernel is not well formed, as `check_well_formed` says.

    >>> import polygen as pg
    >>> table = pg.GlobalArg("table", shape="m")
    >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = table[idx[i]]", [table, "..."])
    >>> print(*pg.obligations(knl), sep="\n")
    insn: table[idx[i]] is inside of 'table': 0 <= idx[i] < m
    >>> k = pg.GlobalArg("k", "int32", "n")
    >>> print(*pg.obligations(pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = 2**k[i]", [k, "..."])))
    insn: 2**k[i] is a power of integers: k[i] >= 0
    """
    return (*check.obligations(kernel), *power_obligations(kernel))
