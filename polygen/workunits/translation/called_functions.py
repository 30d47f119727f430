"""Functions that a work unit calls: nested ones, device functions, those with the team member.

def add(v): nonlocal t; t += v*x[i]     ->     v = 2.0
add(2.0)                                       t += v*x[i]

z[i] = square(x[i])                     ->     z[i] = square(x[i], t)
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import replace
from types import FunctionType

from polygen.python.function_source import FunctionSource, read_function
from polygen.python.source_functions import SourceFunction
from polygen.python.tree_parts import assign, load, loop, placed
from polygen.workunits.translation.bound_arguments import bound_arguments
from polygen.workunits.translation.claims import claims_of
from polygen.workunits.translation.leaving import without_returns
from polygen.workunits.translation.renamed_names import Renamed, free_names, local_names
from polygen.workunits.translation.unit_parts import UnitParts, leaves

_DEEPEST = 12


class CalledFunctions(UnitParts):
    """The part of a translation that knows functions."""

    def _passes_member(self, call: ast.Call) -> bool:
        given = [*call.args, *[keyword.value for keyword in call.keywords]]
        return any(self._is_member(part) for part in given)

    def _arguments(self, definition: ast.FunctionDef, call: ast.Call) -> list[ast.expr]:
        given = list(call.args)
        if isinstance(call.func, ast.Attribute) and self._is_owner(call.func.value):
            given.insert(0, call.func.value)
        named = {keyword.arg or "": keyword.value for keyword in call.keywords}
        found = bound_arguments(definition, given, named)
        if isinstance(found, str):
            raise self.refused(call, f"'{definition.name}' {found}")
        return found

    def _inner(self, body: Sequence[ast.stmt], unit: ast.FunctionDef) -> list[ast.stmt]:
        """Return the statements of a function that is written where it is called."""
        if self._depth > _DEEPEST:
            raise self.refused(unit, f"'{unit.name}' calls itself")
        known = dict(self._nested)
        self._depth += 1
        try:
            return self.statements(body)
        finally:
            self._nested = known
            self._depth -= 1

    def _renamed(self, unit: ast.FunctionDef) -> tuple[dict[str, str], list[ast.stmt]]:
        """Return new names for the variables of a function, and its statements with them."""
        names = {name: self.name(name) for name in sorted(local_names(unit))}
        return names, [Renamed(names).visit(copy.deepcopy(node)) for node in unit.body]

    def _written_out(self, definition: ast.FunctionDef, call: ast.Call) -> list[ast.stmt]:
        """Return the statements of a function in the place of its call."""
        given = self._arguments(definition, call)
        names, body = self._renamed(definition)
        made: list[ast.stmt] = []
        for parameter, value in zip(definition.args.args, given, strict=True):
            if self._is_member(value):
                assert self._team is not None
                body = [Renamed({names[parameter.arg]: self._team.member}).visit(n) for n in body]
            else:
                made.append(assign(names[parameter.arg], self.expression(value), call))
        inside = self._inner(without_returns(body), definition)
        if leaves(inside):
            inside = [loop(self.name("once"), ast.Constant(0), ast.Constant(1), inside, call)]
        return [*made, *inside]

    def _device_statements(self, function: FunctionType, call: ast.Call) -> list[ast.stmt]:
        """Return the statements of a function that is passed the team member."""
        source = read_function(function)
        outer = source.outer_values()
        definition = copy.deepcopy(source.tree)
        for part in free_names(definition) & set(outer):
            if part not in self._outer or self._outer[part] is not outer[part]:
                name = self.constant(outer[part], call)
                assert isinstance(name, ast.Name)
                definition.body = [Renamed({part: name.id}).visit(n) for n in definition.body]
                self._outer = {**self._outer, name.id: outer[part]}
        loops = 0
        for node in ast.walk(definition):  # what is wrong there is shown at the call
            if hasattr(node, "lineno"):
                ast.copy_location(node, call)
            if isinstance(node, ast.For):  # whose claims are its own
                loops += 1
                node.col_offset += loops
        return self._written_out(definition, call)

    def _called_nested(self, definition: ast.FunctionDef, call: ast.Call) -> ast.expr:
        """Return a call of a nested function, which is passed what it has from outside, too."""
        if any(isinstance(part, ast.Nonlocal) for part in definition.body):
            raise self.refused(
                call, f"'{definition.name}' assigns to variables from outside, and is called in an "
                "expression"
            )  # fmt: skip
        made = copy.deepcopy(definition)
        outer, self._before = self._before, []
        made.body = self._inner(made.body, definition)
        self._before = outer
        captured = sorted(free_names(made) & (self._locals | set(self.constants)))
        given = [self.expression(part) for part in self._arguments(definition, call)]
        return self._call_of_source(self._source, made, captured, given, call)

    def _called_device(self, function: FunctionType, call: ast.Call) -> ast.expr:
        """Return a call of a function that the user marked, in which Kokkos' names are, too."""
        source = read_function(function)
        made = copy.deepcopy(source.tree)
        inside = type(self)(source, None, {n.id for n in ast.walk(made) if isinstance(n, ast.Name)})
        made.body = inside.statements(made.body)
        for name, value in inside.constants.items():
            made.args.args.append(placed(ast.arg(name), made))
            made.args.defaults = []
            del value
        given = [self.expression(part) for part in self._arguments(source.tree, call)]
        given += [self.constant(value, call) for value in inside.constants.values()]
        return self._call_of_source(source, made, [], given, call, inside)

    def _call_of_source(
        self,
        source: FunctionSource,
        made: ast.FunctionDef,
        captured: Sequence[str],
        given: Sequence[ast.expr],
        call: ast.Call,
        inside: UnitParts | None = None,
    ) -> ast.expr:
        made.decorator_list, made.returns = [], None
        more = [placed(ast.arg(name), made) for name in captured]
        made.args = ast.arguments([], [*made.args.args, *more], None, [], [], None, [])
        loops, updates = (inside.parallel, inside.updates) if inside else ([], [])
        stated = claims_of(source, loops, updates)
        function = self.constant(SourceFunction(replace(source, tree=made, stated=stated)), call)
        passed = [*given, *[load(name, call) for name in captured]]
        return placed(ast.Call(function, passed, []), call)
