"""Finds live variables: those that matter for the results."""

from __future__ import annotations

from polygen.analysis.access.domains import all_reads
from polygen.ir.array import GlobalArg
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel


@per_kernel
def live_variables(kernel: Kernel) -> frozenset[str]:
    """Return the variables from which values reach an array argument, these included.

    An instruction that writes no such variable could be left out.
    """
    found = {a.name for a in kernel.arguments if isinstance(a, GlobalArg)}
    pending = list(found)
    while pending:
        for writer in kernel.writers.get(pending.pop(), ()):
            new = all_reads(kernel, writer).intersection(kernel.variables).difference(found)
            found |= new
            pending += new
    return frozenset(found)
