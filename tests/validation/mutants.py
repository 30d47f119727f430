"""Loop programs with one mistake each, as lowering might make it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from polygen.analysis.typing.kinds import is_index
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.expression import Expression
from polygen.ir.tags import LocalTag
from polygen.lower.program import (
    Assign,
    Barrier,
    Block,
    Declare,
    HardwareAxis,
    HostLoop,
    HostNode,
    If,
    Launch,
    Loop,
    LoopProgram,
    Node,
    Shuffle,
    Wait,
)
from tests.oracle.cases import launches


@dataclass(frozen=True)
class Mutant:
    """A loop program, and what is wrong with it."""

    program: LoopProgram
    what: str


_Nodes: TypeAlias = tuple[Node, ...]
_Rule: TypeAlias = Callable[[Node, "_Place"], Iterator[_Nodes]]


@dataclass(frozen=True)
class _Place:
    """What rules need to know.

    Attributes:
        choices: makes each choice.
        items: inames that tell work items of a group apart.
    """

    choices: random.Random
    items: tuple[str, ...]


def mutants(program: LoopProgram, choices: random.Random) -> Iterator[Mutant]:
    """Yield a program with a mistake of each kind, where there is a place for it, in turn."""
    items = tuple(
        iname
        for launch in launches(program)
        for axis in launch.axes
        if isinstance(axis.tag, LocalTag)
        for iname, _ in axis.inames
    )
    place = _Place(choices, items)
    for name, rule in _BLOCK_RULES:
        found = [host for host in _hosts(program.host, rule, place) if host != program.host]
        if found:
            yield Mutant(replace(program, host=choices.choice(found)), name)
    for name, change in _PROGRAM_RULES:
        yield from (Mutant(other, name) for other in change(program, choices))


# --- everywhere in a program


def _hosts(
    nodes: tuple[HostNode, ...], rule: _Rule, place: _Place
) -> Iterator[tuple[HostNode, ...]]:
    for at, node in enumerate(nodes):
        if isinstance(node, HostLoop):
            for body in _hosts(node.body, rule, place):
                yield (*nodes[:at], replace(node, body=body), *nodes[at + 1 :])
        else:
            for block in _blocks(node.body, rule, place):
                yield (*nodes[:at], replace(node, body=block), *nodes[at + 1 :])


def _blocks(block: Block, rule: _Rule, place: _Place) -> Iterator[Block]:
    for at, node in enumerate(block):
        for new in rule(node, place):
            yield (*block[:at], *new, *block[at + 1 :])
        if isinstance(node, Loop | If):
            for body in _blocks(node.body, rule, place):
                yield (*block[:at], replace(node, body=body), *block[at + 1 :])
    if rule is _swapped_with_next:
        for at in range(len(block) - 1):
            pair = block[at + 1], block[at]
            if not any(isinstance(node, Declare) for node in pair):
                yield (*block[:at], *pair, *block[at + 2 :])


# --- the mistakes: what one node becomes


def _no_barrier(node: Node, _: _Place) -> Iterator[_Nodes]:
    if isinstance(node, Barrier):
        yield ()


def _no_wait(node: Node, _: _Place) -> Iterator[_Nodes]:
    if isinstance(node, Wait):
        yield ()


def _also_asynchronous(node: Node, _: _Place) -> Iterator[_Nodes]:
    if isinstance(node, Assign) and isinstance(node.value, ex.Subscript):
        yield (replace(node, asynchronous=not node.asynchronous),)


def _wrong_shuffle(node: Node, _: _Place) -> Iterator[_Nodes]:
    if not isinstance(node, Shuffle) or not isinstance(node.element, ex.Subscript):
        return
    further = ex.Subscript(node.element.aggregate, ex.sum_of(node.element.index, 1))
    yield (replace(node, distance=node.distance + 1),)
    yield (replace(node, distance=-node.distance),)
    yield (replace(node, element=further),)
    yield (replace(node, element=further, distance=node.distance + 1),)


def _divergent_shuffle(node: Node, place: _Place) -> Iterator[_Nodes]:
    """Let only some work items reach a shuffle."""
    if isinstance(node, Shuffle):
        for iname in place.items:
            yield (If(ex.Comparison(ex.Variable(iname), ">", 0), (node,)),)


def _other_memory(node: Node, _: _Place) -> Iterator[_Nodes]:
    """Put an array into registers, or out of them."""
    if isinstance(node, Declare) and node.address_space is AddressSpace.LOCAL:
        yield (replace(node, in_registers=not node.in_registers),)


def _narrow_barrier(node: Node, _: _Place) -> Iterator[_Nodes]:
    if isinstance(node, Barrier):
        for space in node.address_spaces:
            yield (Barrier(node.address_spaces - {space}),)


def _no_guard(node: Node, _: _Place) -> Iterator[_Nodes]:
    if isinstance(node, If):
        yield node.body


def _weak_guard(node: Node, _: _Place) -> Iterator[_Nodes]:
    """Leave out a part of a condition, or take in its boundary."""
    if not isinstance(node, If):
        return
    condition = node.condition
    if isinstance(condition, ex.LogicalAnd):
        for at in range(len(condition.children)):
            rest = (*condition.children[:at], *condition.children[at + 1 :])
            kept = rest[0] if len(rest) == 1 else ex.LogicalAnd(rest)
            yield (replace(node, condition=kept),)
    elif isinstance(condition, ex.Comparison):
        operator = {"<": "<=", "<=": "<", ">=": ">", "==": ">=", ">": ">="}
        if str(condition.operator) in operator:
            other = ex.Comparison(
                condition.left, operator[str(condition.operator)], condition.right
            )
            yield (replace(node, condition=other),)


def _guarded(node: Node, _: _Place) -> Iterator[_Nodes]:
    """Put a condition around something that has none."""
    if isinstance(node, Loop) and isinstance(node.lower, int):
        first = ex.Comparison(ex.Variable(node.iname), ">", node.lower)
        yield (replace(node, body=(If(first, node.body),)),)


def _bounds(node: Node, _: _Place) -> Iterator[_Nodes]:
    if isinstance(node, Loop):
        yield (replace(node, upper=ex.sum_of(node.upper, 1)),)
        yield (replace(node, upper=ex.sum_of(node.upper, -1)),)
        yield (replace(node, lower=ex.sum_of(node.lower, -1)),)
        yield (replace(node, lower=ex.sum_of(node.lower, 1)),)
        yield (replace(node, step=2 * node.step),)


def _no_statement(node: Node, _: _Place) -> Iterator[_Nodes]:
    if isinstance(node, Assign | Shuffle):
        yield ()


def _twice(node: Node, _: _Place) -> Iterator[_Nodes]:
    if isinstance(node, Assign | Loop | If):
        yield node, node


def _swapped_with_next(node: Node, _: _Place) -> Iterator[_Nodes]:
    yield from ()  # see _blocks


def _wrong_subscript(node: Node, place: _Place) -> Iterator[_Nodes]:
    """Change a number in a subscript, or leave a term out."""
    if not isinstance(node, Assign):
        return
    for target in _changed(node.target, place.choices, inside=False):
        if isinstance(target, ex.Variable | ex.Subscript):
            yield (replace(node, target=target),)
    for value in _changed(node.value, place.choices, inside=False):
        yield (replace(node, value=value),)


def _changed(node: Expression, choices: random.Random, *, inside: bool) -> Iterator[Expression]:
    if isinstance(node, int) and inside:
        yield node + choices.choice((-1, 1))
    parts = walk.parts(node)
    for at, part in enumerate(parts):
        deeper = inside or (isinstance(node, ex.Subscript) and at > 0)
        for new in _changed(part, choices, inside=deeper):
            yield walk.rebuild(node, (*parts[:at], new, *parts[at + 1 :]))
    if inside and isinstance(node, ex.Sum) and len(node.children) > 1:
        at = choices.randrange(len(node.children))
        rest = (*node.children[:at], *node.children[at + 1 :])
        yield rest[0] if len(rest) == 1 else ex.sum_of(*rest)


def _wrong_value(node: Node, _: _Place) -> Iterator[_Nodes]:
    if isinstance(node, Assign):
        yield (replace(node, value=ex.sum_of(node.value, 1)),)
        for part in walk.parts(node.value):
            if not isinstance(node.value, ex.Subscript):
                yield (replace(node, value=part),)


def _divergent(node: Node, place: _Place) -> Iterator[_Nodes]:
    """Let only some work items reach a barrier."""
    if isinstance(node, Barrier):
        for iname in place.items:
            yield (If(ex.Comparison(ex.Variable(iname), ">", 0), (node,)),)


def _interchanged(node: Node, _: _Place) -> Iterator[_Nodes]:
    if isinstance(node, Loop) and len(node.body) == 1 and isinstance(node.body[0], Loop):
        inner = node.body[0]
        names = walk.free_variables(inner.lower) | walk.free_variables(inner.upper)
        if node.iname not in names:
            yield (replace(inner, body=(replace(node, body=inner.body),)),)


def _out_of_the_loop(node: Node, _: _Place) -> Iterator[_Nodes]:
    if isinstance(node, Loop | If) and len(node.body) > 1:
        yield replace(node, body=node.body[:-1]), node.body[-1]
        yield node.body[0], replace(node, body=node.body[1:])


def _on_threads(node: Node, _: _Place) -> Iterator[_Nodes]:
    if isinstance(node, Loop) and not node.parallel:
        yield (replace(node, parallel=1),)


def _small(node: Node, _: _Place) -> Iterator[_Nodes]:
    if isinstance(node, Declare) and node.extent is not None:
        yield (replace(node, extent=node.extent - 1),)


def _no_start(node: Node, _: _Place) -> Iterator[_Nodes]:
    if isinstance(node, Declare) and node.initial is not None:
        yield (replace(node, initial=None, constant=False),)
        yield (replace(node, initial=ex.sum_of(node.initial, 1)),)


_BLOCK_RULES: tuple[tuple[str, _Rule], ...] = (
    ("a barrier is missing", _no_barrier),
    ("a barrier does not see all", _narrow_barrier),
    ("nothing waits for copies", _no_wait),
    ("another copy is asynchronous", _also_asynchronous),
    ("a barrier is divergent", _divergent),
    ("a shuffle is wrong", _wrong_shuffle),
    ("a shuffle is divergent", _divergent_shuffle),
    ("an array is elsewhere", _other_memory),
    ("a guard is missing", _no_guard),
    ("a guard is too weak", _weak_guard),
    ("a guard too many", _guarded),
    ("a bound is wrong", _bounds),
    ("a statement is missing", _no_statement),
    ("something is executed twice", _twice),
    ("neighbours are exchanged", _swapped_with_next),
    ("a subscript is wrong", _wrong_subscript),
    ("a value is wrong", _wrong_value),
    ("loops are interchanged", _interchanged),
    ("something stands outside of its loop or guard", _out_of_the_loop),
    ("a loop is parallel", _on_threads),
    ("an array is too small", _small),
    ("a variable starts with something else", _no_start),
)


# --- whole programs


def _launches_exchanged(program: LoopProgram, _: random.Random) -> Iterator[LoopProgram]:
    for at in range(len(program.host) - 1):
        first, second = program.host[at : at + 2]
        rest = program.host[at + 2 :]
        yield replace(program, host=(*program.host[:at], second, first, *rest))


def _launches_joined(program: LoopProgram, _: random.Random) -> Iterator[LoopProgram]:
    for at in range(len(program.host) - 1):
        first, second = program.host[at : at + 2]
        if not (isinstance(first, Launch) and isinstance(second, Launch)):
            continue
        joined = _joined(first, second)
        if joined is not None:
            rest = program.host[at + 2 :]
            yield replace(program, host=(*program.host[:at], joined, *rest))


def _joined(first: Launch, second: Launch) -> Launch | None:
    """Return two launches as one, if their grids are the same."""
    if [(a.tag, a.size) for a in first.axes] != [(a.tag, a.size) for a in second.axes]:
        return None
    axes = tuple(
        HardwareAxis(a.tag, a.size, tuple(dict.fromkeys((*a.inames, *b.inames))))
        for a, b in zip(first.axes, second.axes, strict=True)
    )
    arguments = tuple(dict.fromkeys((*first.arguments, *second.arguments)))
    return Launch(first.name, arguments, axes, (*first.body, *second.body))


def _other_axis(program: LoopProgram, choices: random.Random) -> Iterator[LoopProgram]:
    """Give an axis another size, or an iname on it another first value."""
    for at, launch in enumerate(program.host):
        if not isinstance(launch, Launch) or not launch.axes:
            continue
        which = choices.randrange(len(launch.axes))
        axis = launch.axes[which]
        (iname, first), *others = axis.inames
        larger = axis.size + 1 if isinstance(axis.size, int) else ex.sum_of(axis.size, 1)
        wrong = (
            replace(axis, size=larger),
            replace(axis, inames=((iname, ex.sum_of(first, 1)), *others)),
        )
        axes = (*launch.axes[:which], choices.choice(wrong), *launch.axes[which + 1 :])
        changed = replace(launch, axes=axes)
        yield replace(program, host=(*program.host[:at], changed, *program.host[at + 1 :]))


def _never_negative(program: LoopProgram, choices: random.Random) -> Iterator[LoopProgram]:
    names = [n for n, kind in program.dtypes.items() if is_index(kind)]
    left = sorted(set(names) - program.nonnegative)
    if left:
        yield replace(program, nonnegative=program.nonnegative | {choices.choice(left)})


_PROGRAM_RULES: tuple[
    tuple[str, Callable[[LoopProgram, random.Random], Iterator[LoopProgram]]], ...
] = (
    ("launches are exchanged", _launches_exchanged),
    ("a launch boundary is missing", _launches_joined),
    ("an axis is wrong", _other_axis),
    ("a name is negative", _never_negative),
)

KINDS = {what for what, _ in (*_BLOCK_RULES, *_PROGRAM_RULES)}
