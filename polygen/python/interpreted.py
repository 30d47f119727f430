"""Statements that stay Python: compiled as a function of the names that they read.

Among arrays on a GPU, NumPy's functions are CuPy's in them, so that new arrays are there, too.
"""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from polygen.python.array_libraries import library_of_results
from polygen.python.function_source import FunctionSource
from polygen.python.liveness import loads, stores


class _Returns(ast.NodeTransformer):
    """Marks what is returned, so that it can be told from the end of the statements."""

    def visit_Return(self, node: ast.Return) -> ast.Return:
        value = node.value or ast.Constant(None)
        marked = ast.Tuple([ast.Constant(value=True), value], ast.Load())
        return ast.fix_missing_locations(
            ast.copy_location(ast.Return(ast.copy_location(marked, node)), node)
        )

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node


def interpreted(
    source: FunctionSource, body: Sequence[ast.stmt], given: Sequence[str]
) -> Callable[[Mapping[str, Any]], tuple[bool, Any]]:
    """Return a function that runs statements on values of names.

    Parameters:
        source: the function that they are of.
        body: the statements.
        given: the names that have values.

    Returns:
        A function from these values to whether the statements returned, and what; or else the
        values of names after them.
    """
    modules = _names_of_numpy(source, body) - set(given)
    names = sorted(set(given) | _closure_names(source) | modules)
    text = f"def {source.tree.name}({', '.join(names)}): pass"
    module = ast.parse(text)
    made = module.body[0]
    assert isinstance(made, ast.FunctionDef)
    statements: list[ast.stmt] = [_Returns().visit(copy.deepcopy(node)) for node in body]
    touched = sorted((stores(list(body)) | _defined(body) | set(given)) - {"__pg"})
    end = ast.parse(f"return (False, {{n: v for n, v in locals().items() if n in {touched!r}}})")
    made.body = [*statements, _as_return(end)]
    ast.fix_missing_locations(module)
    ast.increment_lineno(made.body[-1], max((n.end_lineno or 0) for n in body) - 1)
    scope: dict[str, Any] = {}
    exec(compile(module, source.file, "exec"), source.function.__globals__, scope)  # noqa: S102
    function = scope[source.tree.name]

    def run(values: Mapping[str, Any]) -> tuple[bool, Any]:
        outer = source.outer_values()
        passed = {name: outer[name] for name in _closure_names(source) if name in outer}
        module = library_of_results(values.values()).module
        passed |= dict.fromkeys(modules, module)
        result: tuple[bool, Any] = function(**{**passed, **{n: values[n] for n in given}})
        return result

    return run


def outer_assignment(tree: ast.FunctionDef) -> ast.stmt | None:
    """Return the statement by which a function declares names of others, if there is one.

    Parameters:
        tree: the function.
    """
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Global | ast.Nonlocal):
            return node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            pending += ast.iter_child_nodes(node)
    return None


def called_with(function: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    """Call a function with the values of its parameters.

    Parameters:
        function: the function.
        values: the values by the names of parameters; those of starred ones are collections.
    """
    arguments: list[Any] = []
    named: dict[str, Any] = {}
    for name, parameter in inspect.signature(function, follow_wrapped=False).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            arguments += values[name]
        elif parameter.kind is parameter.VAR_KEYWORD:
            named |= values[name]
        elif parameter.kind is parameter.KEYWORD_ONLY:
            named[name] = values[name]
        else:
            arguments.append(values[name])
    return function(*arguments, **named)


def _defined(body: Sequence[ast.stmt]) -> set[str]:
    """Return the names of functions, classes and modules that statements define."""
    found = set[str]()
    for node in (part for statement in body for part in ast.walk(statement)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(one.asname or one.name).partition(".")[0] for one in node.names}
    return found


def _as_return(module: ast.Module) -> ast.stmt:
    return module.body[0]


def _closure_names(source: FunctionSource) -> set[str]:
    return set(source.function.__code__.co_freevars)


def _names_of_numpy(source: FunctionSource, body: Sequence[ast.stmt]) -> set[str]:
    outer = source.outer_values()
    return {name for name in names_read(body) if outer.get(name) is np}


def names_read(body: Sequence[ast.stmt]) -> set[str]:
    """Return the names that statements mention."""
    return set[str]().union(*map(loads, body))
