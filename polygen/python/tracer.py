"""Traces a block of a function for arguments of certain types: its nodes, inputs and results.

arguments -> names -> statements -> Traced
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from polygen.ir import expression as ex
from polygen.python.affine import Affine, affine_text, number
from polygen.python.array_libraries import HOLDERS, NUMPY, library_of
from polygen.python.block_structure import structured
from polygen.python.fault_sites import FaultSite
from polygen.python.function_source import FunctionSource, read_function
from polygen.python.liveness import liveness
from polygen.python.local_functions import LocalFunction
from polygen.python.nodes import Assign, Nodes, Storage
from polygen.python.object_attributes import has_own_attributes, may_change, stored_attribute
from polygen.python.refused import Refused
from polygen.python.source_functions import SourceFunction
from polygen.python.statement_origins import mark_origin, origin_of
from polygen.python.statements import Retrace, Returned, Statements
from polygen.python.tuple_names import without_tuple_names
from polygen.python.values import (
    INT64,
    UNKNOWN,
    ArrayCell,
    Cell,
    Constant,
    Either,
    Indices,
    Lazy,
    Masked,
    Number,
    Owner,
    Several,
    Unbound,
    Value,
    View,
    constant_number,
    whole,
)


@dataclass
class Input:
    """Something that the call passes.

    Attributes:
        name: its name in the kernel.
        path: how Python finds it: a name, with subscripts and attributes.
    """

    name: str
    path: str


@dataclass
class Result:
    """A value that comes out of a traced block, as Python finds it.

    Attributes:
        kind: ``made``, ``view``, ``scalar``, ``size``, ``constant``, ``tuple``, ``list``.
        name: the array in the kernel, for the first three.
        parts: of a tuple or list.
        recipe: of a view: what is done with the array.
        path: how Python finds the array of a view, if it is passed.
        form: of a size.
        value: of a constant.
        weak: whether a scalar is a number of Python's.
    """

    kind: str
    name: str = ""
    parts: tuple[Result, ...] = ()
    recipe: tuple[Any, ...] = ()
    path: str = ""
    form: Affine = field(default_factory=Affine)
    value: Any = None
    weak: bool = False


@dataclass
class Traced:
    """A traced block.

    Attributes:
        nodes: its statements, arrays and scalars.
        inputs: what the call passes, sizes among it.
        results: what names, and the ``return`` under the name ``return``, stand for after it.
        returns: whether it ends with a ``return``.
        names: names in the kernel, as the user calls them.
        guards: forms in sizes that are at least 0.
        extents: the sizes that are extents of arrays.
        merged: variables that are another one.
        outside: globals and closure variables that were read: the function, the name, the value.
        helpers: the functions that were inlined.
        attributes: what is read of arguments, by path.
        outer_attributes: what is read of other objects: the object, the name, the value.
        fault_sites: those of `nodes`, with the places of the user's.
    """

    nodes: Nodes
    inputs: list[Input]
    results: dict[str, Result]
    returns: bool
    names: dict[str, str]
    guards: list[Affine]
    extents: set[str]
    merged: dict[str, str]
    outside: list[tuple[FunctionSource, str, Any]]
    helpers: list[FunctionSource]
    attributes: dict[str, Any]
    outer_attributes: list[tuple[Any, str, Any]]
    fault_sites: list[FaultSite]


def trace(
    source: FunctionSource,
    body: Sequence[ast.stmt],
    given: Mapping[str, Any],
    wanted: Sequence[str] = (),
) -> Traced:
    """Return a block of a function, traced.

    Parameters:
        source: the function.
        body: statements of it.
        given: the values of names that it may read.
        wanted: the names that are read after it.

    Raises:
        Refused: if there is something that kernels do not have; its node says where.
    """
    types: dict[Any, tuple[np.dtype, bool]] = {}
    statements = structured(without_tuple_names(body, given, wanted))
    for _ in range(20):
        tracer = _Tracer(source, types)
        try:
            return tracer.traced(statements, given, wanted)
        except Retrace:
            continue
        except Refused as error:
            error.line = tracer.at_line
            error.source = error.source or tracer.source
            raise
    raise Refused("the types of variables depend on each other in a circle")


SIZES_OF_CALLS: dict[str, Callable[[int, int], int]] = {"*": operator.mul, "**": pow}
_BODIES: dict[tuple[Any, str], list[ast.stmt]] = {}
_MOST_BODIES = 256


def _helper_body(function: Any, text: str) -> list[ast.stmt]:
    """Return the statements of a helper: the same objects each time, by which types are kept."""
    key = (function.__code__, text)
    if key not in _BODIES:
        if len(_BODIES) >= _MOST_BODIES:
            _BODIES.pop(next(iter(_BODIES)))
        source = read_function(function)
        _BODIES[key] = structured(source.tree.body)
        mark_origin(_BODIES[key], source)
    return _BODIES[key]


class _Tracer(Statements):
    def __init__(self, source: FunctionSource, types: dict[Any, tuple[np.dtype, bool]]) -> None:
        super().__init__(types)
        self.source = source
        self.inputs: list[Input] = []
        self._by_identity: dict[int, View] = {}
        self._sizes: dict[int, str] = {}
        self._given: set[str] = set()
        self.read_outside: dict[tuple[int, str], tuple[FunctionSource, str, Any]] = {}
        self._helpers: dict[Any, FunctionSource] = {}
        self._attributes: dict[str, Any] = {}
        self._attribute_values: dict[str, Value] = {}
        self._outer_attributes: dict[tuple[int, str], tuple[Any, str, Any]] = {}
        self._products: dict[tuple[str, Affine, Affine], str] = {}
        self.outer = source.outer_values()

    # --- arguments

    def traced(
        self, body: Sequence[ast.stmt], given: Mapping[str, Any], wanted: Sequence[str]
    ) -> Traced:
        self._given = set(given)
        for name, value in given.items():
            self.names[name] = self._argument(name, name, value)
        returned: Value | None = None
        self.live = liveness(list(body), frozenset(wanted))
        try:
            self.block(body)
        except Returned as found:
            returned = found.value
        self._check_kept()
        self._check_index_guards()
        for storage, name in self.never_written:
            if storage.is_written:
                self.types["in memory", name] = (INT64, False)
                raise Retrace
        results: dict[str, Result] = {}
        if returned is not None:
            results["return"] = self._result(returned, "result")
        else:
            for name in wanted:
                found_value = self.names.get(name)
                if found_value is None:
                    continue
                if isinstance(found_value, Unbound):
                    raise Refused(f"'{name}' may have no value here: {found_value.why}")
                results[name] = self._result(self._read(name, found_value), name)
        self.nodes.guards = list(self.facts.guards)
        assert self.source is not None
        own = self.source
        return Traced(
            self.nodes,
            self.inputs,
            results,
            returned is not None,
            self.written_names,
            list(self.facts.guards),
            set(self.facts.extents),
            dict(self.merged),
            list(self.read_outside.values()),
            list(self._helpers.values()),
            self._attributes,
            list(self._outer_attributes.values()),
            [
                FaultSite(line, kind, origin_of(node, own).place(node) if node else None)
                for line, kind, node in self.nodes.fault_sites
            ],
        )

    def _check_kept(self) -> None:
        for storage, name in self.kept_as_is:
            if storage.is_written and storage.role != "temporary":
                raise Refused(
                    f"'{name}' holds elements that a mask chooses of an array that is written later"
                )

    def _argument(self, like: str, path: str, value: Any) -> Value:
        if library_of(value) is not None:
            return self._array(like, path, value)
        if type(value) in HOLDERS:
            held = f"{path}.{HOLDERS[type(value)]}"
            self._attributes[held] = getattr(value, HOLDERS[type(value)])
            # The call has another name for what holds it.
            return self._array(
                like if like != path else f"{like}_array", held, self._attributes[held]
            )
        if isinstance(value, bool) or value is None:
            return constant_number(value) if value is not None else Constant(None)
        if isinstance(value, int | float | complex | np.generic):
            return self._scalar(like, path, value)
        if isinstance(value, tuple | list):
            parts = [
                self._argument(f"{like}_{at}", f"{path}[{at}]", part)
                for at, part in enumerate(cast("Sequence[Any]", value))
            ]
            names = getattr(cast("Any", value), "_fields", ())
            return Several(tuple(parts), isinstance(value, list), names, path if names else "")
        return Owner(path, value) if has_own_attributes(value) else Constant(value)

    def argument_attribute(self, owner: Owner, name: str) -> Value:
        path = f"{owner.path}.{name}"
        if path not in self._attribute_values:
            found, is_method = stored_attribute(owner.value, name)
            if is_method:
                raise Refused(f"the method '{name}' is a value here", "call it")
            self._attributes[path] = found
            self._attribute_values[path] = self._argument(name, path, found)
        return self._attribute_values[path]

    def argument_method(self, owner: Owner, name: str) -> Any:
        found: Any = getattr(cast("Any", type(owner.value)), name)
        self._attributes[f"getattr({owner.path}.{name}, '__func__', None)"] = found
        return found

    def outer_attribute(self, owner: Any, name: str) -> Any:
        found = getattr(owner, name)
        if may_change(owner):
            self._outer_attributes[id(owner), name] = owner, name, found
        return found

    def _array(self, like: str, path: str, array: Any) -> View:
        is_subclass = library_of(array) is NUMPY and type(array) is not np.ndarray
        if is_subclass or array.dtype.kind not in "biufc":
            raise Refused(f"'{like}' is a {type(array).__name__} of {array.dtype}")
        if array.dtype.itemsize > 16 or array.dtype.char in "gG" or not array.dtype.isnative:
            raise Refused(f"'{like}' has elements of the type {array.dtype}")
        if id(array) in self._by_identity:
            return self._by_identity[id(array)]
        shape = tuple(
            [
                self._extent(extent, f"{path}.shape[{axis}]")
                for axis, extent in enumerate(array.shape)
            ]
        )
        base = Storage(self.name(like), array.dtype, shape, "input", source=path)
        base.is_contiguous = array.flags.c_contiguous
        self.nodes.storages[base.name] = base
        self.inputs.append(Input(base.name, path))
        self._by_identity[id(array)] = whole(base)
        return self._by_identity[id(array)]

    def _extent(self, extent: int, path: str) -> Affine:
        if extent <= 1:
            return number(extent)
        if extent not in self._sizes:
            name = self.name("n")
            while name in self._given:
                name = self.name("n")
            self._sizes[extent] = name
            self.facts.values[name] = extent
            self.facts.extents.add(name)
            self.nodes.parameters[name] = None
            self.inputs.append(Input(name, path))
        return Affine.of(self._sizes[extent])

    def _scalar(self, like: str, path: str, value: Any) -> Number:
        constant = constant_number(value)
        name = self.name(like)
        self.inputs.append(Input(name, path))
        if constant.dtype.kind in "iu":
            self.facts.values[name] = int(value)
            self.nodes.parameters[name] = None
            if constant.weak:
                return Number(INT64, True, None, Affine.of(name))
            tree = ex.converted(constant.dtype.name, ex.Variable(name))
            return Number(constant.dtype, False, tree, Affine.of(name))
        self.nodes.parameters[name] = constant.dtype
        return Number(constant.dtype, constant.weak, ex.Variable(name))

    def statement(self, node: ast.stmt) -> None:
        if not self.frame:
            self.at_line = node.lineno
        super().statement(node)

    def checks_at_call(self, tree: ex.Expression, extent: Affine) -> bool:
        if not isinstance(tree, ex.Subscript):
            return False
        storage = self.nodes.storages.get(ex.name_of(tree))
        if storage is None or storage.role != "input" or ("written", storage.name) in self.types:
            return False
        if any(s not in self.facts.values for s in extent.symbols()):
            return False
        self.nodes.index_guards[storage.name, extent] = None
        return True

    def size_of_call(self, sign: str, one: Affine, other: Affine) -> Number | None:
        known = self.facts.values
        if not (one.symbols() | other.symbols()) <= set(known):
            return None
        pair = (sign, one, other)
        if pair not in self._products:
            value = SIZES_OF_CALLS[sign](one.evaluate(known), other.evaluate(known))
            name = self.name("size")
            while name in self._given:
                name = self.name("size")
            known[name] = value
            self.nodes.parameters[name] = None
            self.inputs.append(Input(name, f"({affine_text(one)}){sign}({affine_text(other)})"))
            self._products[pair] = name
        return Number(INT64, True, None, Affine.of(self._products[pair]))

    def _check_index_guards(self) -> None:
        for name, _ in self.nodes.index_guards:
            if self.nodes.storages[name].is_written:
                self.types["written", name] = (INT64, False)
                raise Retrace

    def from_outside(self, name: str) -> Any:
        assert self.source is not None
        value = self.outer[name]
        self.read_outside[id(self.source.function), name] = (self.source, name, value)
        return value

    # --- helpers

    def inlined_body(self, source: FunctionSource, names: dict[str, Any], call: int) -> Value:
        self._helpers[source.function.__code__] = source
        return self._inlined_in(source, _helper_body(source.function, source.text), names, call)

    def inlined_tree(self, function: SourceFunction, names: dict[str, Any], call: int) -> Value:
        self._helpers[function] = function.source
        return self._inlined_in(function.source, function.body, names, call)

    def _inlined_in(
        self, source: FunctionSource, body: list[ast.stmt], names: dict[str, Any], call: int
    ) -> Value:
        kept = (self.source, self.names, self.outer, self.live, self.frame, self.frame_depth)
        self.source, self.names, self.outer = source, names, source.outer_values()
        self.frame, self.frame_depth = (*self.frame, call), self.depth
        self.live = liveness(body)
        try:
            self.block(body)
        except Returned as found:
            return found.value
        except Refused as error:
            error.source = error.source or source
            raise
        finally:
            (self.source, self.names, self.outer, self.live, self.frame, self.frame_depth) = kept
        return Constant(None)

    def inlined_statements(self, body: list[ast.stmt], names: dict[str, Any], call: int) -> Value:
        kept = (self.names, self.live, self.frame, self.frame_depth)
        self.names, self.live = names, liveness(body)
        self.frame, self.frame_depth = (*self.frame, call), self.depth
        try:
            self.block(body)
        except Returned as found:
            return found.value
        finally:
            (self.names, self.live, self.frame, self.frame_depth) = kept
        return Constant(None)

    # --- results

    def _result(self, value: Value, like: str) -> Result:
        if isinstance(value, Either):
            raise Refused(value.why, "convert it, so that it is of one type")
        if isinstance(value, Owner):
            return Result("view", path=value.path)
        if isinstance(value, Constant) and isinstance(value.value, LocalFunction):
            raise Refused("a function that is defined here leaves the kernel", "move it out")
        if isinstance(value, Constant):
            return Result("constant", value=value.value)
        if isinstance(value, Several) and value.path:
            return Result("view", path=value.path)
        if isinstance(value, Several):
            parts = tuple([self._result(part, like) for part in value.parts])
            return Result("list" if value.is_list else "tuple", parts=parts)
        if isinstance(value, Number):
            return self._number_result(value, like)
        if isinstance(value, Masked):
            raise Refused("data decides the shape of a result", "use np.where")
        return self._array_result(value, like)

    def _number_result(self, value: Number, like: str) -> Result:
        if value.value is not UNKNOWN:
            return Result("constant", value=value.value)
        form = value.affine if value.weak and value.cell is None else None
        if form is not None and form.symbols() <= set(self.facts.values):
            return Result("size", form=form)
        base = self.storage(like, value.dtype, (), "made", is_written=True)
        self.emit(Assign(ex.Variable(base.name), value.element(), self.node))
        return Result("scalar", base.name, weak=value.weak)

    def _array_result(self, value: Lazy | View, like: str) -> Result:
        if isinstance(value, View) and value.recipe is not None and not value.is_gather:
            if value.base.role == "temporary" and value.is_whole:
                value.base.role = "made"
            if value.base.role != "temporary":
                path = value.base.source if value.base.role == "input" else ""
                return Result("view", value.base.name, recipe=value.recipe, path=path)
        if isinstance(value, View) and value.base.role == "input" and not value.is_gather:
            raise Refused("a part of an argument is returned whose place data decides")
        if isinstance(value, Lazy) and value.may_be_view:
            raise Refused("a part of an array is given another shape", "take a copy() of it")
        made = self.made(value.dtype, value.shape, like, zeros=False)
        self.assign(made, value)
        return Result("view", made.base.name, recipe=())


__all__ = ["ArrayCell", "Cell", "Indices", "Input", "Result", "Traced", "trace"]
