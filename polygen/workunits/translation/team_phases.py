"""The threads of a team as loops: a loop over threads for each part between barriers.

t = x[m.team_rank()]               for rank in range(4): t_of_thread[rank] = x[rank]
m.team_barrier()              ->   for rank in range(4): x[3 - rank] = t_of_thread[rank]
x[3 - m.team_rank()] = t

A variable is one for the team as long as all threads have the same value.  What differs by thread
is computed again behind a barrier, if sizes and ranks alone decide it, or has an element for each.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from polygen.errors import ThreadsPart
from polygen.python import atomic_fetches
from polygen.python.liveness import stores, stores_of_target
from polygen.python.names import c_functions
from polygen.python.tree_parts import loop, placed
from polygen.workunits.translation.kept_by_thread import KeptByThread
from polygen.workunits.translation.names_in import assigned, reads
from polygen.workunits.translation.nested_dispatches import TOGETHER
from polygen.workunits.translation.team_names import TeamNames
from polygen.workunits.translation.unit_body import BARRIER, UnitBody

_EFFECTS = (
    *atomic_fetches.OPERATIONS,
    atomic_fetches.atomic_exchange,
    atomic_fetches.atomic_compare_exchange,
)
_PURE_MODULES = ("builtins", "math", "cmath", "numpy")


class TeamPhases:
    """Makes loops over the threads of a team.

    Parameters:
        body: what translated the statements.
        team: the names of the member's facts.
        accumulators: what iterations of the league add up.
    """

    def __init__(self, body: UnitBody, team: TeamNames, accumulators: Collection[str]) -> None:
        self._body, self._team = body, team
        self._accumulators = frozenset(accumulators)
        self._differs: set[str] = set()
        self._phases: list[ast.For] = []
        self._leaves: ast.stmt | None = None

    def statements(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return the statements of a team, in which those of threads are in loops.

        Raises:
            ThreadsPart: if not all threads come to a barrier, or to work that they share.
        """
        self._differs = {self._team.team_rank, *self._body.by_thread}
        known = -1
        while known != len(self._differs):
            known = len(self._differs)
            for node in statements:
                self._note_differences(node, is_own=False)
        made = self._block(statements)
        kept = KeptByThread(self._body, self._team, self._differs, statements)
        return [*kept.between(self._phases), *made]

    # --- what differs by thread

    def _note_differences(self, node: ast.stmt, *, is_own: bool) -> None:
        """Note the names that differ by thread; `is_own`: not all threads come here."""
        if node in self._body.team_wide:
            return
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            value = node.value
            if is_own or (value is not None and self._is_own(value)):
                self._differs |= assigned(node) - self._accumulators
            return
        if isinstance(node, ast.For | ast.While | ast.If):
            test = node.iter if isinstance(node, ast.For) else node.test
            is_own = is_own or self._is_own(test) or self._ends_early(node)
            if is_own and isinstance(node, ast.For):
                self._differs |= stores_of_target(node.target)
            for part in [*node.body, *node.orelse]:
                self._note_differences(part, is_own=is_own)

    def _ends_early(self, node: ast.stmt) -> bool:
        """Tell whether a loop may end in one thread before it does in others."""
        if isinstance(node, ast.If):
            return False
        leaves = any(isinstance(part, ast.Break | ast.Continue) for part in ast.walk(node))
        return leaves and bool(reads(node) & self._differs)

    def _is_own(self, node: ast.expr) -> bool:
        """Tell whether an expression differs by thread, or does something in each of them."""
        return bool(reads(node) & self._differs) or self._has_effect(node)

    def _has_effect(self, node: ast.AST) -> bool:
        calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
        return any(not self._is_pure(self._body.value_of(call.func)) for call in calls)

    def _is_pure(self, function: Any) -> bool:
        if any(function is one for one in _EFFECTS):
            return False
        if any(function is one for one in c_functions.FUNCTIONS):
            return True
        module: str = getattr(function, "__module__", None) or ""
        is_known = module.partition(".")[0] in _PURE_MODULES
        return is_known or isinstance(function, np.ufunc | type)

    # --- statements

    def _block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        waiting: list[ast.stmt] = []
        for node in statements:
            if self._leaves is not None:
                raise self._parted(self._leaves, "leaves the work unit")
            kind = self._body.team_wide.get(node, "")
            is_split = not kind and self._has_meetings(node)
            if not (kind or is_split) and not self._is_of_team(node):
                waiting.append(node)
                continue
            if not (
                isinstance(node, ast.Assign | ast.AnnAssign) and _may_come_first(node, waiting)
            ):
                made += self._phase(waiting)
                waiting = []
            if kind == TOGETHER:
                self._check_shared(node)
            if self._is_thread_scratch(node):
                self._enlarge(node)
            if kind != BARRIER:
                made.append(self._split(node) if is_split else node)
        return [*made, *self._phase(waiting)]

    def _phase(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Return a loop over threads."""
        if not body:
            return []
        if leaving := _leaving(body):
            self._leaves = leaving
        size = ast.Constant(self._team.size)
        made = loop(self._team.team_rank, ast.Constant(0), size, body, body[0])
        inside = [part for one in body for part in ast.walk(one) if isinstance(part, ast.For)]
        taken = {(one.lineno, one.col_offset) for one in inside}
        while (made.lineno, made.col_offset) in taken:  # its claim is not that of another loop
            made.col_offset += 1
        self._phases.append(made)
        self._body.parallel.append(made)
        return [made]

    def _is_thread_scratch(self, node: ast.stmt) -> bool:
        return bool(assigned(node) & self._body.by_thread)

    def _enlarge(self, node: ast.stmt) -> None:
        """Let an array of a thread have an axis for all threads."""
        call: Any = getattr(node, "value", None)
        call.args[0].elts.insert(0, placed(ast.Constant(self._team.size), node))

    def _has_meetings(self, node: ast.AST) -> bool:
        """Tell whether threads come together in a loop or a branch."""
        return any(
            part in self._body.team_wide for part in ast.walk(node) if isinstance(part, ast.stmt)
        )

    def _split(self, node: ast.stmt) -> ast.stmt:
        assert isinstance(node, ast.For | ast.While | ast.If)
        test = node.iter if isinstance(node, ast.For) else node.test
        if self._is_own(test) or self._ends_early(node):
            raise self._parted(node, "depends on the thread")
        node.body = self._block(node.body) or [placed(ast.Pass(), node)]
        if isinstance(node, ast.If):
            left: ast.stmt | None = self._leaves
            self._leaves = None
            node.orelse = self._block(node.orelse)
            if left is not None:
                self._leaves = left
        elif self._leaves is not None:
            raise self._parted(self._leaves, "leaves an iteration")
        return node

    def _check_shared(self, node: ast.stmt) -> None:
        wrong = sorted((reads(node) | stores([node])) & self._differs)
        if wrong:
            raise ThreadsPart(
                f"the threads of a team share work in which '{wrong[0]}' is, which differs by "
                "thread: which of them does a part is open",
                where=self._body.place(node),
                remedy="keep it in scratch memory, or use ThreadVectorRange for work of one thread",
            )

    def _parted(self, node: ast.stmt, why: str) -> ThreadsPart:
        return ThreadsPart(
            f"not all threads of a team come to the barrier, or to the work that they share, in or "
            f"behind this statement, which {why}",
            where=self._body.place(node),
            remedy="let all threads come there: put the barrier outside of the branch",
        )

    def _is_of_team(self, node: ast.stmt) -> bool:
        """Tell whether a statement is as good executed once for all threads."""
        if isinstance(node, ast.Pass | ast.Continue | ast.Break):
            return True
        if isinstance(node, ast.Expr):
            return isinstance(node.value, ast.Constant)
        if isinstance(node, ast.For | ast.While | ast.If):
            test = node.iter if isinstance(node, ast.For) else node.test
            inside = [*node.body, *node.orelse]
            return not self._is_own(test) and all(self._is_of_team(part) for part in inside)
        if self._is_thread_scratch(node):
            return True
        if self._has_effect(node):
            return False
        mine = reads(node) | assigned(node)
        if not mine.isdisjoint(self._differs | self._accumulators):
            return False
        if assigned(node):
            return True
        return isinstance(node, ast.Assign) and _is_idempotent(node)


def _is_idempotent(node: ast.Assign) -> bool:
    """Tell whether storing an element twice is as good as once: its value does not depend on it."""
    roots = {_root(target) for target in node.targets}
    return all(roots) and not (reads(node.value) & roots)


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _may_come_first(node: ast.stmt, waiting: Sequence[ast.stmt]) -> bool:
    """Tell whether a variable may get its value before statements that wait."""
    names = assigned(node)
    stored = stores(list(waiting))
    reads_memory = any(
        isinstance(part, ast.Subscript) and not _is_of_shape(part) for part in ast.walk(node)
    )
    if not names or reads_memory:
        return False
    return names.isdisjoint(reads(list(waiting)) | stored) and reads(node).isdisjoint(stored)


def _is_of_shape(node: ast.Subscript) -> bool:
    return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"


def _leaving(body: Sequence[ast.stmt]) -> ast.stmt | None:
    """Return a statement that ends what a thread does, and no loop of its own."""
    for node in body:
        if isinstance(node, ast.Continue | ast.Break):
            return node
        if isinstance(node, ast.If) and (found := _leaving([*node.body, *node.orelse])):
            return found
    return None
