"""Statements that stay Python: compiled as a function of the names that they read."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

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
    names = sorted(set(given) | _closure_names(source))
    text = f"def {source.tree.name}({', '.join(names)}): pass"
    module = ast.parse(text)
    made = module.body[0]
    assert isinstance(made, ast.FunctionDef)
    statements: list[ast.stmt] = [_Returns().visit(copy.deepcopy(node)) for node in body]
    touched = sorted((stores(list(body)) | set(given)) - {"__pg"})
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
        result: tuple[bool, Any] = function(**{**passed, **{n: values[n] for n in given}})
        return result

    return run


def _as_return(module: ast.Module) -> ast.stmt:
    return module.body[0]


def _closure_names(source: FunctionSource) -> set[str]:
    return set(source.function.__code__.co_freevars)


def names_read(body: Sequence[ast.stmt]) -> set[str]:
    """Return the names that statements mention."""
    return set[str]().union(*map(loads, body))
