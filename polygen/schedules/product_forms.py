"""Brings sums of products into the form that tiles are made of: two factors, of rows and columns.

acc = 0
for k: acc = acc + x*a[i,k]*b[j,k]         c[i,j] = c[i,j] + sum(k, (x*a[i,k])*b[j,k])
c[i,j] = c[i,j] + acc                ->
"""

from __future__ import annotations

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import name_of
from polygen.schedules.product_results import with_result
from polygen.schedules.skewed_factors import with_skewed_factors
from polygen.tuning.pack_product import with_pairs


def may_be_product(insn: Instruction) -> bool:
    """Tell whether an instruction may have a sum of products.

    Parameters:
        insn: the instruction, without rules.
    """
    nodes = list(dict.fromkeys(insn.reductions))
    if len(nodes) != 1 or name_of(nodes[0].operation) != "sum":
        return False
    operand = nodes[0].operand
    return isinstance(operand, ex.Product | ex.Sum) and ex.Product in walk.classes(operand)


def as_product(kernel: Kernel, insn_id: str) -> tuple[Kernel, str]:
    """Return the kernel with a sum of products in that form, and the id of what has it now.

    Parameters:
        kernel: the kernel; the types of its inputs are known.
        insn_id: the instruction with the sum.

    Raises:
        Reassociated: if the kernel does not permit another order of factors.
    """
    new, name = with_result(kernel, insn_id)
    return with_pairs(with_skewed_factors(new, name), name), name
