"""Functions that a function defines: inlined where they are called, with names as they are then."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polygen.python.block_structure import structured
from polygen.python.liveness import loads, stores
from polygen.python.refused import Refused


@dataclass(frozen=True, eq=False)
class LocalFunction:
    """A nested function, or a lambda.

    Attributes:
        node: its definition.
        name: what it is called.
        defaults: the values of parameters that have some, as they were where it was defined.
        body: its statements; the same objects each time.
    """

    node: ast.FunctionDef | ast.Lambda
    name: str
    defaults: Mapping[str, Any]
    body: list[ast.stmt]

    @property
    def own_names(self) -> set[str]:
        """The names that are its own: parameters, and what it assigns."""
        return {*parameters(self.node), *stores(self.body)}

    def bound(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of parameters in a call.

        Parameters:
            arguments: those by position.
            named: those by name.

        Raises:
            Refused: if they do not fit.
        """
        names = parameters(self.node)
        found = {**self.defaults, **dict(zip(names, arguments, strict=False)), **named}
        known = names[: len(arguments)]
        is_wrong = len(arguments) > len(names) - len(self.node.args.kwonlyargs)
        if is_wrong or not set(found) == set(names) or set(known) & set(named):
            raise Refused(f"'{self.name}' is called with other arguments than it has")
        return found


def parameters(node: ast.FunctionDef | ast.Lambda) -> list[str]:
    """Return the names of parameters, in their order."""
    given = node.args
    return [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def default_nodes(node: ast.FunctionDef | ast.Lambda) -> dict[str, ast.expr]:
    """Return the expressions of defaults, by parameter."""
    given = node.args
    positional = [one.arg for one in (*given.posonlyargs, *given.args)]
    count = len(given.defaults)
    found = dict(zip(positional[len(positional) - count :], given.defaults, strict=True))
    for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        if default is not None:
            found[one.arg] = default
    return found


def local_function(
    node: ast.FunctionDef | ast.Lambda, defaults: Mapping[str, Any]
) -> LocalFunction:
    """Return a nested function.

    Parameters:
        node: its definition.
        defaults: the values of its defaults.

    Raises:
        Refused: if it is decorated, or takes any number of arguments.
    """
    name = node.name if isinstance(node, ast.FunctionDef) else "lambda"
    if isinstance(node, ast.FunctionDef) and node.decorator_list:
        raise Refused(f"'{name}' has a decorator, and is defined in the function", "move it out")
    if node.args.vararg is not None or node.args.kwarg is not None:
        raise Refused(f"'{name}' takes any number of arguments")
    return LocalFunction(node, name, defaults, _body(node))


def _body(node: ast.FunctionDef | ast.Lambda) -> list[ast.stmt]:
    """Return its statements: they are kept with the node, since types are kept by statement."""
    kept: list[ast.stmt] | None = node.__dict__.get(_KEPT)
    if kept is None:
        if isinstance(node, ast.Lambda):
            kept = [ast.copy_location(ast.Return(node.body), node.body)]
        else:
            kept = structured(node.body)
        node.__dict__[_KEPT] = kept
    return kept


_KEPT = "the statements of a nested function"


def captures_locals(body: Sequence[ast.stmt], own: set[str]) -> bool:
    """Tell whether statements define a function that reads variables of the one around it.

    Parameters:
        body: the statements.
        own: the variables of the function around.
    """
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.FunctionDef | ast.Lambda):
                inner = node.body if isinstance(node, ast.FunctionDef) else []
                free = loads(node) - set(parameters(node)) - stores(inner)
                if free & own:
                    return True
    return False
