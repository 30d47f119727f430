"""Computes factors of products ahead of these, where data names the elements that they read.

    c[e,i] = sum(q, (u[outside[e,q]] - u[inside[e,q]])*lift[q,i])
->
    left[e,q] = u[outside[e,q]] - u[inside[e,q]]
    c[e,i] = sum(q, left[e,q]*lift[q,i])

Products are computed in whole tiles, also beyond the end of rows: there data names nothing.
"""

from __future__ import annotations

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.kernel import Kernel
from polygen.transforms.copies.precompute import precompute
from polygen.transforms.rules.expand_subst import expand_subst
from polygen.transforms.rules.extract_subst import extract_subst


def with_gathered_factors(kernel: Kernel, insn_id: str) -> Kernel:
    """Return the kernel with an array for each factor of a sum of products that data chooses.

    Parameters:
        kernel: the kernel; the types of its inputs are known.
        insn_id: an instruction with a sum of products.
    """
    insn = kernel.expanded.instruction(insn_id)
    nodes = dict.fromkeys(insn.reductions)
    factors = [
        factor
        for node in nodes
        if isinstance(node.operand, ex.Product)
        for factor in node.operand.children
        if _is_gathered(factor)
    ]
    inames = insn.within_inames | insn.reduction_inames
    for factor in dict.fromkeys(factors):
        loops = [i for i in kernel.inames if i in walk.free_variables(factor) & inames]
        if len(loops) == len(inames) or not isinstance(factor, ex.ExpressionNode):
            continue  # it has another value each time: nothing would be used again
        if not kernel.instruction(insn_id).reductions or kernel.rules:
            kernel = expand_subst(kernel, f"id:{insn_id}")
        rule = kernel.new_name("gathered")
        kernel = extract_subst(kernel, rule, factor, loops, f"id:{insn_id}")
        kernel = precompute(
            kernel,
            rule,
            loops,
            precompute_outer_inames=[],
            temporary_address_space="global",
            default_tag=None,
        )
    return kernel


def _is_gathered(node: ex.Expression) -> bool:
    """Tell whether an element is read under a subscript that is read itself."""
    return any(
        isinstance(access, ex.Subscript) and any(map(_has_element, ex.index_tuple(access)))
        for access in walk.accesses(node)
    )


def _has_element(index: ex.Expression) -> bool:
    return any(isinstance(part, ex.Subscript) for part in walk.subexpressions(index))
