"""What substitution rules stand for: outermost first, one name at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, CInstruction, KernelCall
from polygen.ir.kernel import Kernel
from tests.oracle.evaluate import OracleError


def inlined(kernel: Kernel) -> Kernel:
    """Return the kernel with what it invokes written out."""

    def written_out(node: Any) -> Any:
        if isinstance(node, ex.Invocation):
            (rule,) = (r for r in kernel.substitutions if r.name == node.rule)
            given = dict(zip(rule.arguments, node.arguments, strict=True))
            given |= {i: node.values[node.inames.index(i)] for i in rule.inames}
            return written_out(_with(rule.expression, given))
        return walk.rebuild(node, tuple(written_out(p) for p in walk.parts(node)))

    instructions = tuple(
        insn.map_expressions(written_out)
        if isinstance(insn, CInstruction | KernelCall)
        else insn.with_pairs(
            tuple((written_out(a), written_out(value)) for a, value in insn.pairs),
            predicates=tuple(written_out(p) for p in insn.predicates),
        )
        if isinstance(insn, Assigning)
        else insn
        for insn in kernel.instructions
    )
    return replace(kernel, instructions=instructions, substitutions=())


def _with(node: Any, given: Mapping[str, Expression]) -> Any:
    """Return the body of a rule with the names that an invocation gives values to replaced."""
    if isinstance(node, ex.Variable):
        return given.get(node.name, node)
    if isinstance(node, ex.Reduction):
        mentioned = {n.name for v in given.values() for n in _variables(v)}
        if mentioned.intersection(node.inames) or given.keys() & set(node.inames):
            raise OracleError(f"an iname of {node} would be captured")
    return walk.rebuild(node, tuple(_with(p, given) for p in walk.parts(node)))


def _variables(node: Expression) -> list[ex.Variable]:
    return [part for part in walk.subexpressions(node) if isinstance(part, ex.Variable)]
