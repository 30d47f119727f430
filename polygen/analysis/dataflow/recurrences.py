"""Recurrences: instructions that read, directly or through others, what they wrote before.

``s = s + a[j]`` is one, and so are two instructions that read each other's results.  What they
compute is a chain as long as their loops, which no comparison follows to its beginning.
"""

from __future__ import annotations

from polygen.analysis.access.accesses import references
from polygen.analysis.dataflow.read_sources import overlapping, sources
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel


@per_kernel
def is_recurrence(kernel: Kernel, insn_id: str) -> bool:
    """Tell whether an instruction reads, directly or through others, what it wrote before."""
    pending, seen = [insn_id], set[str]()
    while pending:
        found = _read_from(kernel, pending.pop()) - seen
        if insn_id in found:
            return True
        seen |= found
        pending += sorted(found)
    return False


@per_kernel
def _read_from(kernel: Kernel, insn_id: str) -> frozenset[str]:
    """Return the instructions that wrote what one reads, as far as that is known."""
    reads = [use for use in references(kernel.instruction(insn_id)) if not use.is_write]
    known = [sources(kernel, r) for r in reads if len(overlapping(kernel, r.name)) == 1]
    return frozenset(s.writer for several in known for s in several or () if s.writer is not None)
