"""Decides whether results depend on the order of work items."""

from __future__ import annotations

from polygen.analysis.typing.inference import infer_types
from polygen.errors import NotDeterministic
from polygen.ir import expression as ex
from polygen.ir.dtype import is_exact
from polygen.ir.instruction import Assigning, Assignment, CInstruction, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.tags import is_on_axis
from polygen.ir.verify import excerpt


def check_deterministic(kernel: Kernel) -> None:
    """Refuse atomic updates whose results depend on the order of work items, which is none.

    Those of numbers that round do.  Extrema are among them: of two zeros, which are equal, the
    first one stays.  So do old values, of numbers of any type.

    Parameters:
        kernel: the types of its inputs are known.

    Raises:
        NotDeterministic: if there is such an update.
    """
    for insn in kernel.instructions:
        if not any(is_on_axis(kernel.tags.get(iname)) for iname in insn.within_inames):
            continue
        if isinstance(insn, CInstruction) and insn.atomicity is not None:
            what = "is verbatim C that work items execute in any order"
            remedy = "leave its loops sequential"
        elif isinstance(insn, Assigning) and insn.atomicity and insn.atomicity.any_order:
            what = "returns old values in the order in which work items come to it"
            remedy = "leave its loops sequential, find places by a running sum (cumsum)"
        elif _is_in_any_order(kernel, insn):
            what = "updates floating-point numbers in the order in which work items come to it"
            remedy = (
                "reduce in two passes (parallelize_reduction), count in integers, leave out "
                "{atomic} where no two work items update the same element"
            )
        else:
            continue
        raise NotDeterministic(
            f"instruction '{insn.id}' {what}, which the option deterministic rules out",
            where=insn.location,
            excerpt=excerpt(kernel, insn.id),
            remedy=f"{remedy}, or leave out the option",
        )


def _is_in_any_order(kernel: Kernel, insn: Instruction) -> bool:
    """Tell whether an instruction is an atomic update of numbers that round."""
    if not isinstance(insn, Assignment) or insn.atomicity is None or insn.atomicity.init:
        return False
    dtype = infer_types(kernel, complete=False).variables[ex.name_of(insn.assignee)].dtype
    return dtype is None or not is_exact(dtype)
