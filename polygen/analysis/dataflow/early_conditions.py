"""Conditions under which a reduction is computed, and what changes them meanwhile.

A reduction runs only where the conditions hold that it stands under: the predicates of its
instruction, and those of each ``if(c, a, b)`` around it.  So they are asked in its loops already,
and nothing that stands in these may write what they read.
"""

from __future__ import annotations

from collections.abc import Iterator

from polygen.analysis.dataflow.read_sources import overlapping
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel


def condition_changes(kernel: Kernel, insn: Instruction) -> str | None:
    """Return the id of what changes, in the loops of a reduction, whether that is computed.

    None if nothing does.

    Parameters:
        kernel: a kernel, rules and calls expanded.
        insn: one of its instructions.
    """
    always = NO_NAMES.union(*map(_asked, insn.predicates))
    for node in insn.reads:
        for reduction, names in _guarded(node, always) if walk.reductions(node) else ():
            read = sorted(names.intersection(kernel.variables))
            written = (n for name in read for n in overlapping(kernel, name))
            for writer in (w for name in written for w in kernel.writers.get(name, ())):
                if not writer.within_inames.isdisjoint(reduction.inames):
                    return writer.id
    return None


def _guarded(
    node: Expression, names: frozenset[str]
) -> Iterator[tuple[ex.Reduction, frozenset[str]]]:
    """Yield the reductions in an expression, with what the conditions around them mention."""
    if isinstance(node, ex.Reduction):
        yield node, names
    if isinstance(node, ex.If):
        yield from _guarded(node.condition, names)
        for part in (node.then, node.else_):
            yield from _guarded(part, names | _asked(node.condition))
        return
    for part in walk.parts(node):
        yield from _guarded(part, names)


def _asked(condition: Expression) -> frozenset[str]:
    """Return what a condition mentions, if it is asked before the reduction is computed."""
    return frozenset() if walk.reductions(condition) else walk.free_variables(condition)
