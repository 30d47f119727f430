"""`polygen.unroll_reduction`."""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.typing.expression_types import reduction_types, type_of
from polygen.analysis.typing.inference import infer_types, kinds
from polygen.analysis.typing.kinds import Kind, default_dtype
from polygen.errors import NoSuchReduction, NotUnrollable
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import flat_names, project_out, same_points, unflatten
from polygen.ir.dtype import is_inexact, to_dtype
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import facts_of
from polygen.ir.substitution import expand
from polygen.ir.verify import excerpt
from polygen.language.within import matching
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Iname, Within, transformation
from polygen.transforms.inames.remove_unused_inames import remove_unused_inames


@transformation
def unroll_reduction(kernel: Kernel, iname: Iname, within: Within | None = None) -> Rearranged:
    """Write a reduction over few values as an expression with a term for each.

    What is left has no loop of its own: it can be computed wherever it is used
    (`assignment_to_subst`), in vectors, say, or beside other reductions.

    Kind: order and storage.

    Requires:
        1. Some reduction is over the iname, over no other, and has one result.
        2. The iname has the same values, constants, in all instances.
        3. The types of what is reduced are known.

    Parameters:
        iname: the iname that is reduced over.
        within: the instructions: an id, a query, or several of these; all if not given.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<3 }", "s[i] = max(j, a[i,j])")
        >>> knl = pg.unroll_reduction(pg.add_dtypes(knl, {"a": "float32"}), "j")
        >>> print(str(knl).splitlines()[-2])
        [i] s[i] = max(max(a[i, 0], a[i, 1]), a[i, 2])  {id=insn}

    Raises:
        UnknownIname, UnknownInstruction: if the kernel has no such iname or instruction.
        NoSuchReduction: if 1 does not hold.
        NotUnrollable: if 2 does not hold.
        TypeNotFound: if 3 does not hold.
    """
    new = kernel
    for insn in matching(kernel, within):
        if iname in insn.reduction_inames:
            new = _unrolled(new, insn, iname)
    if new is kernel:
        raise NoSuchReduction(
            f"there is no reduction over '{iname}' alone that has one result",
            where=caller_location(),
            excerpt=excerpt(kernel, *(insn.id for insn in matching(kernel, within))),
            remedy="split_reduction_inward gives an iname a reduction of its own",
        )
    new = remove_unused_inames(new, iname)
    return Rearranged(new, restated=new)


def _unrolled(kernel: Kernel, insn: Instruction, iname: str) -> Kernel:
    """Return the kernel with terms in the place of the reductions of an instruction."""
    known = kinds(infer_types(kernel.expanded))

    def rule(node: Expression) -> Expression:
        if not isinstance(node, ex.Reduction) or node.inames != (iname,):
            return node
        facts = facts_of(node.operation)
        if facts.width > 1:
            return node
        values = _values(kernel, insn, iname)
        plain = expand(node, kernel.rules)
        assert isinstance(plain, ex.Reduction)
        dtypes = reduction_types(plain, known)
        is_kept = default_dtype(type_of(plain.operand, known)) == dtypes[0]
        terms = [walk.substitute(node.operand, {iname: value}) for value in values]
        parts = [t if is_kept else ex.converted(dtypes[0].name, t) for t in terms]
        (none,) = facts.identity(dtypes)
        if is_inexact(dtypes[0]) and none == 0:  # which a sum of numbers that are -0.0 comes to
            parts.insert(0, ex.converted(dtypes[0].name, none))
        found = parts[0]
        for part in parts[1:]:
            (found,) = facts.combined((found,), (part,), dtypes)
        return found

    changed = insn.map_expressions(lambda node: walk.rewrite(node, rule))
    if changed is insn:
        return kernel
    if isinstance(insn, Assignment) and isinstance(changed, Assignment):
        changed = _converted(kernel, insn, changed, known)
    insns = [changed if i.id == insn.id else i for i in kernel.instructions]
    return kernel.copy(instructions=tuple(insns))


def _converted(
    kernel: Kernel, insn: Assignment, changed: Assignment, known: Mapping[str, Kind]
) -> Assignment:
    """Return an assignment that says the conversion to the type of what it stores, if all is terms.

    So it is seen that a reader may compute the same.
    """
    variable = kernel.variables.get(ex.name_of(insn.assignee))
    dtype = None if variable is None else variable.dtype
    is_all = isinstance(insn.expression, ex.Reduction) and changed.expression is not insn.expression
    plain = expand(changed.expression, kernel.rules)
    if dtype is None or not is_all or default_dtype(type_of(plain, known)) == dtype:
        return changed
    return changed.copy(expression=ex.converted(to_dtype(dtype).name, changed.expression))


def _values(kernel: Kernel, insn: Instruction, iname: str) -> range:
    """Return the values that an iname has in all instances of an instruction."""
    flat = domain_of(kernel, with_surrounding(kernel, insn.within_inames | {iname}))
    others = [name for name in flat_names(flat) if name in kernel.inames and name != iname]
    alone = unflatten(project_out(flat, others), [iname])
    least, most = alone.dim_min_val(0), alone.dim_max_val(0)
    if least.is_int() and most.is_int():
        first, last = least.to_python(), most.to_python()
        these = isl.Set(f"[{iname}] -> {{ : {first} <= {iname} <= {last} }}")
        around = domain_of(kernel, with_surrounding(kernel, insn.within_inames))
        context = kernel.assumptions.flat
        if same_points(around.intersect(these).intersect(context), flat.intersect(context)):
            return range(first, last + 1)
    raise NotUnrollable(
        f"'{iname}' does not have the same values, constants, in all instances of '{insn.id}'",
        where=caller_location(),
        excerpt=str(kernel.home_domains[iname]),
        remedy="tag it unr, or leave it a loop",
    )
