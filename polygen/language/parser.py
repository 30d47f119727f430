"""Text to expressions and statements."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, TypeAlias, cast

import lark

from polygen.errors import MalformedExpression, MalformedInstruction, UserError, caret
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.show_expression import show_expression
from polygen.ir.substitution import SubstitutionRule, invocations
from polygen.language.explain import CLOSING, expectation, found_at, hint, line_at
from polygen.language.grammars import parser
from polygen.language.option_nodes import Block
from polygen.language.refused import Refused
from polygen.language.statement import Statement
from polygen.source import caller_location


def parse_block(line: str) -> Block:
    """Return what a line says that opens, continues or closes a block.

    Raises:
        MalformedInstruction: if it is not in the language.
    """
    try:
        return cast("Block", _parse(line, "block", MalformedInstruction))
    except MalformedInstruction as error:
        words = line.split()
        if words[:2] == ["else", "if"]:
            error.remedy = "write 'elif'"
        elif line.rstrip().endswith(":"):
            error.remedy = "blocks are opened without a colon, and closed by 'end'"
        raise


def parse_statement(text: str) -> Statement:
    """Return what one line of the language says.

    Raises:
        MalformedInstruction: if it is not in the language.
    """
    statement: Statement = _parse(text, "instruction", MalformedInstruction)
    return replace(statement, line=text.strip())


def is_rule(line: str) -> bool:
    """Tell whether a line defines a substitution rule."""
    return _RULE.match(line) is not None


_RULE = re.compile(r"(\s*\w+|[^={}]*\))\s*:=")


def parse_rule(text: str) -> SubstitutionRule:
    """Return the rule that one line of the language defines.

    Which names in it are inames, and what it invokes, is left to `polygen.language.rules`.

    Raises:
        MalformedInstruction: if it is not in the language.
    """
    rule: SubstitutionRule = _parse(text, "rule", MalformedInstruction)
    return rule


def parse_expression(text: str) -> Expression:
    """Return the expression that `text` stands for.

    An iname as the first operand of ``min`` or ``max`` is not recognised as one: this is left
    to `polygen.language.reductions`.

    Raises:
        MalformedExpression: if it is no expression.

    >>> parse_expression("a[i] - 2*b")
    Sum((Subscript(Variable('a'), Variable('i')), Product((-1, Product((2, Variable('b')))))))
    """
    result: Expression = _parse(text, "test", MalformedExpression)
    _check_no_rule(result, text)
    return result


def parse_invocation(text: str) -> Expression:
    """Return the expression that `text` stands for, which may say ``f$tag(x)`` or ``f(x, i=0)``.

    Raises:
        MalformedExpression: if it is no expression.
    """
    result: Expression = _parse(text, "test", MalformedExpression)
    return result


def _check_no_rule(node: Expression, text: str) -> None:
    for use in invocations(node):
        raise located(
            MalformedExpression,
            f"'{show_expression(use)}' invokes a substitution rule, which cannot be done here",
            text,
            max(0, text.find(use.rule)),
            "write what it stands for",
        )


def parse_expressions(text: str) -> tuple[Expression, ...]:
    """Return the expressions that `text` lists, separated by commas.

    Raises:
        MalformedExpression: if one is no expression.
    """
    result: tuple[Expression, ...] = _parse(text, "expressions", MalformedExpression)
    for node in result:
        _check_no_rule(node, text)
    return result


_MOST_NESTED = 100  # Python allows some 1000 calls inside of each other; what walks, needs several


def _parse(text: str, start: str, kind: type[UserError]) -> Any:
    result = parse_with("instructions", text, start, kind)
    if start in _PLAIN:
        _check_plain(_expressions(result), text, kind)
    if len(text) > _MOST_NESTED:
        for node in _expressions(result):
            if walk.depth(node, _MOST_NESTED) > _MOST_NESTED:
                raise located(
                    kind,
                    f"an expression is nested more than {_MOST_NESTED} deep",
                    text,
                    len(text) - len(text.lstrip()),
                    "compute parts of it into temporaries first, or write sums and products "
                    "without parentheses",
                )
    return result


_PLAIN = frozenset(("rule", "test", "expressions"))


def _check_plain(nodes: tuple[Expression, ...], text: str, kind: type[UserError]) -> None:
    """Refuse slices, and numbers of vectors, where an expression stands alone."""
    if ":" not in text and "." not in text:
        return
    for part in (part for node in nodes for part in walk.subexpressions(node)):
        if isinstance(part, ex.SubArrayRef):
            what = f"part of '{ex.name_of(part)}' stands here, which only a call of a kernel takes"
            remedy = "write an element: a[i]"
            raise located(kind, what, text, max(0, text.rfind(":")), remedy)
        if isinstance(part, ex.Component) and isinstance(part.aggregate, ex.Variable):
            what = f"'{part.aggregate.name}' has no parts here"
            remedy = "vectors are known in instructions alone"
            raise located(kind, what, text, max(0, text.find(part.aggregate.name)), remedy)


def _expressions(result: Any) -> tuple[Expression, ...]:
    """Return the expressions in what was parsed."""
    if isinstance(result, Statement):
        return result.expressions
    if isinstance(result, Block):
        return result.said.predicates
    if isinstance(result, SubstitutionRule):
        return (result.expression,)
    return cast("tuple[Expression, ...]", result) if isinstance(result, tuple) else (result,)


_Remedy: TypeAlias = Callable[[str, int], str | None]


def parse_with(
    grammar: str, text: str, start: str, kind: type[UserError], remedy: _Remedy = hint
) -> Any:
    """Return what a grammar makes of `text`, or raise an error of class `kind`.

    Parameters:
        grammar: the name of one, for `parser`.
        text: what is read.
        start: the rule that it is.
        kind: the class.
        remedy: takes the text and the position of an error, and returns what may help.
    """
    try:
        return parser(grammar).parse(text, start=start)
    except Refused as error:
        raise located(kind, error.what, text, error.position, error.remedy) from None
    except lark.UnexpectedInput as error:
        raise explained(kind, error, text, remedy) from None


def explained(
    kind: type[UserError],
    error: Any,
    text: str,
    remedy: _Remedy,
) -> UserError:
    """Return the error of class `kind` for a text that a grammar does not allow.

    Parameters:
        kind: the class.
        error: lark's exception.
        text: what was read.
        remedy: takes the text and the position, and returns what may help.
    """
    if isinstance(error, lark.UnexpectedToken):
        allowed: Collection[str] = error.accepts or error.expected
    else:
        # Not exact: what may follow in any context.  The closing brackets among it would mislead.
        allowed = set(getattr(error, "allowed", None) or ()) - CLOSING
    end = len(text.rstrip())
    position = min(end, end if error.pos_in_stream is None else error.pos_in_stream)
    if getattr(getattr(error, "token", None), "type", None) == "$END":
        position = end
    found = found_at(text, position)
    what = f"found {found} where {expectation(allowed)} was expected"
    return located(kind, what, text, position, remedy(text, position))


def located(
    kind: type[UserError], what: str, said: str | Statement, position: int, remedy: str | None
) -> UserError:
    """Return an error that shows the line of what was said with a caret at `position`."""
    text, where = (said, None) if isinstance(said, str) else (said.text, said.where)
    line, column = line_at(text, position)
    stripped = line.lstrip()
    column -= len(line) - len(stripped)
    return kind(
        what,
        where=where or caller_location(),
        excerpt=caret(stripped.rstrip(), max(0, column)),
        remedy=remedy,
    )


_TEXT = re.compile(r'"(?:\\.|[^"\\])*"')  # of verbatim C


def split_lines(text: str) -> list[tuple[int, str]]:
    """Return the instructions in `text`: one a line, unless a bracket is open at its end.

    Each with the number of its first line, counted from 1.
    """
    found: list[tuple[int, str]] = []
    pending: list[str] = []
    depth = start = 0
    for number, line in enumerate(text.splitlines(), 1):
        code = _TEXT.sub('""', line).partition("#")[0]
        if not pending and not code.strip():
            continue
        if not pending:
            start = number
        pending.append(line)
        depth += sum(code.count(c) for c in "([{") - sum(code.count(c) for c in ")]}")
        if depth <= 0:
            found.append((start, "\n".join(pending)))
            pending, depth = [], 0
    return [*found, (start, "\n".join(pending))] if pending else found
