"""Refuses reductions whose operand does not depend on their inames."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NoReturn

from polygen.analysis.access.domains import surrounding_inames
from polygen.errors import UnusedReductionIname
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import name_of
from polygen.ir.show import show_rule
from polygen.ir.show_expression import show_expression
from polygen.ir.substitution import SubstitutionRule, expand
from polygen.ir.verify import excerpt, meant_instead

_COUNTED: ContextVar[bool] = ContextVar("_COUNTED", default=False)


@contextmanager
def counting() -> Generator[None]:
    """Let people write reductions of what has nothing to do with an iname: Loo.py's users do."""
    token = _COUNTED.set(True)
    try:
        yield
    finally:
        _COUNTED.reset(token)


def check_reduced(kernel: Kernel) -> None:
    """Check that what is reduced depends on each iname that it is reduced over.

    It does if it mentions it, or mentions what is written in its loop.  A number may be reduced
    over anything, which counts; and anything over an iname whose values depend on those of other
    inames at hand, or theirs on its, so that these say how often it counts.

    This is about what people write: a step may make a kernel that is not so, and means the same.

    Raises:
        UnusedReductionIname: if it does not.
    """
    if _COUNTED.get():
        return
    for insn in kernel.instructions:
        if insn.reductions:
            around = insn.within_inames | insn.reduction_inames
            _check(kernel, insn, insn.reductions, around)
    for rule in kernel.substitutions:
        # The inames around it are those around its invocations.
        _check(kernel, rule, walk.reductions(rule.expression), frozenset(kernel.inames))


def _check(
    kernel: Kernel,
    owner: Instruction | SubstitutionRule,
    reductions: Iterable[ex.Reduction],
    around: frozenset[str],
) -> None:
    for reduction in reductions:
        mentioned = walk.free_variables(reduction.operand)
        if not mentioned:
            continue
        inside = walk.reduction_inames(reduction.operand).union(reduction.inames)
        for iname in reduction.inames:
            if iname in mentioned or _bound_together(kernel, iname, inside, around):
                continue
            if not _written_in_its_loop(kernel, iname, reduction.operand):
                _refuse(kernel, owner, reduction, iname)


def _bound_together(
    kernel: Kernel, iname: str, inside: frozenset[str], around: frozenset[str]
) -> bool:
    """Tell whether the values of an iname depend on those of others, or theirs on its."""
    own = surrounding_inames(kernel, iname).union(kernel.home_domains[iname].inames)
    if own & around - {iname}:
        return True
    return any(iname in surrounding_inames(kernel, other) for other in inside)


def _written_in_its_loop(kernel: Kernel, iname: str, operand: ex.Expression) -> bool:
    """Tell whether an operand mentions what each iteration may write anew, or stands for that."""
    names = walk.free_variables(operand) | walk.free_variables(expand(operand, kernel.rules))
    writers = kernel.expanded.writers
    return any(iname in w.within_inames for name in names for w in writers.get(name, ()))


def _refuse(
    kernel: Kernel, owner: Instruction | SubstitutionRule, reduction: ex.Reduction, iname: str
) -> NoReturn:

    meant = "" if isinstance(owner, SubstitutionRule) else meant_instead(owner, iname)
    remedy = (
        f"{meant}mention '{iname}' in it, or leave it out of the reduction: where each value of "
        f"'{iname}' is meant to count, sum({iname}, 1) is their number"
    )
    if name_of(reduction.operation) in ("min", "max"):
        remedy += f"; where one of two values is meant, be in the loop: {{+inames={iname}}}"
    raise UnusedReductionIname(
        f"'{show_expression(reduction)}' runs over '{iname}', and "
        f"'{show_expression(reduction.operand)}' does not depend on '{iname}'",
        where=owner.location,
        excerpt=f"-> {show_rule(owner)}"
        if isinstance(owner, SubstitutionRule)
        else excerpt(kernel, owner.id),
        remedy=remedy,
    )
