"""Interprets the statements of a function: assignments, loops, conditions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.python.affine import Affine, number
from polygen.python.calls import Calls
from polygen.python.expressions import joined_type
from polygen.python.kept_conditions import needs_no_variable
from polygen.python.liveness import Liveness, liveness, rebound, stores, stores_of_target
from polygen.python.nodes import Assign, Break, Node, When, While
from polygen.python.operators import operand_tree
from polygen.python.refused import Refused, refused_construct
from polygen.python.subscripts import ELLIPSIS, subscripted
from polygen.python.values import (
    BOOL,
    ArrayCell,
    Arrayed,
    Cell,
    Constant,
    Indices,
    Lazy,
    Masked,
    Number,
    Pending,
    Several,
    Unbound,
    Value,
    View,
    affine_number,
    converted_tree,
)


class Retrace(Exception):
    """The type of a variable was guessed wrong: the function is traced again."""


class Returned(Exception):
    """A ``return`` was reached, on every path."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


class Statements(Calls):
    """The part of a tracer that interprets statements.

    Attributes:
        types: the types of variables that a former trace found, by statement and name.
    """

    def __init__(self, types: dict[Any, tuple[np.dtype, bool]]) -> None:
        super().__init__()
        self.types = types
        self.live = Liveness()
        self.renewed: set[str] = set()
        self.array_cells: dict[Any, ArrayCell] = {}

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
        try:
            rule = self._of_statements.get(type(node))
            if rule is None:
                raise refused_construct(node)
            rule(self, node)
        except Refused as error:
            error.node = error.node or node
            raise
        finally:
            self.node = outer

    def _break(self, node: ast.Break) -> None:
        self.emit(Break(node))

    def _pass(self, node: ast.Pass) -> None:
        """Do nothing."""

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._give(node.target, self.value(node.value))

    # --- assignments

    def _expression(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.value(node.value)

    def _return(self, node: ast.Return) -> None:
        raise Returned(Constant(None) if node.value is None else self.value(node.value))

    def _assign(self, node: ast.Assign) -> None:
        found = self.value(node.value)
        is_copy = isinstance(found, Lazy) or (isinstance(found, View) and found.is_gather)
        if len(node.targets) > 1 and is_copy:
            assert isinstance(found, Lazy | View)
            found = self.stored(found)
        for target in node.targets:
            self._give(target, found)

    def _give(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.bind(target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target, value)
        elif isinstance(target, ast.Subscript):
            self._set(target, value)
        elif isinstance(target, ast.Attribute) and target.attr in ("real", "imag"):
            part = self.attribute(self.value(target.value), target.attr)
            self.set_part(part, (ELLIPSIS,), value)
        else:
            raise Refused("something that is no name and no element is assigned to", node=target)

    def _unpack(self, target: ast.Tuple | ast.List, value: Value) -> None:
        count = len(target.elts)
        if isinstance(value, Lazy | View):
            shape = value.shape
            if not shape or shape[0] != number(count):
                raise Refused("an array is unpacked into another number of names")
            keys = [affine_number(number(at)) for at in range(count)]
            value = Several(tuple([subscripted(self, value, (key,)) for key in keys]))
        if not isinstance(value, Several) or len(value.parts) != count:
            raise Refused("a value is unpacked into another number of names")
        parts = [self._kept(part) for part in value.parts]
        for one, part in zip(target.elts, parts, strict=True):
            self._give(one, part)

    def _kept(self, value: Value) -> Value:
        """Return a value as it is now, whatever is assigned next."""
        if isinstance(value, Number):
            return self.frozen(value)
        if isinstance(value, Lazy):
            return self.stored(value)
        return value

    def bind(self, name: str, value: Value) -> None:
        """Let a name stand for a value."""
        known = self.names.get(name)
        if isinstance(known, Pending):
            known = self._first_value(name, known, value)
        if isinstance(known, Cell):
            self._store(name, known, value)
        elif isinstance(known, ArrayCell):
            self._store_array(known, value)
        else:
            self.names[name] = self.named(name, value)

    def named(self, name: str, value: Value) -> Value:
        """Return what a name stands for once it is given a value."""
        if isinstance(value, Number):
            return self.frozen(value, name)
        if isinstance(value, Lazy) and self._stays_true(name, value):
            return value
        if isinstance(value, Lazy) or (isinstance(value, View) and value.is_gather):
            return self.stored(value, name)
        if isinstance(value, View) and value.base.name in self.renewed:
            copy = self.stored(value, name)
            self.renewed.add(copy.base.name)
            return copy
        if isinstance(value, Masked):
            return self._named_masked(name, value)
        if isinstance(value, Several):
            return Several(tuple([self.named(name, part) for part in value.parts]), value.is_list)
        return value

    def _stays_true(self, name: str, value: Lazy) -> bool:
        """Tell whether a mask in a loop is computed where it is read: nothing in it is written.

        Whether that is so shows at the end; if not, the function is traced again.
        """
        if value.dtype != BOOL or value.is_costly or not self.depth or not value.shape:
            return False
        if ("in memory", name) in self.types:
            return False
        index = tuple([Affine.of(f"?{axis}") for axis in range(len(value.shape))])
        read = walk.free_variables(value.element(index))
        storages = [self.nodes.storages[n] for n in read if n in self.nodes.storages]
        if any(one.role != "input" for one in storages) or not read.isdisjoint(self.started):
            return False
        self.never_written += [(one, name) for one in storages]
        return True

    def _named_masked(self, name: str, value: Masked) -> Masked:
        data = value.data if isinstance(value.data, View) else self.stored(value.data, name)
        mask = value.mask
        if not isinstance(mask, View):
            known = self._stays_true(name, mask)
            mask = mask if known else self.stored(mask, name)
        for view in (data, mask):
            if isinstance(view, View):
                self.kept_as_is.append((view.base, name))
        return Masked(data, mask)

    def _first_value(self, name: str, pending: Pending, value: Value) -> Any:
        if isinstance(value, Lazy | View):
            found = self.array_cells.get(pending.key) or self._new_array_cell(name, value)
            self.names[name] = self.array_cells[pending.key] = found
            return found
        if not isinstance(value, Number):
            raise Refused(f"'{name}' gets a value that is no number in a loop or branch")
        # The variable begins before the loop or branch, with a value that nobody sees.
        self.types[pending.key] = value.dtype, value.weak
        raise Retrace

    def _store(self, name: str, cell: Cell, value: Value) -> None:
        if not isinstance(value, Number):
            raise Refused(f"'{name}' is a number before, and gets a value that is none")
        if (value.dtype, value.weak) != (cell.dtype, cell.weak):
            self._join(name, cell, value)
        tree = operand_tree(value, value.element(), cell.dtype)
        self.emit(Assign(ex.Variable(cell.name), tree, self.node))
        if cell.is_unset:
            self.names[name] = replace(cell, is_unset=False)

    def _join(self, name: str, cell: Cell, value: Number) -> None:
        """Check that a variable holds a value; if another type does, begin again."""
        own = Number(cell.dtype, cell.weak, ex.Variable(cell.name))
        is_first = cell.initial is not None and cell.initial.is_constant
        own = (
            cell.initial
            if is_first
            and cell.initial is not None
            and ((cell.initial.dtype, cell.initial.weak) == (cell.dtype, cell.weak))
            else own
        )
        try:
            joined = joined_type(own, value)
        except Refused as error:
            raise Refused(f"'{name}': {error.why}", error.remedy) from None
        if name.startswith(("?result", "?value")) and value.weak != cell.weak:
            raise Refused("paths return numbers of Python's and of NumPy's")
        if joined != (cell.dtype, cell.weak):
            key = self.type_keys[cell.name]
            if self.types.get(key) == joined:
                raise Refused(f"'{name}' has no one type")
            self.types[key] = joined
            raise Retrace

    def _store_array(self, cell: ArrayCell, value: Value) -> None:
        if not isinstance(value, Lazy | View) or value.dtype != cell.view.dtype:
            raise Refused("a name stands for arrays of several types")
        same = len(value.shape) == len(cell.view.shape) and all(
            one == other or self.extents_agree(one, other)
            for one, other in zip(value.shape, cell.view.shape, strict=True)
        )
        if not same:
            raise Refused("a name stands for arrays of several shapes")
        self.assign(cell.view, value)

    def _new_array_cell(self, name: str, value: Arrayed) -> ArrayCell:
        base = self.storage(name, value.dtype, value.shape, "temporary")
        self.renewed.add(base.name)
        view = View(base, value.shape, lambda index: index, is_whole=True, recipe=None)
        return ArrayCell(view)

    def _set(self, target: ast.Subscript, value: Value) -> None:
        """Assign to an element, or a part of an array."""
        array = self.value(target.value)
        keys = self.keys(target.slice)
        self.set_part(array, keys, value)

    def set_part(self, array: Value, keys: tuple[Any, ...], value: Value) -> None:
        """Assign to ``array[keys]``."""
        view = self._part_of(array, keys)
        if isinstance(view, Masked):
            self._set_masked(view, value)
            return
        if isinstance(value, Several):
            value = self.called(np.array, [value])
        if not isinstance(value, Number | Lazy | View):
            raise Refused("an element is assigned what is no number")
        self.assign(view, value)

    def _part_of(self, array: Value, keys: tuple[Any, ...]) -> View | Masked:
        if isinstance(array, Lazy):
            self._put_in_memory(array)
        if not isinstance(array, View) or array.is_gather:
            raise Refused("an element of what is no array in memory is assigned to")
        self._check_own(array)
        found = subscripted(self, array, keys)
        if isinstance(found, Masked | View):
            return found
        element = found.tree  # a number: an element by itself
        assert element is not None
        if array.part is not None:
            assert isinstance(element, ex.Call)
            (element,) = element.parameters
        place = tuple([_Fixed(i) for i in ex.index_of(element)])
        return View(
            array.base,
            (),
            lambda _index: tuple([p.tree for p in place]),
            recipe=None,
            part=array.part,
        )

    def _set_masked(self, target: Masked, value: Value) -> None:
        view, mask = target.data, target.mask
        assert isinstance(view, View)
        given: Value = value
        if isinstance(value, Masked):
            if not self.same_elements(value.mask, mask):
                raise Refused("elements of one mask are assigned to those of another")
            given = value.data
        elif not isinstance(value, Number):
            raise Refused("an array is assigned to elements that a mask chooses", "use np.where")
        assert isinstance(given, Number | Lazy | View)
        source, own, dtype = given, view, view.dtype
        if given.dtype.kind == "c" and dtype.kind != "c":
            raise Refused("a complex number is assigned to a real one")

        def element(index: Indices) -> ex.Expression:
            tree = self.element_of(source, len(own.shape), index)
            return ex.If(
                converted_tree(mask.element(index), mask.dtype, BOOL),
                operand_tree(source, tree, dtype),
                own.element(index),
            )

        self.assign(view, Lazy(dtype, view.shape, element))

    def _update(self, node: ast.AugAssign) -> None:
        """``target op= value``: in place, where the target is an array."""
        sign = self.sign_of(node.op)
        if isinstance(node.target, ast.Name):
            current = self.value(ast.Name(node.target.id, ast.Load(), **_place(node.target)))
            found = self.value(node.value)
            if isinstance(current, Lazy | View):
                self._update_part(current, sign, found)
            else:
                self.bind(node.target.id, self.combined(sign, current, found))
            return
        if isinstance(node.target, ast.Attribute):
            owner = self.attribute(self.value(node.target.value), node.target.attr)
            if not isinstance(owner, View):
                raise Refused("an attribute is assigned to")
            self._update_part(owner, sign, self.value(node.value))
            return
        array = self.value(node.target.value)
        part = self._part_of(array, self.keys(node.target.slice))
        self._update_part(part, sign, self.value(node.value))

    def _update_part(self, part: Arrayed | Masked, sign: str, value: Value) -> None:
        if isinstance(part, Lazy):
            self._put_in_memory(part)
            raise Refused("an array that is not in memory is updated")
        if isinstance(part, View):
            self._check_own(part)
        source: Value = part
        if isinstance(part, View) and not part.shape:
            source = Number(part.dtype, tree=part.element(()))
        found = self.combined(sign, source, value)
        if not isinstance(found, Number | Lazy | View | Masked):
            raise Refused("an array is updated by what is no number")
        if not np.can_cast(found.dtype, part.dtype, "same_kind") and not (
            isinstance(part, View) and not part.shape
        ):
            raise Refused(f"{found.dtype} is not stored as {part.dtype}, as NumPy says, too")
        if isinstance(part, Masked):
            self._set_masked(part, found)
        else:
            assert not isinstance(found, Masked)
            self.assign(part, found)

    def _check_own(self, view: View) -> None:
        """Refuse to change an array that a name stands for in turn with others."""
        if view.base.name in self.renewed:
            raise Refused(
                "a name that stands for several arrays in turn is assigned to in place",
                "use a name for each array",
            )

    def _put_in_memory(self, value: Lazy) -> None:
        """Begin again, if a name stands for a value that was not put in memory."""
        for name, known in self.names.items():
            if known is value:
                self.types["in memory", name] = (BOOL, False)
                raise Retrace

    def combined(self, sign: str, left: Value, right: Value) -> Value:
        """Return what an operator, or ``@``, makes of two values."""
        if sign == "@":
            return self.matrix_product(left, right)
        return self.operated(sign, left, right)

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
        self._final_values(node, targets - carried, lower, count, step, runs=runs)

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

    def _final_values(
        self,
        node: ast.For,
        targets: set[str],
        lower: Affine,
        count: Affine,
        step: int,
        *,
        runs: bool,
    ) -> None:
        """Let the target of a loop have the value of the last iteration."""
        for name in targets:
            self.names[name] = Unbound("it is the target of a loop")
        is_range = isinstance(node.target, ast.Name) and self.is_range(node.iter)
        if is_range and runs and not _has_break(node.body):
            assert isinstance(node.target, ast.Name)
            if node.target.id in targets and node.target.id not in stores(node.body):
                last = lower.plus(count.minus(1).times(step))
                self.names[node.target.id] = affine_number(last)

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
        ast.Assign: _assign,
        ast.AnnAssign: _annotated,
        ast.AugAssign: _update,
        ast.For: _for,
        ast.While: _while,
        ast.If: _if,
        ast.Expr: _expression,
        ast.Break: _break,
        ast.Return: _return,
        ast.Pass: _pass,
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


class _Fixed:
    """A subscript that does not vary."""

    def __init__(self, tree: Any) -> None:
        self.tree = tree


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


def _place(node: ast.expr) -> dict[str, Any]:
    return {
        "lineno": node.lineno,
        "col_offset": node.col_offset,
        "end_lineno": node.end_lineno,
        "end_col_offset": node.end_col_offset,
    }


__all__ = ["Retrace", "Returned", "Statements", "liveness"]
