"""Names the call that an inlined instruction came from."""

from __future__ import annotations

from collections.abc import Mapping

from polygen.analysis.expansion.inlining import parts_of_calls
from polygen.ir.instruction import KernelCall
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel


@per_kernel
def calls_of_parts(kernel: Kernel) -> Mapping[str, KernelCall]:
    """Return the calls that instructions of `Kernel.expanded` are parts of, by their ids.

    A call of what is not known is an instruction itself.
    """
    if not kernel.calls:
        return {}
    ids = parts_of_calls(kernel)
    calls = kernel.without_rules.calls
    return {part: call for call in calls for part in ids.get(call.id, ())}


def called_from(kernel: Kernel, insn_id: str) -> str:
    """Return where an instruction of `Kernel.expanded` comes from; '' if it is in no call.

    For example: ``'insn' of kernel 'squares', in the call 'norm' of kernel 'unit', in the call
    'rows'``.
    """
    call = calls_of_parts(kernel).get(insn_id)
    if call is None:
        return ""
    assert call.callee is not None
    callee: Kernel = call.callee
    position = parts_of_calls(kernel)[call.id].index(insn_id)
    own = callee.expanded.instructions[position].id
    inner = called_from(callee, own) or f"'{own}'"
    return f"{inner} of kernel '{callee.name}', in the call '{call.id}'"
