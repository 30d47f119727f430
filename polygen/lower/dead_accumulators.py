"""Accumulators that start, and that nothing reads: what would read them is never executed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.lower.declare import expressions
from polygen.lower.program import (
    Assign,
    Barrier,
    Block,
    BlocksBegun,
    If,
    Loop,
    Node,
    Shuffle,
    Wait,
)


def without_unread(
    body: Block, kernel: Kernel, insns: Collection[Instruction], accumulators: frozenset[str]
) -> Block:
    """Return what a launch executes without starts of accumulators that nothing reads.

    Parameters:
        body: what it executes.
        kernel: the kernel, without reductions.
        insns: those of its instructions that the launch is for.
        accumulators: the variables that it has for reductions.
    """
    if not accumulators or len(set(_carried_out(body))) == len(insns):
        return body  # everything is executed
    here = {insn.id for insn in insns}
    others = [i for i in kernel.assignments if i.id not in here]
    elsewhere = NO_NAMES.union(*(i.read_names.union(i.written_names) for i in others))
    gone = accumulators.difference(elsewhere, *map(walk.free_variables, _evaluated(body)))
    return _without(body, gone) if gone else body


def _carried_out(body: Block) -> Iterator[str]:
    """Yield the ids of instructions that have a statement."""
    for node in body:
        if isinstance(node, Loop | If):
            yield from _carried_out(node.body)
        elif not isinstance(node, Barrier | BlocksBegun | Shuffle | Wait):
            yield node.insn_id


def _evaluated(body: Block) -> Iterator[Expression]:
    """Yield what is evaluated: all expressions but scalars that are assigned to."""
    for node in body:
        if isinstance(node, Assign):
            for target, value in node.pairs:
                yield from (value, *ex.index_of(target))
        else:
            yield from expressions(node)
            if isinstance(node, Loop | If):
                yield from _evaluated(node.body)


def _without(body: Block, gone: frozenset[str]) -> Block:
    """Return a block without assignments to some scalars."""
    kept: list[Node] = []
    for node in body:
        if isinstance(node, Loop | If):
            inside = _without(node.body, gone)
            if inside:
                kept.append(replace(node, body=inside))
        elif not (isinstance(node, Assign) and ex.name_of(node.target) in gone):
            kept.append(node)
    return tuple(kept)
