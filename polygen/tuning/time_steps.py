"""Steps of time: loops whose iterations need each other, around reductions.

for t:                                  Each step shares its sum among all work items, and is a
    s = sum(j, x[j])                    launch, or several; how many steps there are does not
    for i:                              matter for how that is done best.
        x[i] = x[i]/s
"""

from __future__ import annotations

from collections.abc import Iterable

from polygen.analysis.access.accesses import Reference, references
from polygen.analysis.dataflow.nest_parallelism import same_element_of
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
    return insn.within_inames - time_steps_of(kernel, insn)


def time_steps_of(kernel: Kernel, insn: Instruction) -> frozenset[str]:
    """Return the steps of time that an instruction is in."""
    return frozenset([i for i in insn.within_inames if is_time_step(kernel, i)])


def is_time_step(kernel: Kernel, iname: str) -> bool:
    """Tell whether somebody said that iterations come one after the other."""
    return kernel.tags.get(iname) == ForTag()


def _may_carry(kernel: Kernel, iname: str) -> bool:
    """Tell whether an element that is written in one iteration may be read in another."""
    inside = [r for i in kernel.instructions if iname in i.within_inames for r in references(i)]
    written: dict[str, list[Reference]] = {}
    for reference in inside:
        if reference.is_write and kernel.address_space(reference.name) is not AddressSpace.PRIVATE:
            written.setdefault(reference.name, []).append(reference)
    return any(
        not _mentions(write, iname) or write.index != r.index
        for r in inside
        if not r.is_write
        for write in written.get(r.name, ())
    )


def _mentions(reference: Reference, iname: str) -> bool:
    return any(iname in walk.free_variables(index) for index in reference.index)


def _is_parallel(kernel: Kernel, iname: str) -> bool:
    """Tell whether iterations can come in any order, as far as can be proved."""
    if same_element_of(kernel, iname) is not None:
        return False
    try:
        tag_inames(kernel, {iname: "g.0"})
    except UserError:
        return False
    return True
