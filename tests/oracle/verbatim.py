"""What verbatim C means, where it consists of assignments that polygen's language has, too."""

from __future__ import annotations

from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.language.parser import parse_statement


def assignments(code: str) -> list[tuple[ex.Variable | ex.Subscript, Expression]]:
    """Return what a text assigns, in order: ``out[2*i] = t; t = 0;``."""
    found: list[tuple[ex.Variable | ex.Subscript, Expression]] = []
    for line in filter(None, map(str.strip, code.split(";"))):
        statement = parse_statement(line)
        for assignee, value in zip(statement.assignees, statement.values, strict=True):
            assert isinstance(assignee, ex.Variable | ex.Subscript)
            found.append((assignee, value))
    return found
