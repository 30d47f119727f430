"""Prints statements: a rule for each kind."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping

from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, GlobalArg
from polygen.ir.empty import NO_NAMES
from polygen.ir.options import Options
from polygen.lower.program import (
    Assign,
    Barrier,
    BlocksBegun,
    Call,
    Declare,
    Loop,
    Node,
    Shuffle,
    TensorProduct,
    Verbatim,
    Wait,
)
from polygen.targets.languages.target import Target
from polygen.targets.statements.atomic_fetches import fetch_lines
from polygen.targets.statements.atomic_updates import atomic_lines
from polygen.targets.statements.expression_printer import ExpressionPrinter
from polygen.targets.statements.loops import print_loop
from polygen.targets.statements.simultaneous_assignments import one_by_one
from polygen.targets.statements.statement_lines import StatementPrinter, Write
from polygen.targets.statements.tensor_cores import print_tensor_product


def _declare(p: StatementPrinter, node: Declare, depth: int) -> None:
    if p.expressions.is_alias(node):
        return
    p.spaces[node.name] = node.address_space
    p.line(depth, p.declaration(node, initialized=True))


def _shuffle(p: StatementPrinter, node: Shuffle, depth: int) -> None:
    value = p.expressions.shuffled(node.element, node.dtype, node.distance)
    p.line(depth, f"{p.expressions.variable_type(node.dtype)} const {node.name} = {value};")


def _assign(p: StatementPrinter, node: Assign, depth: int) -> None:
    if p.is_atomic(node):
        space = p.spaces.get(ex.name_of(node.updated), AddressSpace.GLOBAL)
        lines = fetch_lines if node.others else atomic_lines
        for line in lines(node, p.target, p.expressions, space):
            p.line(depth, line)
        return
    if p.is_asynchronous(node):
        p.copy(node, depth)
        return
    kept, pairs = one_by_one(node.pairs, p.expressions)
    for line in kept:  # their names are new ones
        p.line(depth, line)
    for target, value in pairs:
        p.line(depth, f"{_assignment(p, target, value)};")


def _assignment(
    p: StatementPrinter, target: ex.Variable | ex.Subscript, value: ex.Expression
) -> str:
    """Return an assignment: to all copies, of what each block of a group has one of."""
    name = ex.name_of(target)
    if name not in p.copies:
        return p.expressions.assignment(target, value)
    text = p.expressions.value(value, p.expressions.declared_type(name))
    return p.target.store_in_blocks.format(p.copies[name], p.expressions.address(target), text)


def _verbatim(p: StatementPrinter, node: Verbatim, depth: int) -> None:
    p.expressions.uses.names.update((*node.reads, *node.writes))
    p.line(depth, "{")
    counter, aliases = p.expressions.counter_type, p.expressions.aliases
    read = NO_NAMES.union(*(walk.free_variables(value) for _, value in node.names))
    mentioned = {aliases.get(name, name) for name in read}
    # A name that stands for itself is known.
    own = [n for n, value in node.names if value == ex.Variable(n) and n not in aliases]
    named = [(name, value) for name, value in node.names if name not in own]
    later: list[tuple[str, str]] = []
    for name, value in named:
        given = name
        if name in mentioned:  # as something else
            given = p.expressions.new_name(f"{name}_given", p.expressions.index_dtype)
            later.append((name, given))
        p.line(depth + 1, f"{counter} const {given} = {p.expressions.index(value).text};")
    p.expressions.uses.names.update(own)
    if later:
        p.line(depth + 1, "{")
        for name, given in later:
            p.line(depth + 2, f"{counter} const {name} = {given};")
    depth += bool(later)
    for line in textwrap.dedent(node.code).strip("\n").split("\n"):
        p.line(depth + 1, line)
    p.line(depth, "}")
    if later:
        p.line(depth - 1, "}")


def _call(p: StatementPrinter, node: Call, depth: int) -> None:
    given = [
        p.expressions.pointer(value)
        if parameter.dtype is None or isinstance(parameter, GlobalArg)
        else p.expressions.index(value).text
        if parameter.dtype == p.expressions.index_dtype
        else p.expressions.value(value, parameter.dtype)
        for parameter, value in zip(node.parameters, node.arguments, strict=True)
    ]
    p.line(depth, f"{node.function}({', '.join(given)});")


def _barrier(p: StatementPrinter, node: Barrier, depth: int) -> None:
    if p.target.barrier is None:
        raise InternalError(f"a barrier in a program for target '{p.target.name}'")
    p.line(
        depth, p.target.block_barrier if node.in_blocks else p.target.barrier(node.address_spaces)
    )
    for name in node.read_again:
        p.expressions.uses.types.add("read_again")
        p.line(depth, p.target.read_again.format(name))


def _wait(p: StatementPrinter, _node: Wait, depth: int) -> None:
    if p.target.copies is not None:
        p.expressions.uses.types.add(p.target.copies.needs)
        p.line(depth, f"{p.target.copies.wait};")


def _blocks_begun(p: StatementPrinter, _node: BlocksBegun, depth: int) -> None:
    p.line(depth, p.target.blocks_begun)


RULES: Mapping[type[Node], Write] = {
    Declare: _declare,
    Shuffle: _shuffle,
    Assign: _assign,
    Call: _call,
    Verbatim: _verbatim,
    Loop: print_loop,
    Barrier: _barrier,
    Wait: _wait,
    TensorProduct: print_tensor_product,
    BlocksBegun: _blocks_begun,
}


def statement_printer(
    target: Target,
    expressions: ExpressionPrinter,
    shared: Iterable[Declare] = (),
    options: Options | None = None,
) -> StatementPrinter:
    """Return what prints statements; parameters are those of `StatementPrinter`."""
    return StatementPrinter(RULES, target, expressions, shared, options or Options())
