"""The body of a work unit as plain statements: what Kokkos has names for, Python says.

x[i] = A.extent(1)               ->    x[i] = A.shape[1]
pk.atomic_add(h, [k], 1)         ->    h[k] += 1
s = pk.ScratchView1D[...](...)   ->    s = np.empty((n,), np.float64)
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, ClassVar, cast

import numpy as np

from polygen.python.source_annotations import called_function
from polygen.python.tree_parts import load, placed
from polygen.workunits.atomics import FETCHES
from polygen.workunits.element_types import element_dtype
from polygen.workunits.translation.atomic_calls import (
    fetching_call,
    updated_array,
    updating_statement,
)
from polygen.workunits.translation.nested_dispatches import NestedDispatches
from polygen.workunits.translation.random_states import RandomStates

BARRIER = "barrier"
_EMPTY: Any = np.empty


class UnitBody(RandomStates):
    """Translates the body of a work unit."""

    def statements(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return the statements without anything of Kokkos' in them."""
        made: list[ast.stmt] = []
        for node in body:
            made += self._statement(node)
        return made

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, ast.FunctionDef):
            self._nested[node.name] = node
            return []
        if isinstance(node, ast.Nonlocal):
            return []
        outer, self._before = self._before, []
        made: list[ast.stmt] | None = None
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            made = self._of_call(node.value)
        if made is None:
            made = [self._parts(node)]
        before, self._before = self._before, outer
        return [*before, *made]

    def _of_call(self, call: ast.Call) -> list[ast.stmt] | None:
        """Return the statements of a call that stands alone; None if it is one of Python's."""
        if isinstance(call.func, ast.Name) and call.func.id in self._nested:
            return self._written_out(self._nested[call.func.id], call)
        if self._is_of_member(call.func) and call.func.attr == "team_barrier":  # type: ignore[attr-defined]
            return self._barrier(call)
        function = self._function(call.func)
        if self._passes_member(call) and isinstance(function, FunctionType):
            return self._device_statements(function, call)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "free_state":
            return []
        rule = self._of_calls.get(self._construct(call.func))
        return None if rule is None else rule(self, call)

    def _parts(self, node: ast.stmt) -> ast.stmt:
        """Return a statement with its parts translated."""
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Call):
            self._declare_scratch(node, node.value)
        self._note_thread_scratch(node)
        if self._note_random_state(node):
            return node
        before = len(self._before)
        fields: list[tuple[str, Any]] = list(ast.iter_fields(node))
        for field, value in fields:
            if field in ("body", "orelse") and isinstance(value, list):
                setattr(node, field, self.statements(cast("Sequence[ast.stmt]", value)))
            elif isinstance(value, ast.expr) and field != "annotation":
                setattr(node, field, _Expressions(self).visit(value))
            elif isinstance(value, list):
                parts = cast("Sequence[ast.AST]", value)
                setattr(node, field, [_Expressions(self).visit(part) for part in parts])
        if isinstance(node, ast.While) and len(self._before) > before:
            raise self.refused(
                node.test, "the condition of a loop has a nested dispatch, or a random number"
            )
        if updated_array(node) in self._atomic:
            self.updates.append(node)
        return node

    def _declare_scratch(self, node: ast.AnnAssign, call: ast.Call) -> None:
        """Let scratch memory have the type that the variable is declared with."""
        is_scratch = self._construct(call.func) == "scratch"
        if is_scratch and isinstance(node.annotation, ast.Subscript):
            call.func = node.annotation

    def _note_thread_scratch(self, node: ast.stmt) -> None:
        value = getattr(node, "value", None)
        if not isinstance(value, ast.Call) or self._construct(value.func) != "scratch":
            return
        place = value.args[0] if value.args else None
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if isinstance(place, ast.Call) and self._is_of_member(place.func):
            is_own = place.func.attr == "thread_scratch"  # type: ignore[attr-defined]
            if is_own and self._has_threads:
                self.by_thread |= {one.id for one in targets if isinstance(one, ast.Name)}

    def _barrier(self, call: ast.Call) -> list[ast.stmt]:
        if not self._has_threads:
            return []
        if self._is_shared:
            raise self.refused(call, "a barrier is in the work that threads share")
        made = placed(ast.Pass(), call)
        self.team_wide[made] = BARRIER
        return [made]

    def _nothing(self, _call: ast.Call) -> list[ast.stmt]:
        return []

    def _atomic_update(self, call: ast.Call) -> list[ast.stmt] | None:
        given = [self.expression(part) for part in self._positional(call)]
        function = self._function(call.func)
        made = updating_statement(function, given, call, self.constant)
        if made is None:
            return [placed(ast.Expr(fetching_call(function, given, call, self.constant)), call)]
        self.updates.append(made)
        return [made]

    def _positional(self, call: ast.Call) -> list[ast.expr]:
        """Return the arguments of an atomic update, those by name behind the others."""
        order = ["view", "indices", "expected", "value"]
        named = sorted(call.keywords, key=lambda k: order.index(k.arg) if k.arg in order else 9)
        given = [*call.args, *[keyword.value for keyword in named]]
        if len(given) not in (2, 3, 4) or any(k.arg not in order for k in named):
            raise self.refused(call, "an atomic update takes a view, a list of subscripts, a value")
        return given

    _of_calls: ClassVar[dict[str, Callable[[Any, ast.Call], list[ast.stmt] | None]]] = {
        "parallel_for": NestedDispatches._parallel_for,
        "single": NestedDispatches._single,
        "fence": _nothing,
        "atomic": _atomic_update,
    }

    def expression(self, node: ast.expr) -> ast.expr:
        """Return an expression without anything of Kokkos' in it."""
        found: ast.expr = _Expressions(self).visit(node)
        return found

    def called(self, node: ast.Call) -> ast.expr | None:
        """Return what a call means that Kokkos has a name for; None for any other one."""
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if self._is_of_member(node.func):
            return self._told(node, method)
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if isinstance(owner, ast.Name) and owner.id in self._pools:
            return self.random(node, owner.id)
        if isinstance(node.func, ast.Name) and node.func.id in self._nested:
            return self._called_nested(self._nested[node.func.id], node)
        function = self._function(node.func)
        kind = self._construct(node.func)
        if kind in ("", "device") and function and self._passes_member(node):
            raise self.refused(
                node, f"'{function.__name__}' is passed the team member, and is called for a value"
            )
        if kind == "device" and isinstance(function, FunctionType):
            return self._called_device(function, node)
        if kind in ("parallel_reduce", "parallel_scan"):
            return self.reduced(node, is_scan=kind == "parallel_scan")
        if kind == "scratch":
            return self._scratch(node)
        if kind == "atomic" and function in FETCHES:
            given = [self.expression(part) for part in self._positional(node)]
            return fetching_call(function, given, node, self.constant)
        return self._of_view(node, method)

    def _of_view(self, node: ast.Call, method: str) -> ast.expr | None:
        """Return what a method of a view tells: an extent, or the number of subscripts."""
        if not isinstance(node.func, ast.Attribute):
            return None
        if method == "extent" and len(node.args) == 1:
            shape = ast.Attribute(self.expression(node.func.value), "shape", ast.Load())
            return placed(ast.Subscript(shape, self.expression(node.args[0]), ast.Load()), node)
        if method == "rank" and not node.args:
            return placed(ast.Attribute(self.expression(node.func.value), "ndim", ast.Load()), node)
        return None

    def _told(self, node: ast.Call, method: str) -> ast.expr:
        assert self._team is not None
        if method == "team_size":
            return placed(ast.Constant(self._team.size), node)
        if method == "team_rank" and not self._has_threads:
            return placed(ast.Constant(0), node)
        if method == "team_rank" and self._is_shared:
            raise self.refused(node, "which thread does a part of the work that they share is open")
        if method not in ("league_rank", "league_size", "team_rank"):
            raise self.refused(node, f"a team member has no '{method}' in an expression")
        return load(getattr(self._team, method), node)

    def _scratch(self, node: ast.Call) -> ast.expr:
        """Return an array of the team, or of the thread."""
        extents = [self.expression(part) for part in node.args[1:]]
        if len(extents) == 1 and isinstance(extents[0], ast.List | ast.Tuple):
            extents = list(extents[0].elts)
        dtype: Any = None
        if isinstance(node.func, ast.Subscript):
            dtype = called_function(node.func.slice, self._outer)
        made = self.constant(_EMPTY, node)
        of_type = self.constant(element_dtype(dtype).type, node)
        return placed(ast.Call(made, [ast.Tuple(extents, ast.Load()), of_type], []), node)


class _Expressions(ast.NodeTransformer):
    def __init__(self, body: UnitBody) -> None:
        self._body = body

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        return self._body.unconditional(node, [node.body, node.orelse])

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        return self._body.unconditional(node, node.values[1:])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        found = self._body.called(node)
        return self.generic_visit(node) if found is None else found
