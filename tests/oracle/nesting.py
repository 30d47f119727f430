"""Which loops are around which."""

from __future__ import annotations

from collections.abc import Sequence

from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from tests.oracle.lanes import parallel_inames
from tests.oracle.points import surrounding


def loops_outside(kernel: Kernel, insns: Sequence[Instruction]) -> dict[str, set[str]]:
    """Return what structure and priorities put outside of each iname, in this order of weight."""
    parallel = parallel_inames(kernel)
    inside = {i: {n.id for n in insns if i in n.within_inames} for i in kernel.inames}
    loops = [i for i in kernel.inames if inside[i] and i not in parallel]
    pairs = [(outer, i) for i in kernel.inames for outer in sorted(surrounding(kernel, i))]
    pairs += [(a, b) for a in loops for b in loops if inside[a] > inside[b]]
    for names in kernel.priorities:
        known = [i for i in names if i in loops]
        pairs += [(outer, inner) for at, inner in enumerate(known) for outer in known[:at]]
    found: dict[str, set[str]] = {i: set() for i in kernel.inames}
    for outer, inner in pairs:
        if inner not in found[outer]:  # else the other way round is settled
            for other in kernel.inames:
                if other == inner or inner in found[other]:
                    found[other] |= {outer, *found[outer]}
    return found
