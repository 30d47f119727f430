"""Interprets the statements of a function: loops, conditions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from polygen.ir import expression as ex
from polygen.python.affine import Affine, number
from polygen.python.assignments import Assignments, Retrace
from polygen.python.calls import Items
from polygen.python.kept_conditions import needs_no_variable
from polygen.python.liveness import liveness, rebound, stores, stores_of_target
from polygen.python.nodes import Assign, Break, Node, When, While
from polygen.python.operators import operand_tree
from polygen.python.refused import Refused, ShapeRefused, refused_construct
from polygen.python.rotations import order_of, rotation
from polygen.python.values import (
    INT64,
    ArrayCell,
    Cell,
    Constant,
    Lazy,
    Number,
    Pending,
    Several,
    Unbound,
    Value,
    View,
)

_MOST_WRITTEN_OUT = 16  # iterations of a loop whose arrays have other shapes in each


class Returned(Exception):
    """A ``return`` was reached, on every path."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


class Statements(Assignments):
    """The part of a tracer that interprets statements."""

    def block(self, body: Sequence[ast.stmt]) -> None:
        """Interpret statements, one after the other."""
        for node in body:
            self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        """Interpret a statement.

        Raises:
            Refused: if kernels have no such thing.
        """
        outer, self.node = self.node, node
        around, self.statement_node = self.statement_node, node
        try:
            rule = self._of_statements.get(type(node))
            if rule is None:
                raise refused_construct(node)
            rule(self, node)
        except Refused as error:
            error.node = error.node or node
            raise
        finally:
            self.node, self.statement_node = outer, around

    def _break(self, node: ast.Break) -> None:
        self.emit(Break(node))

    def _define(self, node: ast.FunctionDef) -> None:
        self.names[node.name] = self.nested_function(node)

    def _pass(self, node: ast.Pass) -> None:
        """Do nothing."""

    def _return(self, node: ast.Return) -> None:
        raise Returned(Constant(None) if node.value is None else self.value(node.value))

    # --- variables that blocks assign to

    def _make_cells(self, node: ast.stmt, names: set[str], body: list[ast.stmt]) -> None:
        """Let names stand for variables of the kernel, before a loop or a branch."""
        new = rebound(body)
        for name in sorted(names):
            known = self.names.get(name)
            if isinstance(known, View) and name not in new:
                continue
            key = (node, name, self.frame)
            if isinstance(known, Cell | ArrayCell | Pending):
                continue
            if known is None or isinstance(known, Unbound):
                self.names[name] = Pending(key)
                if key in self.types:
                    self._make_unset(name, key)
            elif isinstance(known, Number):
                self._make_cell(name, known, key)
            elif isinstance(known, Lazy | View):
                cell = self._new_array_cell(name, known)
                self.assign(cell.view, known)
                self.names[name] = cell
            else:
                raise Refused(f"'{name}' gets a new value in a loop or branch, and is no number")

    def _make_unset(self, name: str, key: Any) -> None:
        """Let a name that has no value yet stand for a variable, which begins with zero."""
        dtype, weak = self.types[key]
        self._make_cell(name, Number(dtype, weak, value=dtype.type(0).item()), key)
        cell = self.names[name]
        self.names[name] = replace(cell, initial=None, is_unset=True)

    def _make_cell(self, name: str, known: Number, key: Any) -> None:
        dtype, weak = self.types.get(key, (known.dtype, known.weak))
        cell = Cell(self.scalar(name, dtype), dtype, weak, known)
        self.type_keys[cell.name] = key
        self.started.add(cell.name)
        tree = operand_tree(known, known.element(), dtype)
        self.emit(Assign(ex.Variable(cell.name), tree, self.node))
        self.names[name] = cell

    def _after_block(self, names: set[str], before: dict[str, Any], *, runs: bool) -> None:
        """Forget what names stood for inside of a block.

        Parameters:
            names: those that the block assigns.
            before: what they stood for.
            runs: whether the block is certainly executed.
        """
        for name in names:
            now = self.names.get(name)
            if isinstance(now, Pending):
                self.names.pop(name)
            elif now is before.get(name) and isinstance(now, View):
                continue
            elif isinstance(now, Cell) and now.is_unset:
                self.names.pop(name)
            elif isinstance(now, Cell | ArrayCell):
                if not _was_variable(before.get(name)) and not runs and name[0] != "?":
                    self.names[name] = Unbound()
            else:
                self.names[name] = Unbound()

    # --- loops

    def _for(self, node: ast.For) -> None:
        if node.orelse:
            raise Refused("'for ... else' has no rule", "use a flag", node)
        items = self.iterated(node.iter)
        if isinstance(items, Several):
            self._unrolled(node, items)
            return
        lower, upper, step, _ = items
        if ("unrolled", node, self.frame) in self.types:
            self._written_out(node, items)
            return
        moved = self._rotated_arrays(node, _count(lower, upper, step))
        if moved:
            self._rotating_loop(node, items, moved)
            return
        try:
            self._one_loop(node, items)
        except ShapeRefused:
            if not self._is_short(_count(lower, upper, step)) or _has_break(node.body):
                raise
            self.types["unrolled", node, self.frame] = (INT64, False)
            raise Retrace from None

    def _rotated_arrays(self, node: ast.For, count: Affine) -> dict[str, str]:
        """Return which names of arrays change places in each iteration."""
        seen = self.live.after[node] | self.live.carried[node]
        moved = rotation(node.body, seen)
        views = [self.names.get(name) for name in moved]
        are_views = all(isinstance(one, View) and one.recipe is not None for one in views)
        is_size = all(symbol in self.facts.values for symbol in count.symbols())
        if not moved or not are_views or not is_size or _has_break(node.body):
            return {}
        return moved if order_of(moved) is not None else {}

    def _rotating_loop(self, node: ast.For, items: Items, moved: dict[str, str]) -> None:
        """Interpret as many iterations as names need to be what they were, as one; then the rest.

        How many are left is the same in all calls of this variant.
        """
        lower, upper, step, element = items
        order = order_of(moved)
        assert order is not None
        count = _count(lower, upper, step)
        if self.facts.holds(count) is False:
            count = number(0)
        turns = count.floor(order)
        assigned = (stores(node.body) | stores_of_target(node.target)) - set(moved)
        live = (self.live.after[node] | self.live.carried[node]) - set(moved)
        self._make_cells(node, assigned & live, node.body)
        before = dict(self.names)
        self.depth += 1
        with self.loop("turn", number(0), turns, is_written=True) as turn:
            for at in range(order):
                place = turn.times(order).plus(at)
                self._give(node.target, element(lower.plus(place.times(step))))
                self.block(node.body)
        self.depth -= 1
        self._after_block(assigned, before, runs=False)
        last = element(lower.plus(count.minus(1).times(step)))
        runs = self.facts.holds(count.minus(1)) is True
        self._final_values(node, stores_of_target(node.target), last, runs=runs)
        rest = count.minus(turns.times(order))
        left = next(k for k in range(order) if self.facts.equal(rest, number(k)))
        for at in range(left):
            place = turns.times(order).plus(at)
            self._give(node.target, element(lower.plus(place.times(step))))
            self.block(node.body)

    def _is_short(self, count: Affine) -> bool:
        """Tell whether a loop has few iterations in all calls of this variant."""
        known = self.facts.values
        is_size = all(symbol in known for symbol in count.symbols())
        return is_size and 0 < count.evaluate(known) <= _MOST_WRITTEN_OUT

    def _written_out(self, node: ast.For, items: Items) -> None:
        """Interpret the iterations of a loop one after the other, as statements of their own."""
        lower, upper, step, element = items
        count = _count(lower, upper, step)
        times = count.evaluate(self.facts.values)
        if not self.facts.equal(count, number(times)):
            raise Refused("a loop whose iterations have arrays of several shapes")
        for at in range(times):
            self._give(node.target, element(lower.plus(at * step)))
            self.block(node.body)

    def _one_loop(self, node: ast.For, items: Items) -> None:
        lower, upper, step, element = items
        assigned = stores(node.body) | stores_of_target(node.target)
        live = self.live.after[node] | self.live.carried[node]
        targets = stores_of_target(node.target)
        count = _count(lower, upper, step)
        if self.never_runs(count):
            self._skipped(assigned)
            return
        carried = ((stores(node.body) & live) - targets) | (
            targets & self.live.after[node] if _has_break(node.body) else set[str]()
        )
        self._make_cells(node, carried, node.body)
        before = dict(self.names)
        for name in targets - carried:
            self.names.pop(name, None)
        like = node.target.id if isinstance(node.target, ast.Name) else "i"
        is_plain = step == 1
        self.depth += 1
        bounds = (lower, upper) if is_plain else (number(0), count)
        with self.loop(like, *bounds, is_written=True) as index:
            value = index if is_plain else index.times(step).plus(lower)
            self._give(node.target, element(value))
            self.block(node.body)
        self.depth -= 1
        left = {n for n in assigned & self.live.after[node] if not _was_variable(before.get(n))}
        runs = bool(left) and self.facts.holds(count.minus(1)) is True
        self._after_block(assigned - targets, before, runs=runs)
        last = element(lower.plus(count.minus(1).times(step)))
        self._final_values(node, targets - carried, last, runs=runs)

    def never_runs(self, count: Affine) -> bool:
        """Tell whether a loop has no iterations in all calls of this variant."""
        if any(s not in self.facts.values for s in count.symbols()):
            return False
        if count.evaluate(self.facts.values) > 0:
            return False
        return self.facts.holds(count.minus(1)) is False

    def _skipped(self, names: set[str]) -> None:
        for name in names:
            if name not in self.names:
                self.names[name] = Unbound("the loop that assigns it has no iterations")

    def _final_values(self, node: ast.For, targets: set[str], last: Value, *, runs: bool) -> None:
        """Let the target of a loop have the value of the last iteration."""
        for name in targets:
            self.names[name] = Unbound("it is the target of a loop")
        is_range = isinstance(node.target, ast.Name) and self.is_range(node.iter)
        if is_range and runs and not _has_break(node.body):
            assert isinstance(node.target, ast.Name)
            if node.target.id in targets and node.target.id not in stores(node.body):
                self.names[node.target.id] = last

    def _unrolled(self, node: ast.For, items: Several) -> None:
        if _has_break(node.body) or len(items.parts) > 16:
            raise Refused("a loop over a tuple", "use range()")
        for part in items.parts:
            self._give(node.target, part)
            self.block(node.body)

    def _while(self, node: ast.While) -> None:
        if node.orelse:
            raise Refused("'while ... else' has no rule", "use a flag", node)
        assigned = stores(node.body)
        live = self.live.after[node] | self.live.carried[node]
        self._make_cells(node, assigned & live, node.body)
        before = dict(self.names)
        made = While(self.name("pass_"), None, [], node)
        self.depth += 1
        with self.inside(made.body):
            condition = self.truth(self.value(node.test))
            if condition.is_constant and not condition.value:
                raise Refused("a loop that never runs")
            is_simple = not made.body
            if is_simple and not condition.is_constant:
                made.condition = condition.element()
            elif not condition.is_constant:
                denied = self.denied(condition)
                self.emit(When(denied.element(), [Break(node)], [], True, node))
            self.block(node.body)
        self.depth -= 1
        self.emit(made)
        self._after_block(assigned, before, runs=False)

    # --- conditions

    def _if(self, node: ast.If) -> None:
        condition = self.truth(self.value(node.test))
        if condition.is_constant:
            self.block(node.body if condition.value else node.orelse)
            return
        assigned = stores(node.body) | stores(node.orelse)
        self._make_cells(node, assigned & self.live.after[node], [*node.body, *node.orelse])
        self._make_cells(node, _results_of([*node.body, *node.orelse]), [])
        before = dict(self.names)
        made = When(condition.element(), [], [], not condition.is_affine, node)
        self.depth += 1
        forms, denied = list(condition.forms), list(self.denied(condition).forms)
        one, is_left = self._branch(made.body, node.body, forms, before)
        other, is_other_left = self._branch(made.otherwise, node.orelse, denied, before)
        self.depth -= 1
        made.kept = made.kept and not needs_no_variable(made)
        self.emit(made)
        self._join_branches(assigned | {*is_left, *is_other_left}, before, [one, other])
        if is_left != is_other_left:
            raise Refused("paths return different numbers of values", "return as many on all paths")
        if is_left:
            raise Returned(self._joined_result(is_left))

    def _branch(
        self,
        made: list[Node],
        body: Sequence[ast.stmt],
        known: list[Affine],
        before: dict[str, Any],
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Interpret a branch: what names stand for behind it, and names of what it returns."""
        self.names = dict(before)
        is_left: tuple[str, ...] = ()
        with self.inside(made), self.facts.assuming(known):
            try:
                self.block(body)
            except Returned as found:
                is_left = self._bind_result(found.value)
        ended, self.names = self.names, dict(before)
        return ended, is_left

    def _bind_result(self, value: Value) -> tuple[str, ...]:
        """Let what a branch returns have names, and return them."""
        if isinstance(value, Several):
            names = tuple([f"?result{at}" for at in range(len(value.parts))])
            parts = [self._kept(part) for part in value.parts]
        else:
            names, parts = ("?result",), [value]
        for name, part in zip(names, parts, strict=True):
            if isinstance(part, View) and part.base.role == "input":
                raise Refused("a branch returns an argument", "return a copy")
            if not isinstance(part, Number | Lazy | View):
                raise Refused("a branch returns something that is no number and no array")
            self.bind(name, part)
        return names

    def _joined_result(self, names: tuple[str, ...]) -> Value:
        found = [self._read(name, self.names[name]) for name in names]
        return found[0] if names == ("?result",) else Several(tuple(found))

    def _join_branches(
        self, names: set[str], before: dict[str, Any], ends: list[dict[str, Any]]
    ) -> None:
        for name in names:
            one, other = (end.get(name) for end in ends)
            known = before.get(name)
            if isinstance(known, Cell | ArrayCell) and _was_variable(known):
                continue
            if isinstance(one, Cell) and isinstance(other, Cell):
                is_set = not one.is_unset and not other.is_unset
                given = one if other.is_unset else other
                self.names[name] = given if is_set or name[0] == "?" else Unbound()
            elif (isinstance(one, ArrayCell) and isinstance(other, ArrayCell)) or (
                one is other and one is not None and not isinstance(one, Pending)
            ):
                self.names[name] = one
            else:
                self.names[name] = Unbound()

    _of_statements: ClassVar[dict[type[ast.stmt], Callable[[Any, Any], None]]] = {
        **Assignments._of_assignments,
        ast.For: _for,
        ast.While: _while,
        ast.If: _if,
        ast.Break: _break,
        ast.Return: _return,
        ast.Pass: _pass,
        ast.FunctionDef: _define,
    }


def _results_of(body: Sequence[ast.stmt]) -> set[str]:
    """Return the names that what branches return gets."""
    found: set[str] = set()
    for node in body:
        if isinstance(node, ast.Return):
            value = node.value
            is_tuple = isinstance(value, ast.Tuple)
            parts = len(value.elts) if isinstance(value, ast.Tuple) else 0
            found |= {f"?result{at}" for at in range(parts)} if is_tuple else {"?result"}
        if isinstance(node, ast.If):
            found |= _results_of([*node.body, *node.orelse])
    return found


def _was_variable(known: Any) -> bool:
    return isinstance(known, ArrayCell) or (isinstance(known, Cell) and not known.is_unset)


def _count(lower: Affine, upper: Affine, step: int) -> Affine:
    distance = upper.minus(lower) if step > 0 else lower.minus(upper)
    return distance.plus(abs(step) - 1).floor(abs(step))


def _has_break(body: Sequence[ast.stmt]) -> bool:
    """Tell whether statements end the loop that they are the body of."""
    for node in body:
        if isinstance(node, ast.Break):
            return True
        if isinstance(node, ast.If) and (_has_break(node.body) or _has_break(node.orelse)):
            return True
    return False


__all__ = ["Retrace", "Returned", "Statements", "liveness"]
