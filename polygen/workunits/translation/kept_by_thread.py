"""Variables of threads that are read behind a barrier: computed again, or an element for each."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from polygen.errors import ThreadsPart
from polygen.python.liveness import stores_of_target
from polygen.python.tree_parts import assign, load, placed
from polygen.workunits.translation.names_in import assigned, exposed, reads
from polygen.workunits.translation.team_names import TeamNames
from polygen.workunits.translation.unit_body import UnitBody

_SIMPLE = frozenset({"abs", "int", "len", "max", "min"})
_DEEPEST = 8


class KeptByThread:
    """Finds variables that live across phases, and keeps them.

    Parameters:
        body: what translated the statements.
        team: the names of the member's facts.
        differs: names that differ by thread.
        statements: all of the work unit's, as they were translated.
    """

    def __init__(
        self,
        body: UnitBody,
        team: TeamNames,
        differs: Collection[str],
        statements: Sequence[ast.stmt],
    ) -> None:
        self._body, self._team, self._differs = body, team, frozenset(differs)
        self._values: dict[str, list[ast.expr]] = {}
        self._targets: set[str] = set()
        self._plain: dict[str, ast.expr] = {}
        for node in [part for one in statements for part in ast.walk(one)]:
            self._note(node)
        for node in statements:  # as they are, where no loop or branch decides
            value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
            for name in assigned(node):
                if value is not None and len(self._values[name]) == 1:
                    self._plain[name] = copy.deepcopy(value)

    def _note(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for name in assigned(node):
                self._values.setdefault(name, []).append(copy.deepcopy(node.value))
        elif isinstance(node, ast.AnnAssign | ast.AugAssign) and node.value is not None:
            for name in assigned(node):
                values = self._values.setdefault(name, [])
                values.append(copy.deepcopy(node.value))
                if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div):
                    values.append(ast.Constant(0.0))
        elif isinstance(node, ast.For):
            self._targets |= stores_of_target(node.target)

    def between(self, phases: Sequence[ast.For]) -> list[ast.stmt]:
        """Let variables live across phases, and return what is to be done before all of them.

        Parameters:
            phases: loops over threads, which are changed.
        """
        rank, own = self._team.team_rank, self._body.by_thread
        crossing = {name for one in phases for name in exposed(one.body)} & self._differs
        crossing -= {rank, *own}
        made: list[ast.stmt] = []
        kept = {name: name for name in own}
        for name in sorted(crossing):
            if self._is_computed_again(name, 0):
                continue
            if name in self._targets:
                raise ThreadsPart(
                    f"'{name}' is the variable of a loop, and is read behind a barrier",
                    where=self._body.place(phases[0]),
                    remedy="assign it to another variable in the loop",
                )
            kept[name] = self._body.name(f"{name}_of_thread")
            made.append(self._array(name, kept[name], phases[0]))
        again = {name for name in crossing if name not in kept}
        for one in phases:
            needed = sorted(exposed(one.body) & again)
            one.body = [*self._definitions(needed, one), *one.body]
            one.body = [_ByThread(kept, rank).visit(node) for node in one.body]
        return made

    # --- what is computed again

    def _is_computed_again(self, name: str, depth: int) -> bool:
        """Tell whether sizes and ranks alone decide a value, so that no memory is read for it."""
        value = self._plain.get(name)
        if value is None or depth > _DEEPEST or name in self._targets:
            return False
        for part in ast.walk(value):
            if isinstance(part, ast.Subscript) and not _is_of_shape(part):
                return False
            if isinstance(part, ast.Call) and getattr(part.func, "id", "") not in _SIMPLE:
                return False
        return all(self._is_there(one, depth) for one in reads(value))

    def _is_there(self, name: str, depth: int) -> bool:
        if name == self._team.team_rank:
            return True
        if name in self._differs:
            return self._is_computed_again(name, depth + 1)
        is_set_once = name in self._plain or name not in self._values
        return is_set_once and name not in self._targets

    def _definitions(self, names: Sequence[str], like: ast.AST) -> list[ast.stmt]:
        made: dict[str, ast.stmt] = {}

        def add(name: str) -> None:
            if name in made or name == self._team.team_rank or name not in self._differs:
                return
            value: ast.expr = self._plain[name]
            for part in sorted(reads(value)):
                add(part)
            made[name] = assign(name, copy.deepcopy(value), like)

        for name in names:
            add(name)
        return list(made.values())

    # --- what has an element for each thread

    def _array(self, name: str, array: str, like: ast.AST) -> ast.stmt:
        """Return the statement that makes an array with an element for each thread."""
        dtype = placed(ast.Attribute(self._sample(name, 0), "dtype", ast.Load()), like)
        shape = ast.Tuple([ast.Constant(self._team.size)], ast.Load())
        empty = self._body.constant(np.empty, like)
        return assign(array, ast.Call(empty, [shape, dtype], []), like)

    def _sample(self, name: str, depth: int) -> ast.expr:
        """Return an expression of the type that a variable has, of names that are known first."""
        values = self._values.get(name)
        if name == self._team.team_rank or not values or depth > _DEEPEST:
            return ast.Constant(0)
        found = [copy.deepcopy(value) for value in values]
        parts: Mapping[str, ast.expr] = {
            other: self._sample(other, depth + 1)
            for value in found
            for other in reads(value)
            if other != name and other in {*self._values, *self._targets, self._team.team_rank}
            and other not in self._types()
        }  # fmt: skip
        replaced = _Replaced({**parts, name: ast.Constant(0)}, self._types())
        joined = replaced.visit(found[0])
        for value in found[1:]:
            joined = ast.BinOp(joined, ast.Add(), replaced.visit(value))
        made: ast.expr = joined
        return made

    def _types(self) -> dict[str, ast.expr]:
        """Return the types of elements of arrays that the statements make."""
        return {
            name: value.args[1]
            for name, values in self._values.items()
            for value in values
            if isinstance(value, ast.Call) and self._body.value_of(value.func) is np.empty
        }


class _ByThread(ast.NodeTransformer):
    """Puts the rank of the thread behind names of arrays with an element for each."""

    def __init__(self, names: Mapping[str, str], rank: str) -> None:
        self._names, self._rank = names, rank

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in self._names:
            return node
        array = load(self._names[node.id], node)
        return placed(ast.Subscript(array, load(self._rank, node), node.ctx), node)


class _Replaced(ast.NodeTransformer):
    """Puts expressions in the place of names, and numbers in that of elements of new arrays."""

    def __init__(self, values: Mapping[str, ast.expr], types: Mapping[str, ast.expr]) -> None:
        self._values, self._types = values, types

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return copy.deepcopy(self._values.get(node.id, node))

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id in self._types:
            return ast.Call(copy.deepcopy(self._types[node.value.id]), [ast.Constant(0)], [])
        return self.generic_visit(node)


def _is_of_shape(node: ast.Subscript) -> bool:
    return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
