"""Small changes of a module, each of which a test should notice."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mutant:
    """A module with one change.

    Attributes:
        path: the module's file.
        statement: the first line of the innermost statement of a function that holds the change,
            or 0: then it is on import that it is run.
        line: where it is.
        what: what was changed.
        number: which of the places that can be changed it is, in the order of the file.
    """

    path: Path
    statement: int
    line: int
    what: str
    number: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_NAMES = {
    "min": "max",
    "any": "all",
    "intersect": "union",
    "intersection": "union",
    "is_subset": "is_superset",
    "lower": "upper",
    "Min": "Max",
}
_NAMES |= {new: old for old, new in _NAMES.items() if old != "intersection"}
# Checks of what holds anyway, texts, and what is imported.
_UNTOUCHED = (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)


# --- the changes of one node: each yields a description and what to put in its place


def _compare(node: ast.Compare) -> Iterator[tuple[str, ast.AST]]:
    for at, operator in enumerate(node.ops):
        new = copy.deepcopy(node)
        new.ops[at] = _COMPARISONS[type(operator)]()
        yield f"{ast.unparse(node)} -> {ast.unparse(new)}", new


def _binary(node: ast.BinOp) -> Iterator[tuple[str, ast.AST]]:
    if (other := _OPERATORS.get(type(node.op))) is not None:
        new = copy.deepcopy(node)
        new.op = other()
        yield f"{ast.unparse(node)} -> {ast.unparse(new)}", new


def _logical(node: ast.BoolOp) -> Iterator[tuple[str, ast.AST]]:
    new = copy.deepcopy(node)
    new.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield f"{ast.unparse(node)} -> {ast.unparse(new)}", new
    for at, part in enumerate(node.values):
        rest = [copy.deepcopy(v) for k, v in enumerate(node.values) if k != at]
        kept = rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
        yield f"'{ast.unparse(part)}' dropped from {ast.unparse(node)}", kept


def _constant(node: ast.Constant) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node.value, bool):
        yield f"{node.value} -> {not node.value}", ast.Constant(not node.value)
    elif isinstance(node.value, int):
        for new in (node.value + 1, node.value - 1):
            yield f"{node.value} -> {new}", ast.Constant(new)


def _not(node: ast.UnaryOp) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node.op, ast.Not | ast.USub):
        yield f"{ast.unparse(node)} -> {ast.unparse(node.operand)}", copy.deepcopy(node.operand)


def _if(node: ast.If | ast.IfExp | ast.While) -> Iterator[tuple[str, ast.AST]]:
    values = (False,) if isinstance(node, ast.While) else (True, False)
    for value in values:
        new = copy.deepcopy(node)
        new.test = ast.Constant(value)
        yield f"condition {ast.unparse(node.test)} -> {value}", new


def _comprehension(node: ast.comprehension) -> Iterator[tuple[str, ast.AST]]:
    for at, condition in enumerate(node.ifs):
        new = copy.deepcopy(node)
        del new.ifs[at]
        yield f"'if {ast.unparse(condition)}' dropped", new


def _name(node: ast.Name) -> Iterator[tuple[str, ast.AST]]:
    if node.id in ("min", "max", "any", "all"):
        yield f"{node.id} -> {_NAMES[node.id]}", ast.Name(_NAMES[node.id], node.ctx)


def _attribute(node: ast.Attribute) -> Iterator[tuple[str, ast.AST]]:
    if node.attr in _NAMES:
        new = copy.deepcopy(node)
        new.attr = _NAMES[node.attr]
        yield f"{ast.unparse(node)} -> {ast.unparse(new)}", new


def _statement(node: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # a docstring
    yield f"'{ast.unparse(node)}' removed", ast.Pass()


_RULES: dict[type[ast.AST], Callable[..., Iterator[tuple[str, ast.AST]]]] = {
    ast.Compare: _compare,
    ast.BinOp: _binary,
    ast.BoolOp: _logical,
    ast.Constant: _constant,
    ast.UnaryOp: _not,
    ast.If: _if,
    ast.IfExp: _if,
    ast.While: _if,
    ast.comprehension: _comprehension,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Expr: _statement,
    ast.AugAssign: _statement,
    ast.Continue: _statement,
    ast.Break: _statement,
}


class _Walker(ast.NodeTransformer):
    """Visits all places that can be changed, in order; changes the one with a number.

    Parameters:
        wanted: the number, or None to change nothing and note all places.
    """

    def __init__(self, path: Path, wanted: int | None = None) -> None:
        self.found: list[Mutant] = []
        self._path = path
        self._wanted = wanted
        self._statement = 0
        self._inside = False
        self._count = 0

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, _UNTOUCHED):
            return node
        if isinstance(node, ast.stmt) and self._inside:
            around, self._statement = self._statement, node.lineno
            new = self._changed(node)
            self._statement = around
            return new
        return self._changed(node)

    def _changed(self, node: ast.AST) -> ast.AST:
        rule = _RULES.get(type(node))
        for what, new in rule(node) if rule else ():
            line = getattr(node, "lineno", 0) or getattr(getattr(node, "iter", None), "lineno", 0)
            self.found.append(Mutant(self._path, self._statement, line, what, self._count))
            self._count += 1
            if self._count - 1 == self._wanted:
                return ast.copy_location(new, node)
        return self._in_parts(node)

    def _in_parts(self, node: ast.AST) -> ast.AST:
        # Neither annotations nor decorators.
        if isinstance(node, ast.FunctionDef):
            node.args.defaults = [self.visit(d) for d in node.args.defaults]  # type: ignore[misc]
            self._in_body(node, inside=True)
        elif isinstance(node, ast.ClassDef):
            self._in_body(node, inside=False)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                node.value = self.visit(node.value)  # type: ignore[assignment]
        elif not _is_check(node):
            self.generic_visit(node)
        return node

    def _in_body(self, node: ast.FunctionDef | ast.ClassDef, *, inside: bool) -> None:
        around = self._inside, self._statement
        self._inside, self._statement = inside, 0
        node.body = [self.visit(s) for s in node.body]  # type: ignore[misc]
        self._inside, self._statement = around


def _is_check(node: ast.AST) -> bool:
    """Tell whether this checks what holds anyway: nobody can notice a change."""
    if isinstance(node, ast.keyword):
        return node.arg == "strict"  # of zip
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Name) and called.id in ("InternalError", "isinstance")


def mutants(path: Path) -> list[Mutant]:
    """Return all mutants of a file."""
    walker = _Walker(path)
    walker.visit(ast.parse(path.read_text()))
    return walker.found


def mutated(mutant: Mutant) -> ast.Module:
    """Return the changed module."""
    walker = _Walker(mutant.path, mutant.number)
    tree = walker.visit(ast.parse(mutant.path.read_text()))
    assert isinstance(tree, ast.Module)
    return ast.fix_missing_locations(tree)
