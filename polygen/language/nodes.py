"""Callbacks of the grammar: a method for each rule.

The parser calls the method named like the rule as soon as it has read one, so no tree is built
in between.
"""

# ruff: noqa: D102  (each method is named like the rule of grammar.lark that it is for)

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, cast

from polygen.errors import did_you_mean
from polygen.ir import expression as ex
from polygen.ir.atomicity import ANY_ORDER, WORDS, Atomicity
from polygen.ir.dtype import DType
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.operation import Special
from polygen.ir.reduction import facts_of
from polygen.ir.substitution import SubstitutionRule
from polygen.language.expression_nodes import (
    QUOTIENTS,
    BoundedAxis,
    ExpressionNodes,
    Named,
    check_unbounded,
    element_type,
    is_tuple,
    negated,
)
from polygen.language.operations import find_operation
from polygen.language.option_nodes import Option
from polygen.language.refused import Refused
from polygen.language.slices import check_extent
from polygen.language.statement import Library, Statement, Verbatim

# A token is a string with a position; lark is imported only where the parser is built.
_Token: TypeAlias = Any
_Children: TypeAlias = list[Any]

MARKS = ("lbarrier", "gbarrier", "nop")


class _Declared(NamedTuple):
    """``<dtype> t`` on the left side of an assignment."""

    target: ex.Variable | ex.Subscript
    dtype: DType | None


class _Word(NamedTuple):
    """``trans_a="T"`` in a call of a library."""

    name: _Token
    text: str


class Nodes(ExpressionNodes):
    """Builds expressions and statements: one method for each rule of the grammar."""

    def expressions(self, children: _Children) -> tuple[Expression, ...]:
        return tuple(children)

    def rule(self, children: _Children) -> SubstitutionRule:
        name, *arguments, expression = children
        return SubstitutionRule(name.value, tuple(a.value for a in arguments), (), expression)

    def prefix(self, children: _Children) -> dict[str, Any]:
        check_unbounded(children)
        return {"inames": frozenset(t.value for t in children)}

    def declared(self, children: _Children) -> _Declared:
        *dtype, target = children
        return _Declared(target, element_type(dtype[0]) if dtype else None)

    def option_atomic(self, children: _Children) -> Option:
        said: dict[str, Any] = {}
        for word in children:
            known = WORDS.get(word.value)
            operation = None if known else find_operation(word.value)
            if isinstance(operation, Special):
                known = {"operation": operation, "init": False}
            if known is None or known.keys() & said.keys():
                why = "says nothing of an atomic operation" if known is None else "is said twice"
                remedy = did_you_mean(word, WORDS) if known is None else "leave one out"
                raise Refused(f"'{word}' {why}", word.start_pos, remedy)
            said |= known
        position = children[0].start_pos if children else 0
        return Option("atomic", position, {"atomicity": Atomicity(**said)})

    def mark(self, children: _Children) -> Statement:
        nodes, said = _said(children)
        (name,) = nodes
        if name.value not in MARKS:
            raise Refused(
                f"'{name}' is nothing that stands alone", name.start_pos, did_you_mean(name, MARKS)
            )
        if "atomicity" in said:
            raise Refused(
                f"'... {name}' is never atomic", name.start_pos, "leave out the option atomic"
            )
        _check_copies(said, name)
        if name.value != "nop":  # barriers that are written are for all memory
            said.pop("mem_kind", None)
        _check_no_barrier(said, name)
        return Statement(mark=name.value, **said)

    def sub_array(self, children: _Children) -> Expression:
        *swept, subscript = children
        extents = {c.name.value: c.extent for c in swept if isinstance(c, BoundedAxis)}
        names = [c.name if isinstance(c, BoundedAxis) else c for c in swept]
        for extent in extents.values():
            check_extent(extent, names[0])
        if isinstance(subscript, ex.SubArrayRef):
            raise Refused(
                "part of an array has names for its axes, and slices",
                names[0].start_pos,
                "write one of them for all axes: y[i, :], or [j]: y[i, j]",
            )
        return ex.SubArrayRef(tuple(n.value for n in names), subscript, tuple(extents.items()))

    def known(self, children: _Children) -> Named:
        name, *value = children
        return Named(name, value[0] if value else ex.Variable(name.value))

    def reads(self, children: _Children) -> dict[str, Any]:
        return {"reads": frozenset(token.value for token in children)}

    def writes(self, children: _Children) -> dict[str, Any]:
        return {"assignees": tuple(children)}

    def verbatim(self, children: _Children) -> Statement:
        nodes, said = _said(children)
        *known, text = nodes
        if said.get("atomicity", ANY_ORDER) != ANY_ORDER:
            raise Refused(
                "verbatim C is never atomic",
                text.start_pos,
                "leave out the option; atomic=any_order claims that instances of the text may "
                "come in any order",
            )
        _check_copies(said, text)
        _check_no_barrier(said, text)
        names = tuple(n.name.value for n in known)
        if len(set(names)) < len(names):
            raise Refused(
                "a name stands for two things in the text",
                known[-1].name.start_pos,
                "leave one out",
            )
        reads = said.pop("reads", NO_NAMES)
        values = tuple(n.value for n in known)
        return Statement(values=values, verbatim=Verbatim(names, _unquoted(text), reads), **said)

    def call_alone(self, children: _Children) -> Statement:
        nodes, said = _said(children)
        name, *given = nodes
        call = self.call([name, *given])
        if not isinstance(call, ex.Call):
            raise Refused(
                f"{name}() computes something, and nothing is assigned",
                name.start_pos,
                f"write where it goes: a[i] = {name}(...)",
            )
        if "atomicity" in said:
            raise Refused("a call of a kernel is never atomic", name.start_pos, "leave it out")
        _check_copies(said, name)
        _check_no_barrier(said, name)
        return Statement(values=(call,), **said)

    def word(self, children: _Children) -> _Word:
        return _Word(children[0], _unquoted(children[1]))

    def library(self, children: _Children) -> Statement:
        nodes, said = _said(children)
        at = next(n for n, node in enumerate(nodes) if getattr(node, "type", None) == "ASSIGN")
        operator, routine, *given = nodes[at:]
        if operator != "=":
            raise Refused(
                f"'{operator}' updates what it assigns to, and a routine of a library assigns",
                operator.start_pos,
                "write '='; gemm, gemv and syrk add to what is there with beta=1",
            )
        if "atomicity" in said:
            raise Refused("a call of a library is never atomic", routine.start_pos, "leave it out")
        _check_copies(said, routine)
        _check_no_barrier(said, routine)
        named = [g for g in given if isinstance(g, Named | _Word)]
        if named != given[len(given) - len(named) :]:
            raise Refused(
                "what has a name comes after the arrays",
                named[0].name.start_pos,
                'write library("gemm", a, b, alpha=2)',
            )
        if twice := [n for p, n in enumerate(named) if n.name in [m.name for m in named[:p]]]:
            raise Refused(f"'{twice[0].name}' is said twice", twice[0].name.start_pos, "leave one")
        declared = [node for node in nodes[:at] if isinstance(node, _Declared)]
        numbers = [n for n in named if isinstance(n, Named)]
        operands = given[: len(given) - len(named)]
        return Statement(
            tuple(n.target if isinstance(n, _Declared) else n for n in nodes[:at]),
            (*operands, *(n.value for n in numbers)),
            declared=tuple((ex.name_of(d.target), d.dtype) for d in declared),
            library=Library(
                _unquoted(routine),
                tuple(n.name.value for n in numbers),
                tuple((n.name.value, n.text) for n in named if isinstance(n, _Word)),
            ),
            **said,
        )

    def instruction(self, children: _Children) -> Statement:
        nodes, said = _said(children)
        at = next(n for n, node in enumerate(nodes) if getattr(node, "type", None) == "ASSIGN")
        operator = nodes[at]
        declared = [node for node in nodes[:at] if isinstance(node, _Declared)]
        assignees = tuple(n.target if isinstance(n, _Declared) else n for n in nodes[:at])
        values = _values(tuple(nodes[at + 1 :]), assignees, operator)
        _check_no_barrier(said, operator)
        # What a rule stands for is looked at later.
        returns_old = assignees[1:] == values[:1] or isinstance(values[0], ex.Call)
        if "atomicity" in said and assignees[1:] and not returns_old:
            raise Refused(
                "an atomic instruction has one assignee, or two of which the first gets the old "
                "value of the second",
                operator.start_pos,
                "write an instruction for each of them; or old, a[i] = a[i], ..., with the same "
                "element twice",
            )
        if assignees[1:]:
            _check_copies(said, operator)
        if operator != "=":
            if declared:
                raise Refused(
                    f"'{operator}' reads what is declared here, before it has a value",
                    operator.start_pos,
                    "write '=', or leave out <> where an earlier instruction declares it",
                )
            (assignee,), (value,) = assignees, values
            values = (_COMBINED[operator[:-1]](assignee, value),)
        declares = tuple((ex.name_of(d.target), d.dtype) for d in declared)
        return Statement(assignees, values, declared=declares, **said)


def _values(
    values: tuple[Expression, ...], assignees: tuple[Expression, ...], operator: _Token
) -> tuple[Expression, ...]:
    """Return a value for each assignee: the results of one call, if that is what stands there."""
    position: int = operator.start_pos
    if operator == "=" and len(values) == 1 and is_tuple(values[0]):
        values = values[0].parameters
    if operator != "=" and len(assignees) + len(values) > 2:
        raise Refused(
            f"'{operator}' takes one assignee and one value",
            position,
            "write an instruction for each of them",
        )
    several = isinstance(values[0], ex.Call) or (
        isinstance(values[0], ex.Reduction) and facts_of(values[0].operation).width > 1
    )
    if len(values) == 1 and len(assignees) > 1 and several:
        return tuple([ex.Component(values[0], n) for n in range(len(assignees))])
    if len(values) != len(assignees):
        counted = [
            f"{len(nodes)} {what}{'' if len(nodes) == 1 else 's'}"
            for nodes, what in ((assignees, "assignee"), (values, "value"))
        ]
        raise Refused(
            f"there {'is' if len(assignees) == 1 else 'are'} {' and '.join(counted)}",
            position,
            "give each assignee a value, or all of them the results of one function",
        )
    return values


def _unquoted(token: _Token) -> str:
    """Return what a text in quotes says; what follows a backslash is as in Python and JSON."""
    try:
        text: str = json.loads(token)
    except ValueError:
        raise Refused(
            "this is no text",
            token.start_pos,
            'in quotes, write a new line as \\n, a quote as \\" and a backslash as \\\\',
        ) from None
    return text


def _check_no_barrier(said: dict[str, Any], token: _Token) -> None:
    if "mem_kind" in said:
        raise Refused("mem_kind= is for barriers", token.start_pos, "leave the option out")


def _check_copies(said: dict[str, Any], token: _Token) -> None:
    if "asynchronous" in said:
        raise Refused(
            "asynchronous is for a copy: one assignee, and one value",
            token.start_pos,
            "leave the option out",
        )


def _said(children: _Children) -> tuple[list[Any], dict[str, Any]]:
    """Return the parts of an instruction, and what its prefix and options say."""
    said: dict[str, Any] = {}
    nodes: list[Any] = []
    for child in children:
        if not isinstance(child, dict):
            nodes.append(child)
        elif "inames" in child and "inames" in said:
            raise Refused("the inames are given twice", 0, "leave out [...] or inames=")
        else:
            said.update(cast("dict[str, Any]", child))
    return nodes, said


# The value of ``left += right`` and its like.
_COMBINED: dict[str, Callable[[Any, Any], Expression]] = {
    "+": ex.sum_of,
    "-": lambda left, right: ex.sum_of(left, negated(right)),
    "*": ex.product_of,
    **QUOTIENTS,
    "<<": ex.LeftShift,
    ">>": ex.RightShift,
    "&": lambda left, right: ex.BitwiseAnd((left, right)),
    "|": lambda left, right: ex.BitwiseOr((left, right)),
    "^": lambda left, right: ex.BitwiseXor((left, right)),
}
