"""Calls and attributes while a function is traced: NumPy's functions, methods, helpers."""

from __future__ import annotations

import ast
import builtins
import inspect
import types
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import numpy as np

from polygen.errors import NoSource
from polygen.ir import walk
from polygen.python.affine import Affine, number
from polygen.python.annotated_calls import ROWS
from polygen.python.annotations import loop_range, prange
from polygen.python.either_type import with_each
from polygen.python.expressions import SIGNS, Expressions
from polygen.python.function_source import FunctionSource, read_function
from polygen.python.local_functions import LocalFunction, default_nodes, local_function
from polygen.python.names.arguments import array_of
from polygen.python.names.products import matrix_product
from polygen.python.names.table import METHODS, OWN_METHODS, SUBSCRIPTED, TABLE
from polygen.python.nodes import Storage
from polygen.python.object_attributes import stored_attribute
from polygen.python.refused import Refused
from polygen.python.source_annotations import called_function
from polygen.python.source_functions import SourceFunction
from polygen.python.strided_ranges import strided_range
from polygen.python.subscripts import subscripted
from polygen.python.values import (
    Arrayed,
    Cell,
    Constant,
    Either,
    Indices,
    Lazy,
    Masked,
    Number,
    Owner,
    Several,
    Value,
    View,
    affine_number,
    constant_number,
)

Items = tuple[Affine, Affine, int, Callable[[Affine], Value]]
_MOST_INLINED = 12  # helpers in helpers: no recursion is as deep


class Calls(Expressions):
    """The part of a tracer that knows functions.

    Attributes:
        source: the function that is being traced: a helper while that is inlined.
        frame: how many helpers are being inlined, and which.
        keys: for each variable of the kernel, by what its type is kept.
        merged: variables that are another one.
        never_written: arrays that are read later than the user's program does, and by which name.
        kept_as_is: arrays that must not be written, and the name that rests on that.
    """

    def __init__(self) -> None:
        super().__init__()
        self.source: FunctionSource | None = None
        self.frame: tuple[int, ...] = ()
        self.frame_depth: int = 0
        self.type_keys: dict[str, Any] = {}
        self.started: set[str] = set()
        self.merged: dict[str, str] = {}
        self.never_written: list[tuple[Storage, str]] = []
        self.kept_as_is: list[tuple[Storage, str]] = []
        self._calls = 0

    def sign_of(self, op: ast.operator) -> str:
        """Return an operator's sign."""
        return "@" if isinstance(op, ast.MatMult) else SIGNS[type(op)]

    # --- arrays

    def same_elements(self, one: Arrayed, other: Arrayed) -> bool:
        """Tell whether two values have the same elements, as they are written."""
        if one is other:
            return True
        if len(one.shape) != len(other.shape):
            return False
        index = tuple([Affine.of(f"?{axis}") for axis in range(len(one.shape))])
        return one.shape == other.shape and one.element(index) == other.element(index)

    # --- attributes

    def attribute(self, value: Value, name: str) -> Value:
        """Return an attribute of a value."""
        if isinstance(value, Owner):
            return self.argument_attribute(value, name)
        if isinstance(value, Constant):
            try:
                return self.outside(self.outer_attribute(value.value, name))
            except AttributeError as error:
                raise Refused(str(error)) from None
        if isinstance(value, Several) and name in value.names:
            found: Value = value.parts[value.names.index(name)]
            return found
        if isinstance(value, Lazy | View):
            return self._array_attribute(value, name)
        if isinstance(value, Number) and name in ("real", "imag", "dtype"):
            if name == "dtype":
                return Constant(value.dtype)
            return TABLE[getattr(np, name)](self, value)
        raise Refused(f"the attribute '{name}' of a value")

    def argument_attribute(self, owner: Owner, name: str) -> Value:
        """Return an attribute of an argument."""
        raise NotImplementedError

    def argument_method(self, owner: Owner, name: str) -> Any:
        """Return a method of an argument, as its class has it."""
        raise NotImplementedError

    def outer_attribute(self, owner: Any, name: str) -> Any:
        """Return an attribute of an object from outside of the function."""
        raise NotImplementedError

    def _array_attribute(self, value: Arrayed, name: str) -> Value:
        if name == "shape":
            return Several(tuple(map(affine_number, value.shape)))
        if name == "ndim":
            return constant_number(len(value.shape))
        if name == "dtype":
            return Constant(value.dtype)
        if name == "T":
            return TABLE[np.transpose](self, value)
        if name == "size":
            total: Value = affine_number(number(1))
            for extent in value.shape:
                total = self.operated("*", total, affine_number(extent))
            return total
        if name in ("real", "imag"):
            return TABLE[getattr(np, name)](self, value)
        raise Refused(f"the attribute '{name}' of an array")

    # --- calls

    def call(self, node: ast.Call) -> Value:
        """Return what a call returns.

        Raises:
            Refused: if it changes an array, and is a part of an expression: what stands before it
                there is read by Python before, and would be read after it.
        """
        since, known = self.time, set(self.nodes.storages)
        found = self._result_of(node)
        changed = known.intersection(self.written_since(since))
        if changed and not self._is_alone(node):
            raise Refused(
                "a function that changes an array is called in an expression",
                "give what it returns a name, in a statement of its own",
                node,
            )
        return found

    def _is_alone(self, node: ast.Call) -> bool:
        """Tell whether nothing is read in a statement before a call is over."""
        statement = self.statement_node
        if isinstance(statement, ast.AugAssign):
            name = statement.target.id if isinstance(statement.target, ast.Name) else ""
            return statement.value is node and isinstance(self.names.get(name), Cell | Number)
        return node in (
            getattr(statement, "value", None),
            getattr(statement, "test", None),
            getattr(statement, "iter", None),
        )

    def _result_of(self, node: ast.Call) -> Value:
        if isinstance(node.func, ast.Attribute):
            owner = self.value(node.func.value)
            if isinstance(owner, Owner) and stored_attribute(owner.value, node.func.attr)[1]:
                helper = self.argument_method(owner, node.func.attr)
                arguments, named = self._arguments(node)
                return self._called(helper, [owner, *arguments], named)
            if not isinstance(owner, Constant | Owner):
                return self._method(owner, node.func.attr, node)
            function: Value = self.attribute(owner, node.func.attr)
        else:
            function = self.value(node.func)
        if not isinstance(function, Constant):
            raise Refused("something that is no function is called")
        arguments, named = self._arguments(node)
        return self._called(function.value, arguments, named)

    def _arguments(self, node: ast.Call) -> tuple[list[Value], dict[str, Value]]:
        arguments: list[Value] = []
        for given in node.args:
            if isinstance(given, ast.Starred):
                several = self.value(given.value)
                if not isinstance(several, Several):
                    raise Refused("a starred argument is no tuple", node=given)
                arguments += several.parts
            else:
                arguments.append(self.value(given))
        named: dict[str, Value] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise Refused("'**' passes a dictionary", node=keyword.value)
            named[keyword.arg] = self.value(keyword.value)
        return arguments, named

    def called(self, function: Any, arguments: Sequence[Any], **named: Any) -> Value:
        """Return what a function makes of values."""
        return self._called(function, list(arguments), named)

    def nested_function(self, node: ast.FunctionDef | ast.Lambda) -> Constant:
        """Return a function that is defined here."""
        defaults = {name: self.value(part) for name, part in default_nodes(node).items()}
        return Constant(local_function(node, defaults))

    def _called_nested(
        self, function: LocalFunction, arguments: list[Value], named: dict[str, Value]
    ) -> Value:
        if len(self.frame) >= _MOST_INLINED:
            raise Refused(f"'{function.name}' calls itself", "write a loop")
        given = function.bound(arguments, named)
        if any(isinstance(one, Lazy) and one.may_be_view for one in given.values()):
            raise Refused("a part of an array is given another shape", "take a copy() of it")
        own = function.own_names
        around = {name: value for name, value in self.names.items() if name not in own}
        self._calls += 1
        with self.in_order(list(given.values())):
            return self.inlined_statements(function.body, {**around, **given}, self._calls)

    def inlined_statements(self, body: list[ast.stmt], names: dict[str, Any], call: int) -> Value:
        """Return what statements of a function that is defined here return."""
        raise NotImplementedError

    def _called(self, function: Any, arguments: list[Value], named: dict[str, Value]) -> Value:
        if isinstance(function, SourceFunction):
            self._calls += 1
            names = dict(zip(function.parameters, arguments, strict=True))
            return self.inlined_tree(function, names, self._calls)
        if isinstance(function, LocalFunction):
            return self._called_nested(function, arguments, named)
        row = self._row(function)
        at = next((k for k, one in enumerate(arguments) if isinstance(one, Either)), None)
        if row is not None and at is not None:
            before, after = arguments[:at], arguments[at + 1 :]
            return with_each(
                self,
                cast("Either", arguments[at]),
                lambda one: self._called(function, [*before, one, *after], named),
            )
        if row is not None:
            try:
                inspect.signature(row).bind(self, *arguments, **named)
            except TypeError:
                shown = getattr(function, "__name__", repr(function))
                raise Refused(
                    f"'{shown}' is called with arguments that kernels do not have"
                ) from None
            return row(self, *arguments, **named)
        shown = getattr(function, "__name__", repr(function))
        missing = Refused(f"'{shown}' is called, which kernels do not have")
        helper = inspect.unwrap(function) if callable(function) else function
        if isinstance(helper, types.FunctionType):
            is_users = (helper.__module__ or "").partition(".")[0] != "numpy"
            try:
                return self._inlined(helper, arguments, named)
            except Refused as error:  # what NumPy's own text has tells the user nothing
                raise error if is_users else missing from None
        if isinstance(helper, types.MethodType):
            raise Refused("a method of a class is called")
        raise missing

    def _row(self, function: Any) -> Callable[..., Value] | None:
        try:
            return TABLE.get(function) or ROWS.get(function)
        except TypeError:  # it has no hash
            return None

    def _method(self, owner: Value, name: str, node: ast.Call) -> Value:
        arguments, named = self._arguments(node)
        if name in OWN_METHODS:
            return OWN_METHODS[name](self, owner, *arguments, **named)
        if isinstance(owner, Number | Lazy | View | Masked) and name in METHODS:
            return self._called(METHODS[name], [owner, *arguments], named)
        if name == "fill" and isinstance(owner, View) and len(arguments) == 1:
            self.assign(owner, array_of(self, arguments[0]))
            return Constant(None)
        if name == "item" and isinstance(owner, Number):
            return owner
        raise Refused(f"the method '{name}' of a value")

    def subscripted_object(self, value: Value, keys: tuple[Any, ...]) -> Value:
        """Return what a subscript of an object of NumPy's makes."""
        if isinstance(value, Constant) and id(value.value) in SUBSCRIPTED:
            return SUBSCRIPTED[id(value.value)](self, keys)
        raise Refused("a subscript of something that is no array")

    def matrix_product(self, left: Value, right: Value) -> Value:
        """Return ``left @ right``."""
        return matrix_product(self, left, right)

    # --- helpers

    def _inlined(
        self, helper: types.FunctionType, arguments: list[Value], named: dict[str, Value]
    ) -> Value:
        if len(self.frame) >= _MOST_INLINED:
            raise Refused(f"'{helper.__name__}' calls itself", "write a loop")
        try:
            source = read_function(helper)
            bound = inspect.signature(helper).bind(*arguments, **named)
        except (NoSource, TypeError) as error:
            raise Refused(f"'{helper.__name__}' cannot be inlined: {error}") from None
        if any(isinstance(one, Lazy) and one.may_be_view for one in bound.arguments.values()):
            raise Refused("a part of an array is given another shape", "take a copy() of it")
        names: dict[str, Any] = {}
        for name, parameter in inspect.signature(helper).parameters.items():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise Refused(f"'{helper.__name__}' takes any number of arguments")
            if name in bound.arguments:
                names[name] = bound.arguments[name]
            else:
                names[name] = self.outside(parameter.default)
        self._calls += 1
        with self.in_order(list(names.values())):
            return self.inlined_body(source, names, self._calls)

    @contextmanager
    def in_order(self, arguments: Sequence[Value]) -> Generator[None]:
        """Check that a helper is given nothing to read later that it writes.

        Parameters:
            arguments: what the helper is given, which it may read after it wrote.

        Raises:
            Refused: if a value would be read too late.
        """
        before, since = set(self.nodes.storages), self.time
        yield
        written = before.intersection(self.written_since(since))
        if any(written & self._reads_of(one) for one in arguments):
            raise Refused(
                "a function is given an element of an array that it writes",
                "give the element a name first",
            )

    def _reads_of(self, value: Value) -> frozenset[str]:
        """Return what is read, later, of a value that is not in memory."""
        if isinstance(value, Several):
            return frozenset[str]().union(*map(self._reads_of, value.parts))
        if isinstance(value, Masked):
            return self._reads_of(value.data) | self._reads_of(value.mask)
        if not isinstance(value, Number | Lazy):
            return frozenset()
        index = tuple([Affine.of(f"?{axis}") for axis in range(len(value.shape))])
        kept = dict(self.nodes.reduced)
        read = walk.free_variables(value.element(index))
        for name in set(self.nodes.reduced) - set(kept):
            del self.nodes.reduced[name]
        return frozenset(read)

    def inlined_body(self, source: FunctionSource, names: dict[str, Any], call: int) -> Value:
        """Return what the body of a helper returns."""
        raise NotImplementedError

    def inlined_tree(self, function: SourceFunction, names: dict[str, Any], call: int) -> Value:
        """Return what a function returns that has a tree and no text."""
        raise NotImplementedError

    # --- what loops run over

    def is_range(self, node: ast.expr) -> bool:
        """Tell whether a loop runs over ``range()``."""
        if not isinstance(node, ast.Call):
            return False
        return self._is_builtin(node.func, builtins.range) or self._is_stated(node.func)

    def _is_stated(self, node: ast.expr) -> bool:
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or root.id in self.names:
            return False
        return called_function(node, self.outer) in (prange, loop_range)

    def _is_builtin(self, node: ast.expr, function: Any) -> bool:
        if not isinstance(node, ast.Name) or node.id in self.names:
            return False
        return self.outer.get(node.id, getattr(builtins, node.id, None)) is function

    def iterated(self, node: ast.expr) -> Items | Several:
        """Return what a loop runs over: bounds, a step, and the element for a value."""
        if isinstance(node, ast.Call):
            if self.is_range(node):
                start, stop, by = self._range_forms(node)
                if not by.is_constant:
                    return strided_range(self, start, stop, by)
                return (start, stop, by.constant, affine_number)
            if self._is_builtin(node.func, builtins.reversed) and self.is_range(node.args[0]):
                inner = node.args[0]
                assert isinstance(inner, ast.Call)
                lower, upper, step = self._range(inner)
                distance = upper.minus(lower) if step > 0 else lower.minus(upper)
                count = distance.plus(abs(step) - 1).floor(abs(step))
                last = lower.plus(count.minus(1).times(step))
                return last, lower.minus(1 if step > 0 else -1), -step, affine_number
            if self._is_builtin(node.func, builtins.enumerate):
                return self._enumerated(node)
            if self._is_builtin(node.func, builtins.reversed) and len(node.args) == 1:
                lower, upper, step, element = self._zipped([self.value(node.args[0])])
                last = upper.minus(1)
                return last, lower.minus(1), -step, _first_of(element)
            if self._is_builtin(node.func, builtins.zip):
                return self._zipped([self.value(part) for part in node.args])
        found = self.value(node)
        if isinstance(found, Several):
            return found
        items = self._zipped([found])
        element = items[3]
        return (*items[:3], _first_of(element))

    def _enumerated(self, node: ast.Call) -> Items:
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        starts = [*node.args[1:], *given.values()]
        if not 1 <= len(node.args) <= 2 or set(given) - {"start"} or len(starts) > 1:
            raise Refused("enumerate() has other arguments", node=node)
        first = self.number(starts[0]) if starts else affine_number(number(0))
        if first.affine is None or first.cell is not None:
            raise Refused("enumerate() begins at what is no integer that sizes decide", node=node)
        start = first.affine
        lower, upper, step, element = self._zipped([None, self.value(node.args[0])])

        def counted(index: Affine) -> Value:
            found = element(index)
            assert isinstance(found, Several)
            return replace(found, parts=(affine_number(index.plus(start)), *found.parts[1:]))

        return lower, upper, step, counted

    def _zipped(self, parts: Sequence[Value | None]) -> Items:
        arrays = [part for part in parts if part is not None]
        if not all(isinstance(part, Lazy | View) and part.shape for part in arrays):
            raise Refused("a loop runs over something that is no range and no array")
        held = [self.stored(part) if isinstance(part, Lazy) else part for part in arrays]
        extents = [part.shape[0] for part in held if isinstance(part, View)]
        count = extents[0]
        for other in extents[1:]:
            if not self.extents_agree(count, other):
                raise Refused("zip() of arrays of several lengths")

        def element(index: Affine) -> Value:
            waiting = list(held)
            found: list[Value] = []
            for part in parts:
                if part is None:
                    found.append(affine_number(index))
                else:
                    array = waiting.pop(0)
                    assert isinstance(array, View)
                    found.append(subscripted(self, array, (affine_number(index),)))
            return Several(tuple(found))

        return number(0), count, 1, element

    def _range(self, node: ast.Call) -> tuple[Affine, Affine, int]:
        """Return the bounds and the step of a range whose step is a constant."""
        lower, upper, step = self._range_forms(node)
        if not step.is_constant:
            raise Refused("the step of range() is no constant", node=node)
        return lower, upper, step.constant

    def _range_forms(self, node: ast.Call) -> tuple[Affine, Affine, Affine]:
        said = {keyword.arg for keyword in node.keywords} - {"parallel", "simd"}
        if said or not 1 <= len(node.args) <= 3:
            raise Refused("range() has other arguments", node=node)
        values = [self.number(part) for part in node.args]
        forms: list[Affine] = []
        for value in values:
            if value.dtype.kind not in "iu":
                raise Refused("a bound of range() is no integer", "use int()", node)
            form = value.affine if value.cell is None else None
            form = form if form is not None else self.frozen(value, "bound").affine
            assert form is not None
            forms.append(form)
        if len(forms) == 1:
            return number(0), forms[0], number(1)
        step = forms[2] if len(forms) == 3 else number(1)
        if step == number(0):
            raise Refused("the step of range() is 0", node=node)
        return forms[0], forms[1], step


def _first_of(element: Callable[[Affine], Value]) -> Callable[[Affine], Value]:
    return lambda index: _first(element(index))


def _first(value: Value) -> Value:
    assert isinstance(value, Several)
    found: Value = value.parts[0]
    return found


__all__ = ["Calls", "Indices"]
