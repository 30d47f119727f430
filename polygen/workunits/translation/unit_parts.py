"""Names, constants and errors that the parts of the translation of a work unit share."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from polygen.errors import WorkUnitRefused
from polygen.python.function_source import FunctionSource
from polygen.python.source_annotations import called_function
from polygen.python.tree_parts import load, placed
from polygen.source import SourceLocation
from polygen.workunits.constructs import construct_of
from polygen.workunits.translation.renamed_names import local_names
from polygen.workunits.translation.team_names import TeamNames


class UnitParts:
    """The state of a translation: names, constants, functions, and what was found so far.

    Parameters:
        source: the work unit.
        team: what its team member tells; None without one.
        taken: names that are used already.
        atomic: parameters whose updates are all atomic.
        owner: the name of the object's parameter, and the object's class; None for a function.
        index: the names of what tells iterations of the policy apart.

    Attributes:
        parallel: the loops that a range of Kokkos' stands for.
        updates: the updates that are atomic.
        constants: values that the statements have by names of their own.
        team_wide: statements that the threads of a team come to together: barriers, shared loops.
        by_thread: arrays of the scratch memory of threads.
    """

    def __init__(
        self,
        source: FunctionSource,
        team: TeamNames | None,
        taken: set[str],
        *,
        atomic: Collection[str] = (),
        owner: tuple[str, type] | None = None,
        index: Sequence[str] = (),
    ) -> None:
        self._source = source
        self._outer: Mapping[str, Any] = source.outer_values()
        self._team = team
        self._taken = taken
        self._atomic, self._owner, self._index = atomic, owner, index
        self._pools: dict[str, ast.expr] = {}
        self._locals = local_names(source.tree)
        self._nested: dict[str, ast.FunctionDef] = {}
        self._before: list[ast.stmt] = []
        self._is_shared = False
        self._depth = 0
        self.parallel: list[ast.For] = []
        self.updates: list[ast.stmt] = []
        self.constants: dict[str, Any] = {}
        self.team_wide: dict[ast.stmt, str] = {}
        self.by_thread: set[str] = set()

    def name(self, like: str) -> str:
        """Return a name that nothing has yet, and take it."""
        found, number = like, 0
        while found in self._taken:
            number += 1
            found = f"{like}_{number}"
        self._taken.add(found)
        self._locals.add(found)
        return found

    @property
    def _has_threads(self) -> bool:
        return self._team is not None and self._team.size > 1

    def _function(self, node: ast.expr) -> Any:
        """Return the function that is called; None if it is not known."""
        if isinstance(node, ast.Subscript):
            node = node.value
        owner = node.value if isinstance(node, ast.Attribute) else None
        if self._owner and isinstance(owner, ast.Name) and owner.id == self._owner[0]:
            assert isinstance(node, ast.Attribute)
            return getattr(self._owner[1], node.attr, None)
        if isinstance(node, ast.Name) and node.id in self._locals:
            return None
        return called_function(node, self._outer)

    def _construct(self, node: ast.expr) -> str:
        try:
            return construct_of(self._function(node))
        except TypeError:
            return ""

    def value_of(self, node: ast.expr) -> Any:
        """Return what an expression of a translated statement stands for; None if it is open."""
        if isinstance(node, ast.Name) and node.id in self.constants:
            return self.constants[node.id]
        return self._function(node)

    def place(self, node: ast.AST) -> SourceLocation:
        """Return where a part of the work unit stands."""
        return self._source.place(node)

    def refused(
        self,
        node: ast.AST,
        why: str,
        remedy: str = "see the page 'Work units' for what they may have",
    ) -> WorkUnitRefused:
        """Return the error for a part of a work unit."""
        return WorkUnitRefused(
            f"{why}, in '{self._source.tree.name}'",
            where=self._source.place(node),
            remedy=remedy,
        )

    def constant(self, value: Any, like: ast.AST) -> ast.expr:
        """Return what a statement writes for a value."""
        if type(value) in (bool, int, float):
            return placed(ast.Constant(value), like)
        name = next((n for n, v in self.constants.items() if _is_same(v, value)), None)
        if name is None:
            like_name: str = getattr(value, "__name__", type(value).__name__)
            name = self.name(f"pk_{like_name.rpartition('.')[2].strip('<>')}")
            self.constants[name] = value
        return load(name, like)

    def _is_member(self, node: ast.AST) -> bool:
        return (
            self._team is not None and isinstance(node, ast.Name) and node.id == self._team.member
        )

    def _is_of_member(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Attribute) and self._is_member(node.value)

    def _is_owner(self, node: ast.expr) -> bool:
        return self._owner is not None and isinstance(node, ast.Name) and node.id == self._owner[0]

    # Filled in by upper layers.

    def statements(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return the statements without anything of Kokkos' in them."""
        raise NotImplementedError

    def expression(self, node: ast.expr) -> ast.expr:
        """Return an expression without anything of Kokkos' in it."""
        raise NotImplementedError


def _is_same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    return isinstance(one, _NUMBERS) and type(one) is type(other) and bool(one == other)


_NUMBERS: Any = np.generic


def leaves(body: Sequence[ast.stmt]) -> bool:
    """Tell whether statements end an iteration of the loop that they are to be in."""
    return any(isinstance(part, ast.Continue) for node in body for part in ast.walk(node))
