"""Steps of time: loops whose iterations need each other, around reductions.

for t:                                  Each step shares its sum among all work items, and is a
    s = sum(j, x[j])                    launch, or several; how many steps there are does not
    for i:                              matter for how that is done best.
        x[i] = x[i]/s
"""

from __future__ import annotations

from collections.abc import Iterable

from polygen.analysis.access.accesses import Reference, references
from polygen.errors import UserError
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.empty import NO_NAMES
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.tags import ForTag
from polygen.transforms.inames.tag_inames import tag_inames


def with_time_steps(kernel: Kernel, ids: Iterable[str]) -> Kernel:
    """Return the kernel with loops tagged ``for`` whose iterations need each other.

    Parameters:
        kernel: the kernel.
        ids: the instructions around which these are.
    """
    plain = kernel.expanded
    around = NO_NAMES.union(*(plain.instruction(name).within_inames for name in ids))
    free = [i for i in kernel.inames if i in around and i not in kernel.tags]
    steps = [iname for iname in free if _may_carry(plain, iname) and not _is_parallel(plain, iname)]
    return tag_inames(kernel, dict.fromkeys(steps, "for")) if steps else kernel


def results_of(kernel: Kernel, insn: Instruction) -> frozenset[str]:
    """Return the loops around an instruction, steps of time left out: of one, it is in each."""
    return frozenset([i for i in insn.within_inames if not is_time_step(kernel, i)])


def is_time_step(kernel: Kernel, iname: str) -> bool:
    """Tell whether somebody said that iterations come one after the other."""
    return kernel.tags.get(iname) == ForTag()


def _may_carry(kernel: Kernel, iname: str) -> bool:
    """Tell whether an element that is written in one iteration may be read in another."""
    inside = [r for i in kernel.instructions if iname in i.within_inames for r in references(i)]
    written = {r.name for r in inside if r.is_write and not _mentions(r, iname)}
    return any(
        not r.is_write and kernel.address_space(r.name) is not AddressSpace.PRIVATE
        for r in inside
        if r.name in written
    )


def _mentions(reference: Reference, iname: str) -> bool:
    return any(iname in walk.free_variables(index) for index in reference.index)


def _is_parallel(kernel: Kernel, iname: str) -> bool:
    """Tell whether iterations can come in any order, as far as can be proved."""
    try:
        tag_inames(kernel, {iname: "g.0"})
    except UserError:
        return False
    return True
