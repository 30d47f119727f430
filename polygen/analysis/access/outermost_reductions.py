"""The outermost reductions of expressions, and under which conditions they are computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from polygen.errors import ReductionNotSequential
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.tags import LocalTag, is_parallel
from polygen.ir.verify import excerpt

Place = TypeVar("Place", bound=ex.Variable | ex.Subscript)


class Outermost(Generic[Place]):
    """Replaces the outermost reductions of expressions by accumulators.

    A reduction is computed only under the conditions of each ``if(c, a, b)`` that it stands in:
    otherwise its operand might touch what is not there.

    Parameters:
        new: returns new accumulators for a reduction: one for each result.

    Attributes:
        accumulators: for each reduction, with these conditions, its accumulators.
    """

    def __init__(self, new: Callable[[ex.Reduction], tuple[Place, ...]]) -> None:
        self._new = new
        self.accumulators: dict[tuple[ex.Reduction, tuple[Expression, ...]], tuple[Place, ...]] = {}

    def replace(self, node: Any, conditions: tuple[Expression, ...] = ()) -> Any:
        """Return an expression with accumulators in place of its reductions."""
        if ex.Reduction not in walk.classes(node):
            return node
        if isinstance(node, ex.Component) and isinstance(node.aggregate, ex.Reduction):
            return self._found(node.aggregate, conditions)[node.position]
        if isinstance(node, ex.Reduction):
            return self._found(node, conditions)[0]
        if isinstance(node, ex.If) and not walk.reductions(node.condition):
            return ex.If(
                node.condition,
                self.replace(node.then, (*conditions, node.condition)),
                self.replace(node.else_, (*conditions, ex.LogicalNot(node.condition))),
            )
        return walk.rebuild(node, tuple([self.replace(p, conditions) for p in walk.parts(node)]))

    def _found(self, node: ex.Reduction, conditions: tuple[Expression, ...]) -> tuple[Place, ...]:
        key = node, conditions
        if key not in self.accumulators:
            self.accumulators[key] = self._new(node)
        return self.accumulators[key]


def check_sequential(
    kernel: Kernel, insn: Instruction, reduction: ex.Reduction, shared: str | None = None
) -> None:
    """Check that a reduction can run as a loop.

    Parameters:
        kernel, insn, reduction: the reduction, and where it stands.
        shared: an iname of it of which work items of a group have a value each; then it may run
            over others on axes of the work items, too.

    Raises:
        ReductionNotSequential: if it runs over any other iname that is tagged as parallel.
    """
    for iname in reduction.inames:
        tag = kernel.tags.get(iname)
        if iname == shared or not is_parallel(tag) or (shared and isinstance(tag, LocalTag)):
            continue
        raise ReductionNotSequential(
            f"instruction '{insn.id}' reduces over '{iname}', which is tagged {tag}",
            where=insn.location,
            excerpt=excerpt(kernel, insn.id),
            remedy=f"leave '{iname}' untagged: a reduction runs as a loop, or on an axis of the "
            "work items of a group (l.0 to l.2)",
        )
