"""Nested dispatches of a work unit as loops.

def inner(j: int, s: pk.Acc[pk.double]):                s = 0.0
    s += A[e][j]                                  ->    for j in range(n):
t = pk.parallel_reduce(TeamThreadRange(m, n), inner)        s += A[e][j]
                                                        t = s
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import Any, TypeAlias, cast

from polygen.python.liveness import stores
from polygen.python.source_annotations import called_function
from polygen.python.tree_parts import assign, load, loop, placed
from polygen.workunits.accumulators import AccumulatorType
from polygen.workunits.decorators import BoundWorkUnit, WorkUnit
from polygen.workunits.translation.called_functions import CalledFunctions
from polygen.workunits.translation.lambdas import definition_of
from polygen.workunits.translation.leaving import without_returns
from polygen.workunits.translation.renamed_names import Renamed
from polygen.workunits.translation.unit_parts import leaves

_Bounds: TypeAlias = list[tuple[ast.expr, ast.expr]]
_SHARED = frozenset({"thread range", "thread box"})
_RANGES = _SHARED | {"vector range"}
TOGETHER = "together"  # what threads of a team come to and share


class NestedDispatches(CalledFunctions):
    """The part of a translation that knows nested dispatches."""

    def _parallel_for(self, call: ast.Call) -> list[ast.stmt]:
        ranges, unit, is_shared = self._policy_and_unit(call, 0)
        with_threads = self._shares(call, is_shared=is_shared)
        indices, _, body = self._inlined(unit, len(ranges), 0, is_shared=with_threads)
        made = self._loops(indices, ranges, body, call)
        if with_threads:
            self.team_wide[made] = TOGETHER
        return [made]

    def _shares(self, call: ast.Call, *, is_shared: bool) -> bool:
        """Tell whether threads share the work of a nested dispatch."""
        if is_shared and self._has_threads and self._is_shared:
            raise self.refused(call, "a range that threads share is in another one")
        return is_shared and self._has_threads

    def _single(self, call: ast.Call) -> list[ast.stmt]:
        unit = self._unit(call.args[-1], call)
        _, _, inside = self._inlined(unit, 0, 0, is_shared=self._is_shared)
        body: list[ast.stmt] = [*inside]
        if leaves(inside):  # a loop of one iteration, which a 'return' leaves
            ends = ast.Constant(0), ast.Constant(1)
            body = [cast("ast.stmt", loop(self.name("once"), *ends, inside, call))]
        where = call.args[0]
        is_team = isinstance(where, ast.Call) and self._construct(where.func) == "per team"
        if not (is_team and self._has_threads):
            return body
        if self._is_shared:
            raise self.refused(call, "a part for one thread of the team is in work that they share")
        assert self._team is not None
        rank = load(self._team.team_rank, call)
        test = ast.Compare(rank, [ast.Eq()], [ast.Constant(0)])
        return [placed(ast.If(test, body or [ast.Pass()], []), call)]

    def reduced(self, call: ast.Call, *, is_scan: bool) -> ast.expr:
        """Put the loops of a reduction before the statement, and return what has its result."""
        more = 2 if is_scan else 1
        ranges, unit, is_shared = self._policy_and_unit(call, more)
        with_threads = self._shares(call, is_shared=is_shared)
        start = self._start(unit, len(ranges))
        indices, (total, *passes), body = self._inlined(
            unit, len(ranges), more, is_shared=with_threads
        )
        made = [assign(total, self.constant(start, call), call)]
        made += [assign(name, ast.Constant(value=True), call) for name in passes]
        made.append(self._loops(indices, ranges, body, call, is_parallel=not is_scan))
        result = self.name(f"{total}_total")
        made.append(assign(result, load(total, call), call))
        self._before += made
        if with_threads:
            self.team_wide.update(dict.fromkeys(made, TOGETHER))
        return load(result, call)

    def unconditional(self, node: ast.expr, parts: Sequence[ast.expr]) -> ast.expr:
        """Return an expression, if what is done before it does not depend on a choice in it."""
        early = {name for one in self._before for name in stores([one])}
        if any(isinstance(p, ast.Name) and p.id in early for o in parts for p in ast.walk(o)):
            raise self.refused(
                node, "a choice in an expression has a nested dispatch, or a random number"
            )
        return node

    def _loops(
        self,
        indices: Sequence[str],
        ranges: _Bounds,
        body: list[ast.stmt],
        like: ast.AST,
        *,
        is_parallel: bool = True,
    ) -> ast.stmt:
        inside = body
        for name, (lower, upper) in reversed(list(zip(indices, ranges, strict=True))):
            made = loop(name, lower, upper, inside, like)
            inside = [made]
            if is_parallel:
                self.parallel.append(made)
        return inside[0]

    def _policy_and_unit(self, call: ast.Call, more: int) -> tuple[_Bounds, ast.FunctionDef, bool]:
        """Return the bounds and the function of a nested dispatch, and whether threads share it."""
        given = list(call.args)
        if given and isinstance(given[0], ast.Constant) and isinstance(given[0].value, str):
            given.pop(0)
        if len(given) != 2:
            raise self.refused(call, "a nested dispatch is not given a range and a function")
        policy, node = given
        kind = self._construct(policy.func) if isinstance(policy, ast.Call) else ""
        ranges = self._bounds(policy, kind)
        unit = self._unit(node, call, len(ranges), more)
        if call.keywords:
            unit = self._with_arguments(unit, call)
        return ranges, unit, kind in _SHARED

    def _with_arguments(self, unit: ast.FunctionDef, call: ast.Call) -> ast.FunctionDef:
        """Return a nested function with what the dispatch passes by name in it."""
        found = copy.deepcopy(unit)
        for keyword in call.keywords:
            parameters = [p for p in found.args.args if p.arg != keyword.arg]
            if keyword.arg is None or len(parameters) == len(found.args.args):
                raise self.refused(call, f"'{unit.name}' has no parameter '{keyword.arg}'")
            found.args.args = parameters
            if isinstance(keyword.value, ast.Name):
                renamed = Renamed({keyword.arg: keyword.value.id})
                found.body = [renamed.visit(node) for node in found.body]
            else:
                value = copy.deepcopy(keyword.value)
                found.body.insert(0, assign(keyword.arg, value, call))
        return found

    def _bounds(self, policy: ast.expr, kind: str) -> _Bounds:
        zero = ast.Constant(0)
        if not isinstance(policy, ast.Call) or kind not in _RANGES:
            return [(zero, self.expression(policy))]
        given = [self.expression(part) for part in policy.args[1:]]
        given += [self.expression(keyword.value) for keyword in policy.keywords]
        if kind == "thread box":
            return [(zero, extent) for extent in given]
        lower, upper = given if len(given) == 2 else (zero, given[0])
        return [(lower, upper)]

    def _unit(
        self, node: ast.expr, call: ast.Call, count: int = 0, more: int = 0
    ) -> ast.FunctionDef:
        if isinstance(node, ast.Name) and node.id in self._nested:
            return self._nested[node.id]
        if isinstance(node, ast.Lambda):
            names = [parameter.arg for parameter in node.args.args]
            return definition_of(node, names[count : count + 1] if more else [])
        if isinstance(called_function(node, self._outer), WorkUnit | BoundWorkUnit):
            raise self.refused(
                call,
                f"the work unit '{ast.unparse(node)}' is dispatched within another one",
                f"call '{ast.unparse(node)}' in a loop, dispatch it from outside, or define a "
                "function in the work unit",
            )
        raise self.refused(call, "a nested dispatch executes a function that the work unit defines")

    def _start(self, unit: ast.FunctionDef, count: int) -> Any:
        """Return the number that a nested reduction begins with, by the declared type."""
        if len(unit.args.args) <= count:
            raise self.refused(unit, f"'{unit.name}' has no parameter for the accumulator")
        annotation = unit.args.args[count].annotation
        if not isinstance(annotation, ast.Subscript):
            return 0.0
        dtype = called_function(annotation.slice, self._outer)
        return AccumulatorType(dtype).start

    def _inlined(
        self, unit: ast.FunctionDef, count: int, more: int, *, is_shared: bool
    ) -> tuple[list[str], list[str], list[ast.stmt]]:
        """Return the indices, the other parameters and the body of a nested function, renamed."""
        parameters = [parameter.arg for parameter in unit.args.args]
        if len(parameters) != count + more:
            raise self.refused(
                unit, f"'{unit.name}' takes {len(parameters)} arguments, and is passed "
                f"{count + more}"
            )  # fmt: skip
        names, body = self._renamed(unit)
        before, self._is_shared = self._is_shared, is_shared or self._is_shared
        try:
            inside = self._inner(without_returns(body), unit)
        finally:
            self._is_shared = before
        found = [names[name] for name in parameters]
        return found[:count], found[count:], inside
