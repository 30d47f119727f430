"""`polygen.collect_reduction`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from polygen.analysis.order.loop_tree import loops_outside
from polygen.analysis.typing.expression_types import reduction_types
from polygen.analysis.typing.inference import infer_types, kinds
from polygen.errors import NotAnAccumulation, TypeNotFound
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.ir.operation import Operation
from polygen.ir.reduction import Result, facts_of, identity_of, with_dtype
from polygen.ir.tags import is_parallel
from polygen.ir.verify import excerpt
from polygen.language.kernel_assembly import check_made
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Iname, InsnId, to_id, transformation
from polygen.transforms.reductions.accumulation_forms import Accumulation, accumulation, names_read


@transformation
def collect_reduction(kernel: Kernel, insn: InsnId, iname: Iname) -> Rearranged:
    r"""Write a loop that updates one element again and again as a reduction.

    The reverse of `realize_reduction`: what loops of Python or C do one value after the other may
    then be split, shared by threads, or run in vectors.

    Kind: order and storage.

    Requires:
        1. The instruction is an update: ``t = t + e``, or with ``*``, ``min``, ``max``, ``and``,
           ``or``, ``&``, ``|`` or ``^``, where ``e`` does not read ``t``; or ``t`` becomes ``e``
           where that is greater or less, by a condition.
        2. The element does not depend on the iname, and nothing else is in its loop: what is may
           have a loop of its own, by `distribute_loop`.
        3. Values may be combined in another order: they are integers, or floating-point numbers
           that the option ``allow_reassociation`` is about.

    A condition that depends on the iname goes into the reduction.

    Parameters:
        insn: the id of the instruction.
        iname: the iname of the loop.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i]: 0<=i<n }", "s[0] = s[0] + x[i]*y[i]  {id=add, inames=i}"
        ... )
        >>> knl = pg.collect_reduction(pg.add_dtypes(knl, {"s, x, y": "float64"}), "add", "i")
        >>> print(str(knl).partition("INSTRUCTIONS:\n")[2].partition("\n---")[0])
        [] s[0] = s[0] + sum(i, x[i]*y[i])  {id=add}

    Raises:
        UnknownInstruction, UnknownIname: if the kernel has no such instruction or iname.
        NotAnAccumulation: if 1, 2 or 3 does not hold.
    """
    insn = to_id(kernel, insn)
    found = kernel.instruction(insn)
    if not isinstance(found, Assignment):
        raise _not(kernel, insn, "it is no assignment to one element", "name one that is")
    update = accumulation(found)
    if update is None:
        raise _not(
            kernel,
            insn,
            f"it does not combine the old value of '{found.assignee}' with another one",
            "write t = t + e; polygen knows +, *, min, max, and, or, &, | and ^",
        )
    if (why := _why_not(kernel, found, iname, update)) is not None:
        raise _not(kernel, insn, *why)
    return _collected(kernel, found, iname, update)


def is_accumulation(kernel: Kernel, insn: str, iname: str) -> bool:
    """Tell whether an instruction, alone in a loop, would be one that `collect_reduction` takes."""
    found = kernel.instruction(insn)
    if not isinstance(found, Assignment) or iname not in found.within_inames:
        return False
    update = accumulation(found)
    return update is not None and _why_no_reduction(kernel, found, iname, update) is None


def _not(kernel: Kernel, insn: str, why: str, remedy: str) -> NotAnAccumulation:
    return NotAnAccumulation(
        f"collect_reduction: '{insn}' is no reduction: {why}",
        where=caller_location(),
        excerpt=excerpt(kernel, insn),
        remedy=remedy,
    )


def _why_not(
    kernel: Kernel, insn: Assignment, iname: str, update: Accumulation
) -> tuple[str, str] | None:
    """Return why a loop of an update is no reduction, and what to do."""
    if iname not in insn.within_inames:
        return f"it is not in the loop '{iname}'", "name one of its loops"
    if is_parallel(kernel.tags.get(iname)):
        return f"'{iname}' is no loop, but an axis of the hardware", "untag it"
    if len(kernel.numbers_of_loops[iname]) > 1 or _is_around_others(kernel, insn.id, iname):
        return (
            f"it is not alone in the loop '{iname}'",
            f"give it a loop of its own: distribute_loop(knl, '{iname}', within='id:{insn.id}')",
        )
    return _why_no_reduction(kernel, insn, iname, update)


def _is_around_others(kernel: Kernel, insn_id: str, iname: str) -> bool:
    """Tell whether other instructions are in loops that have to be inside of one."""
    inner = {i for i, outer in loops_outside(kernel).items() if iname in outer}
    found = {number for i in inner for number in kernel.numbers_of_loops.get(i, ())}
    return any(kernel.instructions[number].id != insn_id for number in found)


def _why_no_reduction(
    kernel: Kernel, insn: Assignment, iname: str, update: Accumulation
) -> tuple[str, str] | None:
    target = ex.name_of(insn.assignee)
    chosen = walk.free_variables(insn.assignee) - {target}
    if not chosen.isdisjoint(kernel.writers):
        return f"data decides which element of '{target}' is updated", "make the update atomic"
    if iname in walk.free_variables(insn.assignee):
        return f"another element is updated in each iteration of '{iname}'", "name another loop"
    read = names_read(update)
    if target in read or _may_overlap(kernel, target, read):
        return f"what is combined with '{target}' reads it, too", "leave the loop as it is"
    if insn.atomicity is not None or insn.happens_after or walk.reductions(insn.assignee):
        return "it is atomic, or ordered instance by instance", "leave the loop as it is"
    if not _regroups(kernel, target, update):
        return (
            "the order of rounding would be another",
            "set_options(knl, allow_reassociation=True)",
        )
    if (update.passes_over_nan or _conditions(update, iname)) and _dtype(kernel, target) is None:
        return f"the type of '{target}' is not known", "add_dtypes says it"
    return None


def _may_overlap(kernel: Kernel, target: str, read: frozenset[str]) -> bool:
    arrays = [a for a in kernel.arguments if isinstance(a, GlobalArg)]
    may = {a.name for a in arrays if a.may_alias}
    return (target in may and any(a.name in read for a in arrays)) or bool(
        may & read and any(a.name == target for a in arrays)
    )


def _regroups(kernel: Kernel, target: str, update: Accumulation) -> bool:
    if kernel.options.allow_reassociation and facts_of(update.operation).regroups:
        return True
    dtype = _dtype(kernel, target)
    return dtype is not None and dtype.kind in facts_of(update.operation).exact


def _dtype(kernel: Kernel, name: str) -> DType | None:
    known = kernel.variables[name].dtype
    if known is not None:
        return known
    try:
        return infer_types(kernel).variables[name].dtype
    except TypeNotFound:
        return None


def _conditions(update: Accumulation, iname: str) -> tuple[Expression, ...]:
    """Return the conditions that go into the reduction."""
    inner = tuple([p for p in update.predicates if iname in walk.free_variables(p)])
    return (*inner, *update.conditions)


def _collected(kernel: Kernel, insn: Assignment, iname: str, update: Accumulation) -> Rearranged:
    dtype, operand = _dtype(kernel, ex.name_of(insn.assignee)), update.operand
    passes_over = update.passes_over_nan and dtype is not None and dtype.kind == "f"
    conditions = [*_conditions(update, iname)]
    if passes_over:
        conditions.append(ex.Comparison(operand, "==", operand))
    if conditions:
        assert dtype is not None  # checked
        (identity,) = identity_of(update.operation, (dtype,))
        condition = conditions[0] if len(conditions) == 1 else ex.LogicalAnd(tuple(conditions))
        operand = ex.If(condition, operand, identity)
    operation: Operation = update.operation
    if dtype is not None and facts_of(operation).result is Result.WIDENED:
        operation = _in_type(kernel, ex.Reduction(operation, (iname,), operand), dtype)
    reduction = ex.Reduction(operation, (iname,), operand)
    value = _COMBINED[update.operation]((insn.assignee, reduction))
    if passes_over:
        old = insn.assignee
        value = ex.If(ex.Comparison(old, "==", old), value, old)
    made = insn.copy(
        expression=value,
        within_inames=insn.within_inames - {iname},
        predicates=tuple([p for p in update.predicates if iname not in walk.free_variables(p)]),
    )
    instructions = tuple([made if i.id == insn.id else i for i in kernel.instructions])
    orders = (tuple([i for i in names if i != iname]) for names in kernel.priorities)
    new = kernel.copy(
        instructions=instructions, priorities=tuple([names for names in orders if len(names) > 1])
    )
    check_made(new)
    # A loop with nothing else in it does what a reduction means, one value after the other.
    return Rearranged(new, restated=new)


_COMBINED: Mapping[str, Callable[[tuple[Expression, ...]], Expression]] = {
    "sum": lambda parts: ex.sum_of(*parts),
    "product": lambda parts: ex.product_of(*parts),
    "min": ex.Min,
    "max": ex.Max,
    "any": ex.LogicalOr,
    "all": ex.LogicalAnd,
    "bit_and": ex.BitwiseAnd,
    "bit_or": ex.BitwiseOr,
    "bit_xor": ex.BitwiseXor,
}


def _in_type(kernel: Kernel, reduction: ex.Reduction, dtype: DType) -> Operation:
    """Return the operation of a reduction so that it is computed in a type."""
    if reduction_types(reduction, kinds(kernel)) == (dtype,):
        return reduction.operation
    return with_dtype(reduction.operation, dtype)
