"""Objects of class types, made in work units, as their attributes.

v = Vector(x[i], y[i])          v__x, v__y = pk_Vector(x[i], y[i])
n = v.scaled(2.0).dot(v)   ->   object__x, object__y = pk_scaled(v__x, v__y, 2.0)
                                n = pk_dot(object__x, object__y, v__x, v__y)

Methods become functions of attributes; those that return an object return its attributes.
"""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any, TypeAlias

from polygen.errors import WorkUnitRefused
from polygen.python.function_source import FunctionSource, read_function
from polygen.python.source_annotations import called_function
from polygen.python.source_functions import SourceFunction
from polygen.python.tree_parts import load, placed
from polygen.workunits.constructs import construct_of
from polygen.workunits.translation.unit_body import UnitBody

_Kinds: TypeAlias = tuple[type | None, ...]


@dataclass(frozen=True)
class _Flat:
    """A function of attributes.

    Attributes:
        function: what is called.
        constants: what it is passed behind its arguments.
        returned: the class of what it returns; None for another value.
    """

    function: SourceFunction
    constants: tuple[Any, ...]
    returned: type | None


def without_objects(source: FunctionSource) -> tuple[FunctionSource, dict[str, Any]]:
    """Return a work unit without objects of class types, and the functions that it calls by name.

    Parameters:
        source: the work unit.

    Raises:
        WorkUnitRefused: for what is done with an object that has no meaning by its attributes.
    """
    if not any(_mentions_class_type(value) for value in source.outer_values().values()):
        return source, {}
    tree = copy.deepcopy(source.tree)
    names = _Objects(source, tree, {})
    tree.body = names.statements(tree.body)
    return replace(source, tree=tree), names.constants


def _is_class_type(value: Any) -> bool:
    return isinstance(value, type) and construct_of(value) == "class type"


def _mentions_class_type(value: Any) -> bool:
    if not _is_plain(value):
        return _is_class_type(value)
    names = value.__code__.co_names
    return any(_is_class_type(value.__globals__.get(name)) for name in names)


def _is_plain(value: Any) -> bool:
    """Tell whether a value is a function of the user's, and means nothing of its own."""
    return isinstance(value, FunctionType) and construct_of(value) in ("", "device")


def attributes_of(kind: type) -> list[str]:
    """Return the attributes of a class's objects: those that its `__init__` sets, in their order.

    Parameters:
        kind: the class.
    """
    tree = read_function(_method(kind, "__init__")).tree
    owner = tree.args.args[0].arg
    found = [
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        if isinstance(node.value, ast.Name) and node.value.id == owner
    ]
    return list(dict.fromkeys(found))


def _method(kind: type, name: str) -> Any:
    found = inspect.getattr_static(kind, name, None)
    return found if isinstance(found, FunctionType) else None


class _Objects(ast.NodeTransformer):
    """Replaces the objects of a function by their attributes.

    Parameters:
        source: the function.
        tree: its definition.
        kinds: the classes of parameters that are objects.

    Attributes:
        constants: the functions that are called, by name.
        returned: the class of what is returned; None for another value.
    """

    def __init__(
        self, source: FunctionSource, tree: ast.FunctionDef, kinds: Mapping[str, type]
    ) -> None:
        self._source, self._kinds = source, dict(kinds)
        self._outer = source.outer_values()
        self._taken = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
        self._taken |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
        self._owner = tree.args.args[0].arg if tree.args.args else ""
        self._is_making = tree.name == "__init__"
        # Objects from outside of the function that is looked at: its changes would be seen there.
        self._fixed = set(kinds) - ({self._owner} if self._is_making else set())
        self._changes = any(
            isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
            for n in ast.walk(tree)
            if not (self._is_making and self._is_owner(getattr(n, "value", None)))
        )
        self._before: list[ast.stmt] = []
        self._is_conditional = False
        self.constants: dict[str, Any] = {}
        self.returned: type | None = None

    def _is_owner(self, node: ast.AST | None) -> bool:
        return isinstance(node, ast.Name) and node.id == self._owner

    def statements(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return statements without objects."""
        made: list[ast.stmt] = []
        for node in body:
            outer, self._before = self._before, []
            new = self._statement(node)
            made += [*self._before, *new]
            self._before = outer
        return made

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            kind = self._kind(node.value)
            if kind is not None:
                return [self._assigned(node, node.value, kind)]
        if isinstance(node, ast.AnnAssign) and node.value is None:
            return [] if self._is_declared(node.annotation) else [node]
        if isinstance(node, ast.Return) and node.value is not None:
            return [self._returned(node, node.value)]
        if isinstance(node, ast.Nonlocal | ast.FunctionDef):
            return [self._nested(node)]
        self._visit_parts(node)
        return [node]

    def _visit_parts(self, node: ast.stmt) -> None:
        for field in ("body", "orelse"):
            if isinstance(getattr(node, field, None), list):
                setattr(node, field, self.statements(getattr(node, field)))
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and field != "annotation":
                is_again = isinstance(node, ast.While)
                setattr(node, field, self._visited(value, is_conditional=is_again))
            elif field in ("targets", "values"):
                parts: Any = value
                setattr(node, field, [self.visit(part) for part in parts])

    def _nested(self, node: ast.Nonlocal | ast.FunctionDef) -> ast.stmt:
        """Return a nested function, or what it says of names from outside."""
        if isinstance(node, ast.Nonlocal):
            of_objects = [self._names(n) if n in self._kinds else [n] for n in node.names]
            node.names = [name for names in of_objects for name in names]
            return node
        before, self._fixed = self._fixed, {*self._fixed, *self._kinds}
        node.body = self.statements(node.body)
        self._fixed = before
        return node

    def _is_declared(self, annotation: ast.expr) -> bool:
        return _is_class_type(called_function(annotation, self._outer))

    def _assigned(self, node: ast.Assign | ast.AnnAssign, value: ast.expr, kind: type) -> ast.stmt:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if len(targets) != 1 or not isinstance(targets[0], ast.Name):
            raise self._refused(node, "an object is assigned to something else than a name")
        name = targets[0].id
        if self._kinds.setdefault(name, kind) is not kind:
            raise self._refused(node, f"'{name}' is an object of two classes")
        if isinstance(value, ast.Name) and self._changes:
            why = f"'{name}' is another name of '{value.id}', and attributes are changed"
            raise self._refused(node, why)
        stored = [ast.Name(part, ast.Store()) for part in self._names(name)]
        return placed(ast.Assign([_together(stored, ast.Store())], self._object(value)), node)

    def _returned(self, node: ast.Return, value: ast.expr) -> ast.stmt:
        kind = self._kind(value)
        if kind is None:
            node.value = self.visit(value)
            return node
        if self.returned not in (None, kind):
            raise self._refused(node, "objects of two classes are returned")
        self.returned = kind
        return placed(ast.Return(self._object(value)), node)

    # --- objects

    def _kind(self, node: ast.expr) -> type | None:
        """Return the class of an object; None for any other value."""
        if isinstance(node, ast.Name):
            return self._kinds.get(node.id)
        if not isinstance(node, ast.Call):
            return None
        called = self._called(node)
        if _is_class_type(called):
            found: type = called
            return found
        flat = self._flat(called, node)
        return None if flat is None else flat.returned

    def _object(self, node: ast.expr) -> ast.expr:
        """Return an object as its attributes: one expression for all."""
        if isinstance(node, ast.Name):
            return placed(
                _together([load(n, node) for n in self._names(node.id)], ast.Load()), node
            )
        found: ast.expr = self.visit_Call(node, is_object=True)  # type: ignore[arg-type,assignment]
        return found

    def _names(self, name: str) -> list[str]:
        return [f"{name}__{attribute}" for attribute in attributes_of(self._kinds[name])]

    def _named(self, node: ast.expr) -> str:
        """Return the name of an object, which is assigned before the statement if it has none."""
        if isinstance(node, ast.Name):
            return node.id
        if self._is_conditional:
            raise self._refused(node, "an object without a name is made in a condition")
        kind = self._kind(node)
        assert kind is not None
        name = self._free("object")
        self._kinds[name] = kind
        stored = [ast.Name(part, ast.Store()) for part in self._names(name)]
        value = self._object(node)
        self._before.append(placed(ast.Assign([_together(stored, ast.Store())], value), node))
        return name

    def _free(self, like: str) -> str:
        found, number = like, 0
        while found in self._taken:
            number += 1
            found = f"{like}_{number}"
        self._taken.add(found)
        return found

    # --- calls

    def _called(self, call: ast.Call) -> Any:
        """Return the function that is called: also a method of an object."""
        if isinstance(call.func, ast.Attribute):
            kind = self._kind(call.func.value)
            if kind is not None:
                found = _method(kind, call.func.attr)
                if found is None:
                    raise self._refused(call, f"'{kind.__name__}' has no method '{call.func.attr}'")
                return found
        return called_function(call.func, self._outer)

    def _given(self, call: ast.Call) -> list[ast.expr]:
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        is_method = owner is not None and self._kind(owner) is not None
        return [*([owner] if owner is not None and is_method else []), *call.args]

    def _flat(self, called: Any, call: ast.Call) -> _Flat | None:
        """Return a called function as one of attributes; None if it has nothing to do with them."""
        if _is_class_type(called):
            return self._made(called, call)
        kinds = tuple([self._kind(one) for one in self._given(call)])
        if not _is_plain(called):
            return None
        if not any(kinds) and not _mentions_class_type(called):
            return None
        if call.keywords:
            raise self._refused(call, "a function of objects is called with keywords")
        return _flat_function(called, kinds)

    def _made(self, kind: type, call: ast.Call) -> _Flat:
        if _method(kind, "__init__") is None:
            raise self._refused(call, f"the class type '{kind.__name__}' has no '__init__'")
        if call.keywords:
            raise self._refused(call, "an object is made with keywords")
        kinds = (kind, *[self._kind(one) for one in call.args])
        return _flat_function(_method(kind, "__init__"), kinds)

    def visit_Call(self, node: ast.Call, *, is_object: bool = False) -> ast.AST:
        called = self._called(node)
        flat = self._flat(called, node)
        if flat is None:
            return self.generic_visit(node)
        if flat.returned is not None and not is_object:
            raise self._refused(node, "an object stands where a number has to be")
        passed: list[ast.expr] = []
        for one in self._given(node):
            if self._kind(one) is None:
                passed.append(self._visited(one))
            else:
                passed += [load(name, node) for name in self._names(self._named(one))]
        passed += [self._constant(value, node) for value in flat.constants]
        return placed(ast.Call(self._constant(flat.function, node), passed, []), node)

    def _constant(self, value: Any, like: ast.AST) -> ast.expr:
        name = next((n for n, v in self.constants.items() if v is value), None)
        if name is None:
            shown = value.source.tree.name if isinstance(value, SourceFunction) else "value"
            name = self._free(f"pk_{shown.strip('_')}")
            self.constants[name] = value
        return load(name, like)

    # --- expressions

    def _visited(self, node: ast.expr, *, is_conditional: bool = False) -> ast.expr:
        before, self._is_conditional = self._is_conditional, self._is_conditional or is_conditional
        found: ast.expr = self.visit(node)
        self._is_conditional = before
        return found

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        node.test = self._visited(node.test)
        node.body = self._visited(node.body, is_conditional=True)
        node.orelse = self._visited(node.orelse, is_conditional=True)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        first, *others = node.values
        node.values = [self._visited(first)]
        node.values += [self._visited(one, is_conditional=True) for one in others]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        kind = self._kind(node.value)
        if kind is None:
            return self.generic_visit(node)
        if node.attr not in attributes_of(kind):
            raise self._refused(node, f"'{kind.__name__}' sets no '{node.attr}' in its '__init__'")
        name = self._named(node.value)
        if isinstance(node.ctx, ast.Store) and name in self._fixed:
            raise self._refused(node, f"a function changes the object '{name}' from outside")
        return placed(ast.Name(f"{name}__{node.attr}", node.ctx), node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self._kinds:
            raise self._refused(node, f"the object '{node.id}' stands where a number has to be")
        return node

    def _refused(self, node: ast.AST, why: str) -> WorkUnitRefused:
        return WorkUnitRefused(
            f"{why}, in '{self._source.tree.name}'",
            where=self._source.place(node),
            remedy="give objects names, let methods return new ones, or pass their attributes",
        )


_FLAT: dict[tuple[FunctionType, _Kinds], _Flat] = {}
_BEING_MADE: set[tuple[FunctionType, _Kinds]] = set()


def _flat_function(function: FunctionType, kinds: _Kinds) -> _Flat:
    """Return a function, some of whose parameters are objects, as one of their attributes."""
    key = function, kinds
    if key not in _FLAT:
        source = read_function(function)
        if key in _BEING_MADE:
            raise WorkUnitRefused(
                f"'{source.tree.name}' calls itself",
                where=source.place(source.tree),
                remedy="write it as a loop",
            )
        _BEING_MADE.add(key)
        try:
            _FLAT[key] = _flattened(source, kinds)
        finally:
            _BEING_MADE.discard(key)
    return _FLAT[key]


def _flattened(source: FunctionSource, kinds: _Kinds) -> _Flat:
    tree = copy.deepcopy(source.tree)
    parameters = [one.arg for one in tree.args.args]
    by_name = {n: k for n, k in zip(parameters, kinds, strict=False) if k is not None}
    if len(parameters) != len(kinds):
        raise WorkUnitRefused(
            f"'{tree.name}' takes {len(parameters)} arguments, and is passed {len(kinds)}",
            where=source.place(tree),
            remedy="pass one for each parameter",
        )
    objects = _Objects(source, tree, by_name)
    body = objects.statements(tree.body)
    is_making = tree.name == "__init__"
    if is_making:
        kind = kinds[0]
        assert kind is not None
        names = [f"{parameters[0]}__{attribute}" for attribute in attributes_of(kind)]
        made = _together([load(name, tree) for name in names], ast.Load())
        body.append(placed(ast.Return(made), tree))
        objects.returned = kind
        parameters, tree.name = parameters[1:], kind.__name__
    inside = UnitBody(source, None, {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)})
    tree.body = inside.statements(body)
    flat: list[str] = []
    for name in parameters:
        of_object = (
            [f"{name}__{a}" for a in attributes_of(by_name[name])] if name in by_name else []
        )
        flat += of_object or [name]
    constants = {**objects.constants, **inside.constants}
    given = [placed(ast.arg(name), tree) for name in [*flat, *constants]]
    tree.args = ast.arguments([], given, None, [], [], None, [])
    tree.decorator_list, tree.returns = [], None
    function = SourceFunction(replace(source, tree=tree))
    return _Flat(function, tuple(constants.values()), objects.returned)


def _together(parts: Sequence[ast.expr], context: ast.expr_context) -> ast.expr:
    return parts[0] if len(parts) == 1 else ast.Tuple(list(parts), context)
