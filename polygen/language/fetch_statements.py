"""``old = fetch_add(a[i], x)``: an update that returns the old value, from text or trees.

The parser reads a call.  Where no rule has its name, the two assignments that it stands for take
its place: ``old, a[i] = a[i], a[i] + x``, atomically.
"""

from __future__ import annotations

from dataclasses import replace

from polygen.errors import MalformedInstruction, UserError, WrongArity
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.atomicity import Atomicity
from polygen.ir.expression import Expression
from polygen.ir.fetches import FETCHES, fetched
from polygen.language.parser import located
from polygen.language.statement import Statement


def with_fetch(statement: Statement) -> Statement:
    """Return a statement with what it stands for, if it calls a fetch.

    Raises:
        WrongArity: if that is given too much, or too little.
        MalformedInstruction: if it stands inside of something else, or updates what is no element.
    """
    if statement.call or statement.verbatim is not None:
        return statement
    call = statement.values[0] if len(statement.values) == 1 else None
    name = _name(call)
    inside = [*statement.assignees, *statement.values, *statement.predicates]
    if isinstance(call, ex.Call) and name and len(statement.assignees) == 1:
        inside[1:2] = call.parameters
        _check_alone(statement, inside)
        return _fetching(statement, name, call.parameters)
    _check_alone(statement, inside)
    return statement


def _name(node: Expression | None) -> str:
    """Return the name of the fetch that is called; else nothing."""
    if not isinstance(node, ex.Call):
        return ""
    name = ex.name_of(node.function)
    return name if name in FETCHES else ""


def _check_alone(statement: Statement, nodes: list[Expression]) -> None:
    for node in nodes:
        for part in walk.subexpressions(node) if ex.Call in walk.classes(node) else ():
            if name := _name(part):
                raise _refused(
                    statement,
                    MalformedInstruction,
                    f"'{name}' stands inside of something else; it is all of an instruction",
                    name,
                    f"assign what it returns first: <> old = {_form(name)}",
                )


def _fetching(statement: Statement, name: str, parameters: tuple[Expression, ...]) -> Statement:
    takes = FETCHES[name].takes
    if len(parameters) != 1 + len(takes):
        raise _refused(
            statement,
            WrongArity,
            f"'{name}' is given {len(parameters)} arguments; it takes {1 + len(takes)}",
            name,
            f"write {_form(name)}",
        )
    target, *operands = parameters
    if not isinstance(target, ex.Variable | ex.Subscript):
        raise _refused(
            statement,
            MalformedInstruction,
            f"'{name}' updates its first argument, which is no element of an array",
            name,
            f"write {_form(name)}",
        )
    if statement.asynchronous:
        raise _refused(
            statement,
            MalformedInstruction,
            f"'{name}' is atomic, and no asynchronous copy",
            "asynchronous",
            "leave the option out",
        )
    return replace(
        statement,
        assignees=(*statement.assignees, target),
        values=(target, fetched(name, target, operands)),
        atomicity=statement.atomicity or Atomicity(),
    )


def _form(name: str) -> str:
    return f"{name}(a[i], {', '.join(FETCHES[name].takes)})"


def _refused(
    statement: Statement, kind: type[UserError], what: str, word: str, remedy: str
) -> UserError:
    return located(kind, what, statement, max(0, statement.text.find(word)), remedy)
