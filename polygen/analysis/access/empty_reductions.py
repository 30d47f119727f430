"""For which sizes there is something to reduce, where an operation has no value of nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import islpy as isl

from polygen.analysis.access.domains import domain_of, surrounding_inames, with_surrounding
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import TemporaryVariable
from polygen.ir.domain import flat_names, project_out
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import name_of

# NumPy has no value for these of nothing; what another value is added to is not of nothing.
_WITH_ANOTHER: dict[str, type | None] = {
    "min": ex.Min,
    "max": ex.Max,
    "argmin": None,
    "argmax": None,
}

Asked: TypeAlias = tuple[Instruction, ex.Reduction, isl.Set]


def sizes_with_something(kernel: Kernel) -> Iterator[Asked]:
    """Yield the reductions that need something to reduce, with the sizes for which all is well.

    For these, there is something, or the instruction is never executed.

    These are minima, maxima and their places, computed whatever data and other inames are, over
    what sizes alone decide.  One of two values of which the other is no such reduction,
    ``max(0, max(j, a[j]))``, needs nothing.
    """
    kernel = kernel.expanded
    for insn in kernel.instructions:
        if insn.predicates or not insn.reductions:
            continue
        for value in insn.reads:
            for reduction in dict.fromkeys(_always(value)):
                sizes = _sizes(kernel, insn, reduction)
                if sizes is not None:
                    yield insn, reduction, sizes


def _always(node: Expression) -> Iterator[ex.Reduction]:
    """Yield the reductions that are always computed, and need something to reduce."""
    if not walk.reductions(node):
        return
    parts = walk.parts(node)
    if isinstance(node, ex.If):
        parts = (node.condition,)
    elif isinstance(node, ex.LogicalAnd | ex.LogicalOr):
        parts = parts[:1]
    elif isinstance(node, ex.Reduction):
        if name_of(node.operation) in _WITH_ANOTHER:
            yield node
    elif isinstance(node, ex.Min | ex.Max) and not all(_is_one_of(node, part) for part in parts):
        # Of those that are left, what they reduce is of something, or it is not asked.
        parts = tuple([part for part in parts if not _is_one_of(node, part)])
    for part in parts:
        yield from _always(part)


def _is_one_of(node: Expression, part: Expression) -> bool:
    return isinstance(part, ex.Reduction) and _WITH_ANOTHER.get(name_of(part.operation)) is type(
        node
    )


def _sizes(kernel: Kernel, insn: Instruction, reduction: ex.Reduction) -> isl.Set | None:
    """Return the sizes for which no reduction is of nothing; None if more decides than sizes."""
    own = frozenset(reduction.inames)
    if any(surrounding_inames(kernel, iname) - own for iname in own):
        return None
    if any(not own.issuperset(kernel.home_domains[iname].inames) for iname in own):
        return None
    there_are = project_out(domain_of(kernel, own), own)
    around = with_surrounding(kernel, insn.within_inames)
    executed = project_out(domain_of(kernel, around), around)
    sizes = there_are.union(executed.complement()).coalesce()
    deciding = (kernel.variables.get(name) for name in flat_names(sizes))
    return None if any(isinstance(v, TemporaryVariable) for v in deciding) else sizes


def of_nothing(operation: str) -> str:
    """Return how to say which value such an operation has of nothing, as part of a remedy."""
    if _WITH_ANOTHER[operation] is None:
        return f"compute it under a condition: if(n > 0, {operation}(j, a[j], j)[1], -1)"
    return f"say what it is of nothing: {operation}(0, {operation}(j, a[j])) is 0 then"
