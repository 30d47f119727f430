"""Loops of a function that run in parts, so that somebody sees how far they are.

    for t in range(1, T):                 for t in range(polygen_from, polygen_to):
        ...                       ->          ...                    called for 1 to 2, 2 to 4, ...

What the function computes stays the same: each part goes on with the names as the one before left
them.  Loops at the function's own level are watched, over `range`, if nothing leaves them early.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeAlias

from polygen.python.function_source import FunctionSource
from polygen.python.interpreted import interpreted
from polygen.python.liveness import liveness, stores

FROM, TO = "polygen_from", "polygen_to"
_LONG = 0.1  # seconds: parts are not made longer than about twice that
_RANGE = "polygen_range"

# Shows a bar for a title and a number of steps; yields what is told how many are done.
Watch: TypeAlias = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]


@dataclass(frozen=True)
class WatchedLoop:
    """A loop that runs in parts.

    Attributes:
        part: the statement that runs a part.
        title: how the loop begins, for people.
        carried: names that one part passes to the next.
        values: returns the range that it runs over, given the values of names.
    """

    part: ast.For
    title: str
    carried: frozenset[str]
    values: Callable[[Mapping[str, Any]], range]

    def run(
        self,
        names: dict[str, Any],
        watch: Watch,
        run_part: Callable[[dict[str, Any]], dict[str, Any]],
    ) -> dict[str, Any]:
        """Run all parts, and return the values of names after them.

        Parameters:
            names: the values of names before the loop.
            watch: shows how far it is.
            run_part: runs the statement of a part, and returns the values of names after it.
        """
        values = self.values(names)
        total, done, count = len(values), 0, 1
        with watch(self.title, total) as tell:
            while done < total:
                begin, end = done, min(done + count, total)
                bounds = {
                    FROM: values.start + begin * values.step,
                    TO: values.start + end * values.step,
                }
                started = perf_counter()
                names = run_part({**names, **bounds})
                done = end
                tell(done)  # which waits for a device
                if perf_counter() - started < _LONG:
                    count *= 2
        return {name: value for name, value in names.items() if name not in (FROM, TO)}


def watched_loops(source: FunctionSource) -> dict[int, WatchedLoop]:
    """Return the loops of a function that can run in parts, by the numbers of their statements.

    Parameters:
        source: the function.
    """
    outer = source.outer_values()
    given = [node.arg for node in ast.walk(source.tree.args) if isinstance(node, ast.arg)]
    own = stores(source.tree.body).union(given)
    return {
        at: _watched(source, node)
        for at, node in enumerate(source.tree.body)
        if isinstance(node, ast.For) and "range" not in own | outer.keys() and _can_be(node)
    }


def _can_be(loop: ast.For) -> bool:
    call = loop.iter
    is_range = (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "range"
        and not call.keywords
        and not any(isinstance(arg, ast.Starred) for arg in call.args)
    )
    return is_range and isinstance(loop.target, ast.Name) and not (loop.orelse or _is_left(loop))


def _is_left(loop: ast.For) -> bool:
    """Tell whether something may leave a loop before its end."""
    return any(isinstance(node, ast.Return) for node in ast.walk(loop)) or _breaks(loop.body)


def _breaks(body: Sequence[ast.stmt]) -> bool:
    for node in body:
        if isinstance(node, ast.Break):
            return True
        if isinstance(node, ast.For | ast.While):
            if _breaks(node.orelse):  # those in its body leave this one alone
                return True
        elif any(_breaks(block) for block in _blocks(node)):
            return True
    return False


def _blocks(node: ast.stmt) -> list[list[ast.stmt]]:
    found = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
    found += [handler.body for handler in getattr(node, "handlers", [])]
    return found


def _watched(source: FunctionSource, loop: ast.For) -> WatchedLoop:
    assert isinstance(loop.iter, ast.Call)
    part = copy.deepcopy(loop)
    call = loop.iter
    bounds: list[ast.expr] = [ast.Name(FROM, ast.Load()), ast.Name(TO, ast.Load())]
    bounds += copy.deepcopy(call.args[2:])
    made = ast.Call(copy.deepcopy(call.func), bounds, [])
    part.iter = ast.fix_missing_locations(ast.copy_location(made, call))
    # One statement after the other: what a part reads of the one before shows as carried.
    carried = liveness([part]).carried[part] & frozenset(stores([part]))
    target = ast.Name(_RANGE, ast.Store())
    assign = ast.Assign([target], copy.deepcopy(call))
    ast.fix_missing_locations(ast.copy_location(assign, loop))

    def values(names: Mapping[str, Any]) -> range:
        _, found = interpreted(source, [assign], tuple(names))(names)
        result: range = found[_RANGE]
        return result

    title = f"for {ast.unparse(loop.target)} in {ast.unparse(loop.iter)}"
    return WatchedLoop(part, title, carried - {FROM, TO}, values)
