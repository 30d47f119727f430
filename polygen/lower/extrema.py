"""``argmin`` and ``argmax`` as one writes them: a value is computed once, and loops ascend.

What updates the best value and its place mentions the new value six times::

    double acc = -inf; int64 place = 9223372036854775807;
    for (int j = 0; j < n; ++j)
        acc, place = better(a[j]*b[j], j) ? a[j]*b[j], j : acc, place;

It gets a name.  In a loop that ascends, the first of equal values is the one that is there already,
if the place begins with that of the first iteration::

    double acc = -inf; int64 place = 0;
    for (int j = 0; j < n; ++j) {
        double const candidate = a[j]*b[j];
        acc, place = !(candidate <= acc) && acc == acc ? candidate, j : acc, place;
    }

That is done behind validation.  It depends on the statements, and on whether there is an iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import islpy as isl
import numpy as np

from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.typing.expression_types import type_of
from polygen.analysis.typing.kinds import Kind
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import BUILT_IN, Parts
from polygen.lower.declare import mentioned
from polygen.lower.neighbours import nodes_in
from polygen.lower.program import (
    Assign,
    Block,
    Declare,
    HostLoop,
    HostNode,
    If,
    Launch,
    Loop,
    LoopProgram,
    Node,
)
from polygen.lower.ranges import Ranges

_OPERATIONS = ("argmin", "argmax")


def with_candidates(program: LoopProgram, kernel: Kernel) -> LoopProgram:
    """Return a validated program in which a new value of ``argmin`` or ``argmax`` has a name.

    Parameters:
        program: the program.
        kernel: what it was made of.
    """
    operations = {node.operation for i in kernel.expanded.instructions for node in i.reductions}
    if operations.isdisjoint(_OPERATIONS):
        return program
    named = _Named(program, kernel)
    host = tuple([named.host(node, known_parameters(kernel)) for node in program.host])
    return replace(program, host=host, dtypes=named.dtypes)


@dataclass(frozen=True)
class _Update:
    """An assignment that takes a new value, and its place, if it is better.

    Attributes:
        node: the assignment.
        old: the best value, and its place.
        new: the new value, and its place.
        initial: what the old ones begin as, where there are none yet.
    """

    node: Assign
    old: Parts
    new: Parts
    initial: tuple[Expression, ...]

    @property
    def condition(self) -> Expression:
        assert isinstance(self.node.value, ex.If)
        return self.node.value.condition

    @property
    def targets(self) -> tuple[ex.Variable | ex.Subscript, ...]:
        return tuple([target for target, _ in self.node.pairs])

    def with_condition(self, condition: Expression) -> Assign:
        (value, other), (first, second) = self.new, self.old
        place = self.targets[1]
        chosen = ((place, ex.If(condition, other, second)),)
        return replace(self.node, value=ex.If(condition, value, first), others=chosen)


class _Named:
    def __init__(self, program: LoopProgram, kernel: Kernel) -> None:
        self._taken = {*kernel.names, *program.dtypes}
        self._ranges = Ranges(program)
        self.dtypes = dict(program.dtypes)

    def host(self, node: HostNode, known: isl.Set) -> HostNode:
        if isinstance(node, HostLoop):
            inside = self._ranges.inside(known, node)
            return replace(node, body=tuple([self.host(n, inside) for n in node.body]))
        return self._launch(node, known)

    def _launch(self, launch: Launch, known: isl.Set) -> Launch:
        known = self._ranges.in_launch(known, launch)
        return replace(launch, body=self._block(launch.body, known))

    def _block(self, block: Block, known: isl.Set) -> Block:
        found: list[Node] = []
        for node in block:
            if isinstance(node, Loop) and not node.at_once:
                inside = self._ranges.inside(known, node)
                found.append(replace(node, body=self._block(node.body, inside)))
            elif isinstance(node, If):
                inside = self._ranges.where(known, node.condition)
                found.append(replace(node, body=self._block(node.body, inside)))
            else:
                found += self._once(node)
        return self._ascending(found, known)

    # --- the value once

    def _once(self, node: Node) -> Block:
        """Return an update in which the new value has a name; any other statement as it is."""
        update = self._update(node)
        if update is None or isinstance(update.new[0], ex.Variable):
            return (node,)
        value, dtype = update.new[0], self.dtypes[ex.name_of(update.node.target)]
        if not self._has_type(value, dtype):
            return (node,)
        name = ex.Variable(self._new_name("candidate"))
        self.dtypes[name.name] = dtype
        assert isinstance(dtype, np.dtype)
        declared = Declare(name.name, dtype, initial=value, constant=True)

        def named(part: Expression) -> Expression:
            return name if part == value else part

        condition = walk.rewrite(update.condition, named)
        return declared, replace(update, new=(name, update.new[1])).with_condition(condition)

    def _has_type(self, node: Expression, dtype: Kind) -> bool:
        known = walk.free_variables(node) <= self.dtypes.keys()
        return known and type_of(node, self.dtypes) == dtype

    def _new_name(self, like: str) -> str:
        name, count = like, 0
        while name in self._taken:
            name, count = f"{like}_{count}", count + 1
        self._taken.add(name)
        return name

    def _update(self, node: Node) -> _Update | None:
        """Return what a statement updates, if it is ``argmin`` or ``argmax`` of two values."""
        if not isinstance(node, Assign) or len(node.others) != 1 or node.atomicity is not None:
            return None
        (target, value), (place, index) = node.pairs
        if not isinstance(value, ex.If) or not isinstance(index, ex.If):
            return None
        dtypes = [self.dtypes[ex.name_of(t)] for t in (target, place)]
        first, second = dtypes
        if not isinstance(first, np.dtype) or not isinstance(second, np.dtype):
            return None
        old, new = (target, place), (value.then, index.then)
        for operation in _OPERATIONS:
            facts = BUILT_IN[operation]
            if facts.combined(old, new, (first, second)) == (value, index):
                return _Update(node, old, new, facts.identity((first, second)))
        return None

    # --- loops that ascend

    def _ascending(self, nodes: list[Node], known: isl.Set) -> Block:
        """Return a block in which updates in loops that ascend do not ask for places."""
        for at, node in enumerate(nodes):
            if isinstance(node, Loop) and _is_in_order(node) and self._has_iterations(node, known):
                for update in [u for n in node.body if (u := self._update(n)) is not None]:
                    self._ascend(nodes, at, update)
        return tuple(nodes)

    def _ascend(self, nodes: list[Node], at: int, update: _Update) -> None:
        """Let an update in a loop, and what comes before, be without places, if that may be."""
        loop, started = nodes[at], _started(nodes[:at], update)
        if started is None or not isinstance(loop, Loop):
            return
        declared, first = nodes[started], self._first_place(loop, update)
        if first is None or not isinstance(declared, Declare):
            return
        if not _is_same_there(first, nodes[started:at]):
            return
        nodes[started] = replace(declared, initial=first)
        new = update.with_condition(_better(update.condition))
        body = tuple([new if n is update.node else n for n in loop.body])
        nodes[at] = replace(loop, body=body)

    def _has_iterations(self, loop: Loop, known: isl.Set) -> bool:
        return self._ranges.holds(known, ex.Comparison(loop.lower, "<", loop.upper))

    def _first_place(self, loop: Loop, update: _Update) -> Expression | None:
        """Return the place in the first iteration, if it grows from one iteration to the next."""
        others = [n for n in nodes_in(loop.body) if n is not update.node]
        if not mentioned(others).isdisjoint(map(ex.name_of, update.targets)):
            return None
        if not self._has_type(update.new[0], self.dtypes[ex.name_of(update.node.target)]):
            return None
        place = update.new[1]
        form = linear_form(place, self._ranges.counters)
        first = linear_form(walk.substitute(place, {loop.iname: loop.lower}), self._ranges.counters)
        if form is None or first is None or form.terms.get(loop.iname, 0) <= 0:
            return None
        inner = {n.iname for n in others if isinstance(n, Loop)}
        plain = all(isinstance(term, str) and term not in inner for term in form.terms)
        return first.expression() if plain else None


def _is_in_order(loop: Loop) -> bool:
    return not (loop.at_once or loop.parallel or loop.unordered)


def _started(before: Sequence[Node], update: _Update) -> int | None:
    """Return where the place is declared, if both begin as they do where there is nothing yet."""
    found: list[int] = []
    for target, value in zip(update.targets, update.initial, strict=True):
        for at, node in enumerate(before):
            if isinstance(node, Declare) and node.name == ex.name_of(target):
                if node.initial != value or node.extent is not None:
                    return None
                found.append(at)
    if len(found) < 2:
        return None
    rest = before[min(found) :]
    return found[1] if mentioned(rest).isdisjoint(map(ex.name_of, update.targets)) else None


def _is_same_there(node: Expression, between: Sequence[Node]) -> bool:
    """Tell whether an expression has a value where the first of some statements stands."""
    declared = {n.name for n in nodes_in(between) if isinstance(n, Declare)}
    return declared.isdisjoint(walk.free_variables(node))


def _better(condition: Expression) -> Expression:
    """Return the part of the condition of an update that asks whether the value is better."""
    assert isinstance(condition, ex.BitwiseOr)
    return condition.children[0]
