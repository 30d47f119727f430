"""Loops that a condition ends, without the parameter that stands for their ends.

Until a program is validated, such a loop ends at a parameter that may be any number.  All that
mentions it is a bound, or a guard of a partial tile, which holds if the number is large enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.errors import EndlessLoop
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.sizes import open_ends
from polygen.lower.program import (
    ENDLESS,
    Block,
    HostLoop,
    HostNode,
    If,
    Loop,
    LoopProgram,
    Node,
)
from polygen.lower.quotients import mapped


def without_open_ends(program: LoopProgram, kernel: Kernel) -> LoopProgram:
    """Return a validated program without the parameters that stand for ends of loops.

    Raises:
        EndlessLoop: if something else than the end of a loop that a flag ends depends on one.
    """
    ends = open_ends(kernel.derived_sizes)
    return _Ends(program, kernel, ends).program() if ends else program


class _Ends:
    def __init__(self, program: LoopProgram, kernel: Kernel, ends: frozenset[str]) -> None:
        self._program = program
        self._kernel = kernel
        self._ends = ends

    def program(self) -> LoopProgram:
        arguments = tuple([a for a in self._program.arguments if a.name not in self._ends])
        host = tuple(map(self._host, self._program.host))
        return replace(self._program, arguments=arguments, host=host)

    def _host(self, node: HostNode) -> HostNode:
        if isinstance(node, HostLoop):
            body = tuple(map(self._host, node.body))
            return replace(node, upper=self._end(node), body=body)
        arguments = tuple([a for a in node.arguments if a.name not in self._ends])
        for axis in node.axes:
            self._check(axis.size)
            for _, first in axis.inames:
                self._check(first)
        return replace(node, arguments=arguments, body=self._block(node.body))

    def _block(self, block: Iterable[Node]) -> Block:
        return tuple([found for node in block for found in self._node(node)])

    def _node(self, node: Node) -> Block:
        if isinstance(node, Loop):
            return (replace(node, upper=self._end(node), body=self._block(node.body)),)
        if not isinstance(node, If):
            mapped(node, self._checked)
            return (node,)
        condition, body = self._holding(node.condition), self._block(node.body)
        if condition is True:
            return body
        return () if condition is False else (replace(node, condition=condition, body=body),)

    # --- bounds

    def _end(self, loop: Loop | HostLoop) -> Expression:
        """Return the upper bound of a loop."""
        self._check(loop.lower)
        upper = self._upper(loop.upper)
        if upper is not None:
            return upper
        if loop.runs is None:
            raise self._refused(loop.upper)
        return ENDLESS

    def _upper(self, node: Expression) -> Expression | None:
        """Return an upper bound; None if there is none."""
        if self._is_free(node):
            return node
        if isinstance(node, ex.Min):
            found = [part for part in map(self._upper, node.children) if part is not None]
            return (found[0] if len(found) == 1 else ex.Min(tuple(found))) if found else None
        if isinstance(node, ex.Max):
            found = [part for part in map(self._upper, node.children) if part is not None]
            return ex.Max(tuple(found)) if len(found) == len(node.children) else None
        if self._sign(linear_form(node)) != 1:
            raise self._refused(node)
        return None

    def _sign(self, form: LinearForm | None) -> int:
        """Return whether a form grows or falls with the ends without bound; 0 if neither is so."""
        if form is None:
            return 0
        found: set[int] = set()
        for term, factor in form.terms.items():
            inside = term in self._ends if isinstance(term, str) else self._sign(term.numerator)
            if inside:
                found.add((1 if factor > 0 else -1) * (1 if inside is True else inside))
            elif not isinstance(term, str) and not self._ends.isdisjoint(term.numerator.names()):
                return 0
        return found.pop() if len(found) == 1 else 0

    # --- conditions

    def _holding(self, node: Expression) -> Expression:
        """Return a condition, or what it is where the ends are large."""
        if self._is_free(node):
            return node
        if isinstance(node, ex.LogicalAnd):
            parts = [part for part in map(self._holding, node.children) if part is not True]
            if any(part is False for part in parts):
                return False
            return True if not parts else parts[0] if len(parts) == 1 else ex.LogicalAnd((*parts,))
        if isinstance(node, ex.LogicalOr):
            parts = [part for part in map(self._holding, node.children) if part is not False]
            if any(part is True for part in parts):
                return True
            return False if not parts else parts[0] if len(parts) == 1 else ex.LogicalOr((*parts,))
        if isinstance(node, ex.Comparison):
            left, right = linear_form(node.left), linear_form(node.right)
            sign = 0 if left is None or right is None else self._sign(right - left)
            if sign and node.operator in ("<", "<="):
                return sign > 0
            if sign and node.operator in (">", ">="):
                return sign < 0
        raise self._refused(node)

    # --- what else there is

    def _is_free(self, node: Expression) -> bool:
        return self._ends.isdisjoint(walk.free_variables(node))

    def _checked(self, node: Expression) -> Expression:
        self._check(node)
        return node

    def _check(self, node: Expression) -> None:
        if not self._is_free(node):
            raise self._refused(node)

    def _refused(self, node: Expression) -> EndlessLoop:
        names = self._ends & walk.free_variables(node)
        return EndlessLoop(
            f"the code for kernel '{self._kernel.name}' would depend on '{min(names)}', the end of "
            "a loop that only a condition ends: nobody knows it before",
            where=self._kernel.location,
            remedy="bound the loop by a size, { [t]: 0 <= t < most }, and let the condition end it "
            "earlier",
        )
