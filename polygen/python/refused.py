"""Constructs that the tracer of Python functions does not take, and what is said of each."""

from __future__ import annotations

import ast
from typing import Any


class Refused(Exception):
    """A construct that a kernel cannot have: the statement around it stays Python.

    Attributes:
        why: what it is, and why not.
        remedy: what would work.
        node: where it stands in the user's function; None until that is known.
        line: the line of the statement in the traced function.
        source: the function in which `node` stands: a helper, perhaps.
    """

    def __init__(self, why: str, remedy: str = "", node: ast.AST | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.remedy = remedy
        self.node = node
        self.line = 0
        self.source: Any = None


class ShapeRefused(Refused):
    """Shapes vary by iteration: with a loop's iterations written out, each might have its own."""


# What a construct is called, and what would work instead.
CONSTRUCTS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Try: ("'try' needs Python's exceptions", "check with 'if' before"),
    ast.With: ("'with' enters a context of Python's", "open it around the call"),
    ast.Raise: ("'raise' needs Python's exceptions", "check before the call, or return a code"),
    ast.Assert: ("'assert' needs Python's exceptions", "check before the call"),
    ast.Yield: ("'yield' makes a generator", "fill an array, and return it"),
    ast.YieldFrom: ("'yield' makes a generator", "fill an array, and return it"),
    ast.Await: ("'await' needs Python's event loop", "await before the call"),
    ast.AsyncFor: ("'async for' needs Python's event loop", "collect into an array before"),
    ast.AsyncWith: ("'async with' needs Python's event loop", "open it around the call"),
    ast.AsyncFunctionDef: ("an 'async' function needs Python's event loop", "use a plain one"),
    ast.Lambda: ("a 'lambda' is a value of Python's", "define a helper with 'def' outside"),
    ast.ListComp: ("a comprehension makes a list", "fill an array in a loop"),
    ast.SetComp: ("a comprehension makes a set", "fill an array in a loop"),
    ast.DictComp: ("a comprehension makes a dictionary", "use arrays"),
    ast.GeneratorExp: ("a generator is a value of Python's", "write the loop"),
    ast.Dict: ("a dictionary is a value of Python's", "use arrays or single names"),
    ast.Set: ("a set is a value of Python's", "use arrays"),
    ast.JoinedStr: ("a text is made as the function runs", "format it after the call"),
    ast.Starred: ("a starred argument has as many values as Python finds", "write them out"),
    ast.FunctionDef: ("a function is defined as this one runs", "define it outside"),
    ast.ClassDef: ("a class is defined as the function runs", "define it outside"),
    ast.Import: ("'import' runs Python's import system", "import at the head of the file"),
    ast.ImportFrom: ("'import' runs Python's import system", "import at the head of the file"),
    ast.Global: ("'global' assigns to names outside", "return the value"),
    ast.Nonlocal: ("'nonlocal' assigns to names outside", "return the value"),
    ast.Delete: ("'del' unbinds names", "leave the name alone"),
    ast.Match: ("'match' compares values of Python's", "write 'if' and 'elif'"),
    ast.NamedExpr: ("':=' assigns within an expression", "assign in a statement of its own"),
}


def refused_construct(node: ast.AST) -> Refused:
    """Return what is said of a construct that there is no rule for."""
    known = CONSTRUCTS.get(type(node))
    if known is None:
        return Refused(f"'{type(node).__name__}' is not in the language of kernels", node=node)
    return Refused(known[0], known[1], node)
