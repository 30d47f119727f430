"""Whole reductions that are computed once, in a scalar of their own.

    a[0] = sum(i, x[i])               s = sum(i, x[i])
    t = sum(i, x[i])            ->    a[0] = s
    y[j] = a[0]*x[j] + t              y[j] = s*x[j] + s

The arrays of results are in global memory; a scalar need not be: each group may have its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import SupportsIndex

from polygen.errors import NotCountable, UserError
from polygen.ir import expression as ex
from polygen.ir.array import TemporaryVariable
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.transforms.copies.precompute import precompute
from polygen.transforms.rules.assignment_to_subst import assignment_to_subst
from polygen.transforms.rules.expand_subst import expand_subst
from polygen.transforms.rules.extract_subst import extract_subst
from polygen.tuning.work import points

_LITTLE = 1 << 15  # elements: more, no group reduces alone


def computed_once(kernel: Kernel, sizes: Mapping[str, SupportsIndex]) -> Kernel:
    """Return the kernel with a scalar for each whole reduction that several instructions are.

    Also for a small one that others read from an array.
    """
    alike: dict[ex.Reduction, list[Assignment]] = {}
    plain = [insn for insn in kernel.assignments if isinstance(insn, Assignment)]
    for insn in plain:
        if isinstance(insn.expression, ex.Reduction) and _is_whole(kernel, insn):
            alike.setdefault(insn.expression, []).append(insn)
    for value, insns in alike.items():
        if len(insns) > 1 or _is_passed_on(kernel, insns[0], sizes):
            kernel = _in_a_scalar(kernel, value, insns)
    return kernel


def _is_whole(kernel: Kernel, insn: Assignment) -> bool:
    """Tell whether an instruction is executed once, and alone writes its variable."""
    often = insn.within_inames or insn.predicates or insn.atomicity
    return not often and len(kernel.writers[insn.written]) == 1


def _is_passed_on(kernel: Kernel, insn: Assignment, sizes: Mapping[str, SupportsIndex]) -> bool:
    """Tell whether others read a result from an array, and there is little to reduce."""
    is_scalar = isinstance(kernel.variables[insn.written], TemporaryVariable)
    if is_scalar or not any(insn.written in i.read_names for i in kernel.instructions):
        return False
    try:
        return points(kernel.expanded, insn.reduction_inames, sizes) <= _LITTLE
    except NotCountable:
        return False


def _in_a_scalar(kernel: Kernel, value: ex.Reduction, insns: Sequence[Assignment]) -> Kernel:
    """Return the kernel with a scalar for what instructions reduce; as it is, where refused."""
    rule, scalar = kernel.new_name("whole"), kernel.new_name(f"{insns[0].written}_whole")
    try:
        new = extract_subst(kernel, rule, value, within=[f"id:{insn.id}" for insn in insns])
        new = precompute(new, rule, temporary_name=scalar, default_tag=None)
    except UserError:  # what they read is not the same, say
        return kernel
    for insn in insns:
        readers = [i.id for i in new.instructions if insn.written in i.read_names]
        if readers:
            try:
                new = assignment_to_subst(new, insn.written)
                new = expand_subst(new, [f"id:{name}" for name in readers])
            except UserError:  # it is stored in another type, say
                continue
    return new
