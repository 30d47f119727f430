"""Dependencies on what an instruction meets alone: an order that nothing needs is in the way.

b[i] = 2*a[i]   {id=first}                  b[i] = 2*a[i]   {id=first}
c = 3           {id=next, dep=first}   ->   c = 3           {id=next}
d[j] = b[j]     {id=last, dep=next}         d[j] = b[j]     {id=last, dep=first}
"""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import TopologicalSorter

from polygen.errors import CannotProve, IllegalStep
from polygen.ir.instruction import Assigning, Instruction
from polygen.ir.kernel import Kernel
from polygen.transforms.instructions.add_dependency import add_dependency
from polygen.transforms.instructions.remove_dependency import remove_dependency


def with_direct_dependencies(kernel: Kernel) -> Kernel:
    """Return the kernel with dependencies on what an instruction meets, and on nothing else."""
    above: dict[str, set[str]] = {}
    for insn in _in_order(kernel):
        direct = insn.depends_on
        above[insn.id] = {*direct, *(name for dep in direct for name in above[dep])}
        met = {dep for dep in above[insn.id] if _meet(kernel.instruction(dep), insn)}
        if missing := sorted(met - direct):
            kernel = add_dependency(kernel, f"id:{insn.id}", [f"id:{dep}" for dep in missing])
        kernel = _freed(kernel, insn.id, sorted(direct - met))
    return kernel


def _freed(kernel: Kernel, insn_id: str, idle: Sequence[str]) -> Kernel:
    """Return the kernel without dependencies of an instruction, unless an order rests on them."""
    if not idle:
        return kernel
    try:
        return remove_dependency(kernel, f"id:{insn_id}", [f"id:{name}" for name in idle])
    except (IllegalStep, CannotProve):
        return kernel


def _in_order(kernel: Kernel) -> list[Instruction]:
    """Return the instructions, each after those that it depends on."""
    graph = {insn.id: insn.depends_on for insn in kernel.instructions}
    return [kernel.instruction(name) for name in TopologicalSorter(graph).static_order()]


def _meet(first: Instruction, second: Instruction) -> bool:
    """Tell whether one of two instructions writes what the other touches."""
    if not (isinstance(first, Assigning) and isinstance(second, Assigning)):
        return True
    written, later = set(first.written_names), set(second.written_names)
    touched = later.union(second.read_names)
    return not (written.isdisjoint(touched) and later.isdisjoint(first.read_names))
