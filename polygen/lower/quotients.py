"""Quotients and remainders by sizes: each is computed once, as far outside as may be.

Not outside of a condition, though: where a size is 0, conditions are what keeps a program from
dividing by it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.integers.unknowns import is_by_size
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import ValueArg
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.lower.carried import Carried, may_carry
from polygen.lower.declare import expressions
from polygen.lower.program import (
    Assign,
    Block,
    Call,
    Declare,
    HostLoop,
    HostNode,
    If,
    Launch,
    Loop,
    LoopProgram,
    Node,
    Shuffle,
    Verbatim,
)
from polygen.lower.strips import in_strips

_Change: TypeAlias = Callable[[Expression], Expression]


def with_quotients(program: LoopProgram, kernel: Kernel, *, strips: bool) -> LoopProgram:
    """Return a program in which quotients and remainders that are the same have names.

    Parameters:
        program: a program.
        kernel: the kernel, prepared for being lowered.
        strips: whether loops are divided where quotients change.
    """
    once = _Once(program, kernel, strips=strips)
    host = tuple([once.node(node, frozenset()) for node in program.host])
    return replace(
        program,
        host=host,
        nonnegative=program.nonnegative.union(once.nonnegative),
        dtypes={**program.dtypes, **dict.fromkeys(once.names, int)},
    )


@dataclass(frozen=True)
class _Division:
    """A number, and what it is divided by."""

    number: Expression
    size: Expression

    @property
    def quotient(self) -> Expression:
        return ex.floor_quotient(self.number, self.size)

    @property
    def remainder(self) -> Expression:
        return ex.remainder_of(self.number, self.size)


class _Once:
    def __init__(self, program: LoopProgram, kernel: Kernel, *, strips: bool) -> None:
        self._strips = strips
        self._dtype = program.index_dtype
        self._taken = {*kernel.names, *program.dtypes}
        self._positive = positive_divisors(kernel)
        self._promised = program.nonnegative
        self._sizes = frozenset(a.name for a in program.arguments if isinstance(a, ValueArg))
        self.names: list[str] = []
        self.nonnegative: set[str] = set()

    def node(self, node: HostNode, outer: frozenset[str]) -> HostNode:
        if isinstance(node, HostLoop):
            inside = outer.union((node.iname,))
            return replace(node, body=tuple([self.node(n, inside) for n in node.body]))
        inames = {iname for axis in node.axes for iname, _ in axis.inames}
        return self._launch(node, outer.union(inames, self._sizes))

    def _launch(self, launch: Launch, known: frozenset[str]) -> Launch:
        declared: list[Declare] = []
        body = launch.body
        for size in self._positive:
            if not self._is_plain(size) and _divides(body, size):
                name = self._named("divisor", size, declared)
                self.nonnegative.add(name.name)
                body = tuple([mapped(node, _by(size, name)) for node in body])
        known = known.union(d.name for d in declared)
        return replace(launch, body=(*declared, *self._block(body, known)))

    def _block(self, block: Block, known: frozenset[str], nested: int = 0) -> Block:
        """Return a block with names for what it computes several times.

        Parameters:
            block: the statements.
            known: the names of counters and sizes that have values there.
            nested: how many loops have to nest perfectly, the one in the block first.
        """
        declared: list[Declare] = []
        if nested < 1:
            while (division := self._repeated(block, known)) is not None:
                names = self._declare(division, block, declared)
                block = tuple([mapped(node, names) for node in block])
                known = known.union(d.name for d in declared)
        inside = [self._inside(node, known, nested) for node in block]
        return (*declared, *(node for nodes in inside for node in nodes))

    def _inside(self, node: Node, known: frozenset[str], nested: int) -> Block:
        if isinstance(node, If):
            return (replace(node, body=self._block(node.body, known)),)
        if not isinstance(node, Loop) or node.at_once:
            return (node,)
        inner = max(node.parallel, nested) - 1
        known = known.union((node.iname,))
        if nested < 1 and may_carry(node):
            return self._in_strips(node, known) or self._carrying(node, known)
        return (replace(node, body=self._block(node.body, known, inner)),)

    def _in_strips(self, loop: Loop, known: frozenset[str]) -> Block:
        """Return a loop in strips, and what comes ahead of it; nothing if it cannot be so."""
        outside = known.difference((loop.iname,))
        found = in_strips(loop, outside, self._positive, self._variable) if self._strips else None
        if found is None:
            return ()
        *start, inner = found.loop.body
        assert isinstance(inner, Loop)

        def change(node: Expression) -> Expression:
            return walk.rewrite(node, lambda part: found.names.get(part, part))

        inner = replace(inner, body=tuple([mapped(node, change) for node in inner.body]))
        outside |= {node.name for node in found.before if isinstance(node, Declare)}
        around = outside.union((found.loop.iname,))
        names = (node.name for node in start if isinstance(node, Declare))
        body = (*start, *self._inside(inner, around.union(names), 0))
        outer = replace(found.loop, body=body)
        return (*found.before, *(self._in_strips(outer, around) or self._carrying(outer, around)))

    def _carrying(self, loop: Loop, known: frozenset[str]) -> Block:
        """Return a loop that carries quotients and remainders, and what comes ahead of it."""
        outside = known.difference((loop.iname,))
        found = Carried(loop, outside, self._positive, self._variable)
        if not found.names:
            return (replace(loop, body=self._block(loop.body, known)),)

        def change(node: Expression) -> Expression:
            return walk.rewrite(node, lambda part: found.names.get(part, part))

        body = self._block(
            tuple([mapped(node, change) for node in loop.body]),
            known.union(*(walk.free_variables(name) for name in found.names.values())),
        )
        # Iterations are in an order now.
        return (*found.before, replace(loop, body=(*body, *found.after), unordered=False))

    def _repeated(self, block: Block, known: frozenset[str]) -> _Division | None:
        """Return a division that is known in a block and needed twice, none in it being so."""
        uses = Counter(
            _Division(node.numerator, node.denominator)
            for e in _evaluated(block)
            for node in walk.subexpressions(e)
            if is_by_size(node) and walk.free_variables(node) <= known
        )
        repeated = [division for division, count in uses.items() if count > 1]
        return min(repeated, key=lambda d: (_size(d.number), str(d)), default=None)

    def _declare(self, division: _Division, block: Block, declared: list[Declare]) -> _Change:
        """Declare what is needed of a division; return what puts the names in its place."""
        parts = [p for e in _evaluated(block) for p in walk.subexpressions(e)]
        names: dict[Expression, Expression] = {}
        quotient, remainder = division.quotient, division.remainder
        both = quotient in parts and remainder in parts
        if both or parts.count(quotient) > 1:
            names[quotient] = self._named(f"{_word(division.number)}_div", quotient, declared)
        if parts.count(remainder) > 1 or both:
            value = remainder
            if both:
                product = ex.product_of(division.size, names[quotient])
                value = ex.sum_of(division.number, ex.negated(product))
            names[remainder] = self._named(f"{_word(division.number)}_mod", value, declared)
            self._note(names[remainder], remainder)

        def change(node: Expression) -> Expression:
            return names.get(node, node)

        return lambda node: walk.rewrite(node, change)

    def _named(self, like: str, value: Expression, declared: list[Declare]) -> ex.Variable:
        variable, declaration = self._variable(like, value, True, value)
        declared.append(declaration)
        return variable

    def _variable(
        self, like: str, value: Expression, constant: bool, sign: Expression
    ) -> tuple[ex.Variable, Declare]:
        name, count = like, 0
        while name in self._taken:
            name, count = f"{like}_{count}", count + 1
        self._taken.add(name)
        self.names.append(name)
        self._note(ex.Variable(name), sign)
        return ex.Variable(name), Declare(name, self._dtype, initial=value, constant=constant)

    def _note(self, name: Expression, value: Expression) -> None:
        if isinstance(name, ex.Variable) and self._is_plain(value):
            self.nonnegative.add(name.name)

    def _is_plain(self, node: Expression) -> bool:
        """Tell whether a value is plainly not negative."""
        if isinstance(node, int):
            return node >= 0
        if isinstance(node, ex.Variable):
            return node.name in self._promised or node.name in self.nonnegative
        if isinstance(node, ex.Max):
            return any(map(self._is_plain, node.children))
        kinds = (ex.Sum, ex.Product, ex.FloorDiv, ex.Remainder)
        return isinstance(node, kinds) and all(map(self._is_plain, walk.parts(node)))


def _divides(body: Block, size: Expression) -> bool:
    return any(
        is_by_size(part) and part.denominator == size
        for node in _all_nodes(body)
        for e in expressions(node)
        for part in walk.subexpressions(e)
    )


def _by(size: Expression, name: Expression) -> _Change:
    """Return what divides by a name for a size instead."""

    def change(node: Expression) -> Expression:
        if not is_by_size(node) or node.denominator != size:
            return node
        make = ex.floor_quotient if isinstance(node, ex.FloorDiv) else ex.remainder_of
        return make(node.numerator, name)

    return lambda node: walk.rewrite(node, change)


def positive_divisors(kernel: Kernel) -> list[Expression]:
    """Return the sizes that a kernel divides by only where they are positive."""
    found: dict[Expression, bool] = {}
    for insn in kernel.expanded.instructions:
        for whole in (*insn.assignees, *insn.reads, *insn.predicates):
            for node in walk.subexpressions(whole):
                if is_by_size(node):
                    size = node.denominator
                    inames = walk.free_variables(node.numerator).intersection(kernel.inames)
                    found[size] = found.get(size, True) and _is_positive(kernel, size, inames)
    return [size for size, is_certain in found.items() if is_certain]


def _is_positive(kernel: Kernel, size: Expression, inames: frozenset[str]) -> bool:
    """Tell whether a size is at least 1 wherever inames have values."""
    if not walk.free_variables(size) <= frozenset(kernel.parameters):
        return False
    least = condition_set(ex.Comparison(size, "<=", 0))
    points = domain_of(kernel, with_surrounding(kernel, inames))
    return least is not None and points.intersect(known_parameters(kernel)).is_disjoint(least)


def _word(number: Expression) -> str:
    return number.name if isinstance(number, ex.Variable) else "number"


def _size(node: Expression) -> int:
    return sum(1 for _ in walk.subexpressions(node))


def _evaluated(block: Block) -> Iterator[Expression]:
    """Yield what is computed wherever a block is executed: conditions keep it from nothing."""
    for node in block:
        if not isinstance(node, If):
            yield from expressions(node)
        if isinstance(node, Loop):
            yield from _evaluated(node.body)


def _all_nodes(block: Block) -> Iterator[Node]:
    for node in block:
        yield node
        if isinstance(node, Loop | If):
            yield from _all_nodes(node.body)


def mapped(node: Node, change: _Change) -> Node:
    """Return a statement with its expressions changed, those inside of it too."""
    if isinstance(node, Assign):
        target, *others = [(_target(t, change), change(v)) for t, v in node.pairs]
        return replace(node, target=target[0], value=target[1], others=tuple(others))
    if isinstance(node, Verbatim):
        return replace(node, names=tuple([(n, change(v)) for n, v in node.names]))
    if isinstance(node, Call):
        return replace(node, arguments=tuple(map(change, node.arguments)))
    if isinstance(node, Declare):
        return node if node.initial is None else replace(node, initial=change(node.initial))
    if isinstance(node, Shuffle):
        return replace(node, element=_target(node.element, change))
    if isinstance(node, If):
        body = tuple([mapped(n, change) for n in node.body])
        return replace(node, condition=change(node.condition), body=body)
    if isinstance(node, Loop):
        body = tuple([mapped(n, change) for n in node.body])
        runs = None if node.runs is None else change(node.runs)
        lower, upper = change(node.lower), change(node.upper)
        return replace(node, lower=lower, upper=upper, body=body, runs=runs)
    return node


def _target(node: ex.Variable | ex.Subscript, change: _Change) -> ex.Variable | ex.Subscript:
    found = change(node)
    assert isinstance(found, ex.Variable | ex.Subscript)
    return found
