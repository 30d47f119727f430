"""Flags of loops: scalars that each instruction in a loop asks, and that the loop itself clears.

Where such a flag is 0 as an iteration begins, nothing changes from there on: what could set the
flag again is in the loop, and asks it.  So the loop may stop there.  An instruction asks a flag by
a predicate, or, if it assigns to the flag, by ``flag = if(flag and c, 1, 0)``, which leaves 0 as it
is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.any_instruction import Instruction
from polygen.ir.array import TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment, Barrier, NoOp
from polygen.ir.kernel import Kernel


def asked_flags(insn: Instruction) -> tuple[str, ...]:
    """Return the scalars that an instruction is executed for only if they are not 0."""
    asked = [*insn.predicates, *_cleared(insn)]
    parts = (part for condition in asked for part in walk.conjuncts(condition))
    return tuple(dict.fromkeys([part.name for part in parts if isinstance(part, ex.Variable)]))


def _cleared(insn: Instruction) -> Iterator[Expression]:
    """Yield the flag that an instruction changes, if it does so only where that is not 0."""
    if not isinstance(insn, Assignment) or not isinstance(insn.assignee, ex.Variable):
        return
    flag, value = insn.assignee, insn.expression
    is_zero = isinstance(value, int) and value == 0
    if isinstance(value, ex.If) and isinstance(value.else_, int) and value.else_ == 0:
        is_zero = flag in walk.conjuncts(value.condition)
    if is_zero:
        yield flag


def asks(insn: Instruction, flag: str) -> bool:
    """Tell whether an instruction changes nothing where a scalar is 0."""
    return flag in asked_flags(insn)


def loop_flags(kernel: Kernel, insns: Sequence[Instruction]) -> tuple[str, ...]:
    """Return the flags of a loop: if one of them is 0, nothing in it changes anything any more.

    But for temporaries that nothing else uses, which have to pass nothing between iterations.

    Parameters:
        kernel: the kernel.
        insns: the instructions in the loop.
    """
    inside = [insn for insn in insns if not isinstance(insn, Barrier | NoOp)]
    asking = sorted(map(asked_flags, inside), key=len, reverse=True)
    found = dict.fromkeys(name for names in asking for name in names)
    flags = [name for name in found if _is_flag(kernel, name)]
    if not flags:
        return ()
    alone = _used_in(kernel, insns)
    return tuple(
        [
            name
            for name in flags
            if all(asks(i, name) or (alone - {name}).issuperset(i.written_names) for i in inside)
        ]
    )


def unasked(insns: Sequence[Instruction], flags: Sequence[str]) -> frozenset[str]:
    """Return the temporaries that a loop may change where one of its flags is 0."""
    inside = [insn for insn in insns if not isinstance(insn, Barrier | NoOp)]
    changing = [i for i in inside if not all(asks(i, flag) for flag in flags)]
    return frozenset([name for insn in changing for name in insn.written_names])


def _used_in(kernel: Kernel, insns: Sequence[Instruction]) -> frozenset[str]:
    """Return the temporaries that only some instructions use."""
    own = {insn.id for insn in insns}
    found = {t.name for t in kernel.temporaries if not t.read_only}
    for insn in kernel.instructions:
        if insn.id not in own:
            found -= insn.read_names.union(insn.written_names)
    return frozenset(found.difference(*[d.parameters for d in kernel.domains]))


def _is_flag(kernel: Kernel, name: str) -> bool:
    variable = kernel.variables.get(name)
    return (
        isinstance(variable, TemporaryVariable)
        and not variable.shape
        and not variable.read_only
        and not any(i.asynchronous or i.atomicity for i in kernel.writers.get(name, ()))
    )


def may_end(kernel: Kernel, insns: Sequence[Instruction]) -> tuple[str, ...]:
    """Return the flags of a loop of which something in the loop changes one; else nothing."""
    flags = loop_flags(kernel, insns)
    written = {name for insn in insns for name in insn.written_names}
    return flags if not written.isdisjoint(flags) else ()
