"""Interprets assignments: names, parts of arrays, updates."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.python.affine import Affine, number
from polygen.python.calls import Calls
from polygen.python.either_type import settled
from polygen.python.expressions import joined_type
from polygen.python.liveness import Liveness
from polygen.python.nodes import Assign
from polygen.python.operators import operand_tree
from polygen.python.python_integers import check_sum
from polygen.python.refused import Refused, ShapeRefused
from polygen.python.subscripts import ELLIPSIS, subscripted
from polygen.python.values import (
    BOOL,
    ArrayCell,
    Arrayed,
    Cell,
    Either,
    Indices,
    Lazy,
    Masked,
    Number,
    Pending,
    Several,
    Strip,
    Value,
    View,
    affine_number,
    converted_tree,
)


class Retrace(Exception):
    """The type of a variable was guessed wrong: the function is traced again."""


class Assignments(Calls):
    """The part of a tracer that interprets assignments.

    Attributes:
        types: the types of variables that a former trace found, by statement and name.
    """

    def __init__(self, types: dict[Any, tuple[np.dtype, bool]]) -> None:
        super().__init__()
        self.types = types
        self.live = Liveness()
        self.renewed: set[str] = set()
        self.array_cells: dict[Any, ArrayCell] = {}

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._give(node.target, self.value(node.value))

    def _expression(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.value(node.value)

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
            if not shape or not self.extents_agree(shape[0], number(count)):
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
            check_sum(self, value)
            return self.frozen(value)
        if isinstance(value, Lazy) and not isinstance(value, Strip):
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
        if isinstance(value, Either):
            raise Refused(value.why, "assign in both branches of an 'if' to names of one type")
        if isinstance(value, Number):
            check_sum(self, value)
            return self.frozen(value, name)
        if isinstance(value, Strip) and ("in memory", name) not in self.types:
            return value
        if isinstance(value, Lazy) and value.may_be_view:
            raise Refused("a part of an array is given another shape", "take a copy() of it")
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
            return replace(value, parts=tuple([self.named(name, part) for part in value.parts]))
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
        return Masked(data, mask, value.rows)

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
        if isinstance(value, Either):
            raise Refused(f"'{name}': {value.why}", "convert it, so that it is of one type")
        if not isinstance(value, Number):
            raise Refused(f"'{name}' is a number before, and gets a value that is none")
        if (value.dtype, value.weak) != (cell.dtype, cell.weak):
            self._join(name, cell, value)
        check_sum(self, value)
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
        is_result = name.startswith(("?result", "?value")) and not self.frame
        if is_result and value.weak != cell.weak:  # whose type the caller sees
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
            raise ShapeRefused("a name stands for arrays of several shapes")
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
        if isinstance(value, Either):
            value = settled(value, view.dtype)
        if not isinstance(value, Number | Lazy | View):
            raise Refused("an element is assigned what is no number")
        self.check_range(value, view.dtype)
        self.assign(view, value)

    def _part_of(self, array: Value, keys: tuple[Any, ...]) -> View | Masked:
        if isinstance(array, Lazy):
            self._put_in_memory(array)
        if not isinstance(array, View) or array.is_gather:
            raise Refused("an element of what is no array in memory is assigned to")
        self.check_own(array)
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
        elif not isinstance(value, Number) and not _is_row(value, target):
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
            self.check_own(part)
        source: Value = part
        if isinstance(part, View) and not part.shape:
            source = Number(part.dtype, tree=part.element(()))
        found = self.combined(sign, source, value)
        if isinstance(found, Either):
            found = settled(found, part.dtype)
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

    def check_own(self, view: View) -> None:
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

    _of_assignments: ClassVar[dict[type[ast.stmt], Callable[[Any, Any], None]]] = {
        ast.Assign: _assign,
        ast.AnnAssign: _annotated,
        ast.AugAssign: _update,
        ast.Expr: _expression,
    }


def _is_row(value: Value, target: Masked) -> bool:
    """Tell whether an array has the axes of the rows that a mask chooses, or fewer."""
    return isinstance(value, Lazy | View) and len(value.shape) <= target.rows


class _Fixed:
    """A subscript that does not vary."""

    def __init__(self, tree: Any) -> None:
        self.tree = tree


def _place(node: ast.expr) -> dict[str, Any]:
    return {
        "lineno": node.lineno,
        "col_offset": node.col_offset,
        "end_lineno": node.end_lineno,
        "end_col_offset": node.end_col_offset,
    }
