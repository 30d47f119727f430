"""Realise reductions: each becomes an accumulator, its initialisation and its update.

out[i] = 2*sum(k, a[i, k])        ->    acc_k = 0
                                        acc_k = acc_k + a[i, k]      (within k, too)
                                        out[i] = 2*acc_k
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polygen.analysis.inference import kinds
from polygen.analysis.types import reduction_type
from polygen.errors import ReductionNotSequential
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import facts_of
from polygen.ir.tags import is_parallel
from polygen.ir.verify import excerpt


def realize_reductions(kernel: Kernel) -> Kernel:
    """Return the kernel without reduction nodes; itself if it has none.

    The kernel's types must be known.

    Raises:
        ReductionNotSequential: if a reduction runs over an iname on a hardware axis.
    """
    if not any(insn.reduction_inames for insn in kernel.instructions):
        return kernel
    return _Realizer(kernel).run()


class _Realizer:
    """Collects the instructions of the kernel without reductions."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._names = set(kernel.names)
        self._done: list[Instruction] = []
        self._temporaries = list(kernel.temporaries)
        self._kinds = dict(kinds(kernel))

    def run(self) -> Kernel:
        pending = list(reversed(self._kernel.instructions))
        while pending:
            insn = pending.pop()
            new = self._realize(insn)
            if new is None:
                self._done.append(insn)
            else:
                pending += reversed(new)
        return self._kernel.copy(
            instructions=tuple(self._done), temporaries=tuple(self._temporaries)
        )

    def _realize(self, insn: Instruction) -> tuple[Instruction, ...] | None:
        """Return what the outermost reductions of `insn` become, or None if it has none."""
        if not insn.reduction_inames:
            return None
        found = _Outermost(self._accumulator)
        use = insn.map_expressions(found.replace)
        always = tuple(p for p in insn.predicates if not walk.reductions(p))
        starts: list[Assignment] = []
        updates: list[Assignment] = []
        # None of them waits for another, as several may share a loop.
        for (reduction, conditions), accumulator in found.accumulators.items():
            self._check(insn, reduction)
            facts = facts_of(reduction.operation)
            start = Assignment(
                id=self._new_name(f"{insn.id}_init"),
                assignee=accumulator,
                expression=facts.identity(reduction_type(reduction, self._kinds)),
                within_inames=insn.within_inames,
                depends_on=self._outside(insn.depends_on, reduction.inames),
                predicates=(*always, *conditions),
                location=insn.location,
            )
            starts.append(start)
            updates.append(
                start.copy(
                    id=self._new_name(f"{insn.id}_update"),
                    expression=facts.combined(accumulator, reduction.operand),
                    within_inames=insn.within_inames | frozenset(reduction.inames),
                    depends_on=insn.depends_on | {start.id},
                )
            )
        use = use.copy(depends_on=insn.depends_on.union(u.id for u in updates))
        return *starts, *updates, use

    def _outside(self, ids: frozenset[str], inames: tuple[str, ...]) -> frozenset[str]:
        """Return those of the instructions that are not in the loop of a reduction.

        What stands in it, such as a prefetch, comes after the start of the accumulator.
        """
        by_id = self._kernel.instructions_by_id
        return frozenset(
            i for i in ids if i not in by_id or by_id[i].within_inames.isdisjoint(inames)
        )

    def _accumulator(self, reduction: ex.Reduction) -> ex.Variable:
        dtype = reduction_type(reduction, self._kinds)
        name = self._new_name("acc_" + "_".join(reduction.inames))
        self._temporaries.append(TemporaryVariable(name, dtype))
        self._kinds[name] = dtype
        return ex.Variable(name)

    def _new_name(self, like: str) -> str:
        name, count = like, 0
        while name in self._names:
            name, count = f"{like}_{count}", count + 1
        self._names.add(name)
        return name

    def _check(self, insn: Instruction, reduction: ex.Reduction) -> None:
        for iname in reduction.inames:
            tag = self._kernel.tags.get(iname)
            if is_parallel(tag):
                raise ReductionNotSequential(
                    f"instruction '{insn.id}' reduces over '{iname}', which is tagged {tag}",
                    where=insn.location,
                    excerpt=excerpt(self._kernel, insn.id),
                    remedy=f"leave '{iname}' untagged: a reduction runs as a loop",
                )


class _Outermost:
    """Replaces the outermost reductions of expressions by accumulators.

    A reduction is computed only under the conditions of each ``if(c, a, b)`` that it stands in:
    otherwise its operand might touch what is not there.

    Attributes:
        accumulators: for each reduction, with these conditions, its accumulator.
    """

    def __init__(self, new_accumulator: Callable[[ex.Reduction], ex.Variable]) -> None:
        self._new = new_accumulator
        self.accumulators: dict[tuple[ex.Reduction, tuple[Expression, ...]], ex.Variable] = {}

    def replace(self, node: Any, conditions: tuple[Expression, ...] = ()) -> Any:
        if isinstance(node, ex.Reduction):
            key = node, conditions
            if key not in self.accumulators:
                self.accumulators[key] = self._new(node)
            return self.accumulators[key]
        if isinstance(node, ex.If) and not walk.reductions(node.condition):
            return ex.If(
                node.condition,
                self.replace(node.then, (*conditions, node.condition)),
                self.replace(node.else_, (*conditions, ex.LogicalNot(node.condition))),
            )
        return walk.rebuild(node, tuple([self.replace(p, conditions) for p in walk.parts(node)]))
