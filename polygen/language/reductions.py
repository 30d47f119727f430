"""Decides which calls of ``min`` and ``max`` are reductions.

``min(a, b)`` is the smaller of two values, ``min(k, a[k])`` the smallest of many.  The second is
meant if the first operand is an iname that the instruction neither lists in ``inames=`` nor
mentions outside of calls that would reduce over it: an instruction that is executed for each
``k`` cannot reduce over ``k`` as well.  Inside of a reduction over ``k``, ``k`` is a value.
All others, such as ``sum``, are always reductions.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from polygen.errors import MalformedInstruction, UnknownIname, did_you_mean
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import facts_of, keeping, widens
from polygen.language.combinations import with_combinations
from polygen.language.operations import REDUCE, operation_names
from polygen.language.parser import located
from polygen.language.statement import Statement

_NO_CLASSES: frozenset[type] = frozenset()
_DECIDED_HERE = (ex.Reduction, ex.Component, ex.Min, ex.Max)
_OPERATIONS: dict[type, str] = {ex.Min: "min", ex.Max: "max"}


def _words() -> re.Pattern[str]:
    """Return what finds the beginning of a reduction."""
    names = "|".join(map(re.escape, (*operation_names(), *REDUCE)))
    return re.compile(rf"\b(?:{names})\s*(?:<\s*\w+\s*>\s*)?\(")


def resolve_reductions(statement: Statement, inames: Collection[str]) -> Statement:
    """Return `statement` with those calls of ``min`` and ``max`` that are reductions as such.

    Parameters:
        statement: an instruction as the parser returns it.
        inames: those of the kernel.

    Raises:
        UnknownIname: if a reduction runs over something else.
        MalformedInstruction: if a reduction over an iname is inside of another one over it.
    """
    nodes = _NO_CLASSES.union(*map(walk.classes, statement.expressions))
    if nodes.isdisjoint(_DECIDED_HERE):
        return statement
    statement = with_combinations(statement, inames)
    candidates = frozenset(inames) - (statement.inames or frozenset()) - statement.more_inames
    reduced = _with_reductions(statement, candidates)
    if outside := candidates & _free(reduced):
        reduced = _with_reductions(statement, candidates - outside)
    _check(reduced, inames)
    return reduced


def _free(statement: Statement) -> frozenset[str]:
    return NO_NAMES.union(*(walk.free_variables(e) for e in statement.expressions))


def _with_reductions(statement: Statement, inames: frozenset[str]) -> Statement:
    return replace(
        statement,
        values=tuple([_reducing(value, inames) for value in statement.values]),
        predicates=tuple([_reducing(p, inames) for p in statement.predicates]),
    )


def _reducing(node: Expression, inames: frozenset[str]) -> Expression:
    """Return `node` with the calls that begin with one of `inames` as reductions.

    Inside of a reduction over an iname, that iname is a value.
    """
    if isinstance(node, ex.Reduction):
        inames -= frozenset(node.inames)
    elif isinstance(node, ex.Min | ex.Max) and len(node.children) == 2:
        over, operand = node.children
        if isinstance(over, ex.Variable) and over.name in inames:
            return ex.Reduction(
                _OPERATIONS[type(node)],
                (over.name,),
                _reducing(operand, inames - {over.name}),
            )
    return walk.rebuild(node, tuple([_reducing(p, inames) for p in walk.parts(node)]))


def _check(statement: Statement, inames: Collection[str]) -> None:
    for expression in statement.expressions:
        _check_results(expression, statement)
        for reduction in walk.reductions(expression):
            for name in reduction.inames:
                if name not in inames:
                    raise located(
                        UnknownIname,
                        f"{reduction.operation}() runs over '{name}', which no domain has",
                        statement,
                        _place(statement.text, name),
                        did_you_mean(name, inames),
                    )
            if both := sorted(walk.reduction_inames(reduction.operand) & {*reduction.inames}):
                raise located(
                    MalformedInstruction,
                    f"a reduction over '{both[0]}' is inside of another one over it",
                    statement,
                    _place(statement.text, both[0]),
                    "use another iname in one of them",
                )


def _check_results(node: Expression, statement: Statement) -> None:
    """Check that of several results of a reduction one is meant, and that there is that one."""
    reduction = node.aggregate if isinstance(node, ex.Component) else node
    if isinstance(reduction, ex.Reduction):
        width, name = facts_of(reduction.operation).width, str(reduction.operation)
        position = node.position if isinstance(node, ex.Component) else None
        if not (width == 1 if position is None else 1 < width > position):
            raise located(
                MalformedInstruction,
                f"{name}() has {'one result' if width == 1 else f'{width} results'}",
                statement,
                max(0, statement.text.find(name)),
                f"write as many assignees, or {name}(...)[0] for the first"
                if width > 1
                else f"leave out what stands behind {name}(...), or all but one assignee",
            )
        node = reduction
        while width > 1 and isinstance(node.operand, ex.Reduction):
            node = node.operand  # whose results are what is reduced
    for part in walk.parts(node):
        _check_results(part, statement)


def with_kept_types(kernel: Kernel) -> Kernel:
    """Return the kernel with reductions that have the types of their operands."""

    def kept(node: Expression) -> Expression:
        if not isinstance(node, ex.Reduction) or not widens(node.operation):
            return node
        return ex.Reduction(keeping(node.operation), node.inames, node.operand)

    def everywhere(node: Expression) -> Expression:
        return walk.rewrite(node, kept)

    return kernel.copy(
        instructions=tuple([i.map_expressions(everywhere) for i in kernel.instructions]),
        substitutions=tuple(
            [replace(r, expression=everywhere(r.expression)) for r in kernel.substitutions]
        ),
    )


def _place(text: str, name: str) -> int:
    match = re.search(rf"{_words().pattern}[^)]*?\b({re.escape(name)})\b", text)
    return match.start(1) if match else 0
