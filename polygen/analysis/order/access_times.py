"""Access times: the position of each access in the order of execution, also in reductions.

A reduction runs in the loops of its inames, together with what else stands in them.  So what it
reads there is read in the course of these loops, and not all at once.
"""

from __future__ import annotations

from collections.abc import Iterator

from polygen.analysis.access.accesses import Access
from polygen.analysis.order.instance_order import Piece, order_of
from polygen.analysis.order.reduction_statements import realized, shares_reduction_loops
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel


class Moments:
    """The order of the accesses of a kernel.

    Attributes:
        statements: the kernel, with what reductions become where other instructions stand in
            their loops.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._ids: dict[tuple[str, frozenset[str]], str] = {}
        if shares_reduction_loops(kernel):
            kernel, ids = realized(kernel)
            self._ids.update(ids)
        self.statements = kernel
        self._order = order_of(kernel)

    def statement(self, access: Access) -> str:
        """Return the id of the statement that an access is made by."""
        return self._ids.get((access.insn_id, access.inames), access.insn_id)

    def loops(self, first: Access, second: Access) -> tuple[str, ...]:
        """Return the sequential loops around both, outermost first, those of reductions too."""
        return self._order.shared_loops(self.statement(first), self.statement(second))

    def between(self, first: Access, second: Access) -> tuple[tuple[str, ...], bool]:
        """Return the loops around both, and whether within them the first has to come first."""
        a, b = self.statement(first), self.statement(second)
        stands_first = self._order.depends(a, b) or self._order.related(a, b) is not None
        return self._order.shared_loops(a, b), stands_first

    def depends(self, first: Access, second: Access) -> bool:
        """Tell whether, within the loops around both, the first has to come first."""
        return self._order.depends(self.statement(first), self.statement(second))

    def before(self, first: Access, second: Access) -> Iterator[Piece]:
        """Yield, disjoint, the pairs of instances of which the first comes first."""
        for piece in self._order.before(self.statement(first), self.statement(second)):
            # What one instance does in a certain order orders no two instances.
            if piece.less is not None or first.insn_id != second.insn_id:
                yield piece


@per_kernel
def moments(kernel: Kernel) -> Moments:
    """Return the order of a kernel's accesses.

    Raises:
        NoLoopNest, DependencyCycle: if no execution is permitted.
    """
    return Moments(kernel)
