"""Finds invocations of substitution rules, and their conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from polygen.analysis.access.accesses import Reference, evaluated_under
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.substitution import rewrite_invocations


@dataclass(frozen=True)
class Use:
    """An invocation in an instruction.

    Attributes:
        insn: the instruction.
        node: the invocation.
        inames: those of the instruction, and of the reductions that it stands in.
        conditions: what must hold for it to be evaluated.
    """

    insn: Instruction
    node: ex.Invocation
    inames: frozenset[str]
    conditions: tuple[Expression, ...]

    @property
    def values(self) -> tuple[Expression, ...]:
        """The values of the rule's arguments, then of its inames."""
        return (*self.node.arguments, *self.node.values)

    @property
    def reference(self) -> Reference:
        """The same as a read of an array whose subscripts are the values."""
        return Reference(
            self.insn, self.node.rule, self.values, False, self.inames, self.conditions
        )


def uses_in(insn: Instruction, wanted: Callable[[ex.Invocation], bool]) -> Iterator[Use]:
    """Yield the invocations in an instruction that are wanted."""

    def inside(
        node: Expression, inames: frozenset[str], conditions: tuple[Expression, ...]
    ) -> Iterator[Use]:
        if ex.Invocation not in walk.classes(node):
            return
        if isinstance(node, ex.Invocation) and wanted(node):
            yield Use(insn, node, inames, conditions)
        if isinstance(node, ex.Reduction):
            inames = inames.union(node.inames)
        for part, known in evaluated_under(node, conditions):
            yield from inside(part, inames, known)

    for predicate in insn.predicates:
        yield from inside(predicate, insn.within_inames, ())
    conditions = tuple(part for p in insn.predicates for part in walk.conjuncts(p))
    for node in insn.evaluated:
        yield from inside(node, insn.within_inames, conditions)


def replace_uses(
    node: Expression,
    wanted: Callable[[ex.Invocation], bool],
    replacement: Callable[[ex.Invocation], Expression],
) -> Expression:
    """Return `node` with the invocations that are wanted replaced, innermost first."""
    return rewrite_invocations(node, lambda use: replacement(use) if wanted(use) else use)
