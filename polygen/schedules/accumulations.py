"""Collects loops that add to one element into sums, which later stages share and vectorise.

    for i: s[0] = s[0] + x[i]*y[i]      ->      s[0] = s[0] + sum(i, x[i]*y[i])

So do products, minima, maxima and bits.  What else is in the loop keeps it, where that is legal.
A scalar of the same iteration is computed where it is added, if nothing but sums needs it, or it is
cheap:

    for i: t = 2*x[i]                   s[0] = s[0] + sum(i, 2*x[i]*(2*x[i]))
           s[0] = s[0] + t*t
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from polygen.analysis.order.instance_order import order_of
from polygen.analysis.typing.functions import conversion_type
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import TemporaryVariable
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.schedules.own_loops import with_own_loops
from polygen.schedules.plan import Plan
from polygen.transforms.reductions.collect_reduction import collect_reduction, is_accumulation
from polygen.transforms.rules.assignment_to_subst import assignment_to_subst
from polygen.transforms.rules.expand_subst import expand_subst


def accumulations_collected(plan: Plan) -> None:
    """Make reductions of loops that update one element in each of their iterations."""
    for insn_id in list(plan.kernel.instructions_by_id):
        while (iname := _next(plan.kernel, insn_id)) is not None:
            what = f"a reduction over '{iname}'"
            why = "its values may be combined in any order"
            make = partial(_collected, insn_id=insn_id, iname=iname)
            if not plan.take([insn_id], what, why, make):
                break


def _next(kernel: Kernel, insn_id: str) -> str | None:
    """Return the innermost loop of an instruction that accumulates; None if none does."""
    if kernel.expanded is not kernel or not isinstance(kernel.instruction(insn_id), Assignment):
        return None
    loops = order_of(kernel).loops(insn_id)
    found = (i for i in reversed(loops) if is_accumulation(kernel, insn_id, i))
    return next((i for i in found if not _starts_in(kernel, insn_id, i)), None)


def _starts_in(kernel: Kernel, insn_id: str, iname: str) -> bool:
    """Tell whether a loop writes what an instruction updates in another way, too."""
    (name,) = kernel.instruction(insn_id).written_names
    others = [insn for insn in kernel.writers[name] if insn.id != insn_id]
    return any(iname in insn.within_inames for insn in others)


def _collected(kernel: Kernel, *, insn_id: str, iname: str) -> Kernel:
    for name in _scalars(kernel, insn_id, iname):
        kernel = expand_subst(assignment_to_subst(kernel, name))
    kernel, names = with_own_loops(kernel, insn_id, [iname])
    return collect_reduction(kernel, insn_id, names[iname])


def _scalars(kernel: Kernel, insn_id: str, iname: str) -> Iterator[str]:
    """Yield the scalars that an instruction reads, which the same iteration has computed."""
    pending, seen = [insn_id], set[str]()
    while pending:
        insn = kernel.instruction(pending.pop())
        for name in sorted(insn.read_names - seen):
            seen.add(name)
            writer = _only_writer(kernel, name)
            if writer is None or iname not in writer.within_inames:
                continue
            if _is_cheap(writer) or _is_for_sums(kernel, name, iname):
                yield name
                pending.append(writer.id)


def _only_writer(kernel: Kernel, name: str) -> Assignment | None:
    """Return the only instruction that writes a scalar, without a condition or an old value."""
    variable = kernel.variables.get(name)
    if not isinstance(variable, TemporaryVariable) or variable.shape:
        return None
    writers = kernel.writers.get(name, ())
    writer = writers[0] if len(writers) == 1 else None
    if not isinstance(writer, Assignment):
        return None
    return None if writer.predicates or name in writer.read_names else writer


def _is_cheap(writer: Assignment) -> bool:
    """Tell whether a value takes no more than a few operations."""
    nodes = list(walk.subexpressions(writer.expression))
    calls = [node for node in nodes if isinstance(node, ex.Call)]
    is_plain = all(conversion_type(ex.name_of(call.function)) for call in calls)
    return len(nodes) <= _FEW_NODES and is_plain


_FEW_NODES = 24


def _is_for_sums(kernel: Kernel, name: str, iname: str) -> bool:
    readers = [insn for insn in kernel.instructions if name in insn.read_names]
    return all(is_accumulation(kernel, insn.id, iname) for insn in readers)
