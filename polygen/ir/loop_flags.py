"""Flags of loops: scalars that each instruction in a loop asks, and that the loop itself clears.

Where such a flag is 0 as an iteration begins, nothing is executed from there on: what could set the
flag again is in the loop, and asks it.  So the loop may stop there.
"""

from __future__ import annotations

from collections.abc import Iterable

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.any_instruction import Instruction
from polygen.ir.array import TemporaryVariable
from polygen.ir.instruction import Barrier, NoOp
from polygen.ir.kernel import Kernel


def asked_flags(insn: Instruction) -> tuple[str, ...]:
    """Return the scalars that an instruction is executed for only if they are not 0."""
    parts = (part for predicate in insn.predicates for part in walk.conjuncts(predicate))
    return tuple(dict.fromkeys([part.name for part in parts if isinstance(part, ex.Variable)]))


def loop_flags(kernel: Kernel, insns: Iterable[Instruction]) -> tuple[str, ...]:
    """Return the flags of a loop: if one of them is 0, nothing in it is executed any more.

    Parameters:
        kernel: the kernel.
        insns: the instructions in the loop.
    """
    inside = [insn for insn in insns if not isinstance(insn, Barrier | NoOp)]
    if not inside:
        return ()
    common = list(asked_flags(inside[0]))
    for insn in inside[1:]:
        asked = asked_flags(insn)
        common = [name for name in common if name in asked]
    return tuple([name for name in common if _is_flag(kernel, name)])


def _is_flag(kernel: Kernel, name: str) -> bool:
    variable = kernel.variables.get(name)
    return (
        isinstance(variable, TemporaryVariable)
        and not variable.shape
        and not variable.read_only
        and not any(i.asynchronous or i.atomicity for i in kernel.writers.get(name, ()))
    )


def may_end(kernel: Kernel, insns: Iterable[Instruction]) -> tuple[str, ...]:
    """Return the flags of a loop of which something in the loop changes one; else nothing."""
    inside = tuple(insns)
    flags = loop_flags(kernel, inside)
    written = {name for insn in inside for name in insn.written_names}
    return flags if not written.isdisjoint(flags) else ()
