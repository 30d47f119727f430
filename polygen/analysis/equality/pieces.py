"""Takes sums apart, and other operations whose order does not count.

A sum is a bag of *pieces*: products of values, one for each value of some names (those of
reductions in it, and of the instances that wrote partial sums).  Sums of sums are one bag.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

import islpy as isl

from polygen.analysis.equality.bag import PRODUCT, SUM, Factor, Level, Loops, Piece, Place
from polygen.analysis.equality.compared_values import Value, are_alike, onto, own_names
from polygen.analysis.equality.data_bounds import Bounds
from polygen.analysis.equality.flow import Flow
from polygen.analysis.equality.running_sums import Running
from polygen.analysis.order.reduction_statements import places
from polygen.analysis.typing.kinds import Kind
from polygen.ir import expression as ex
from polygen.ir.reduction import definition_of, facts_of
from polygen.ir.reduction import name_of as operation_name

_MOST_POWER = 8
_DEEPEST = 12  # how many writes are followed for one piece
_MOST_PIECES = 40


class TooManyError(Exception):
    """A value falls into too many pieces."""


_NODES: Mapping[type, str] = {
    ex.Sum: SUM,
    ex.Product: PRODUCT,
    ex.Quotient: PRODUCT,
    ex.Min: "min",
    ex.Max: "max",
}


def combining(value: Value) -> str | None:
    """Return the operation that a value is combined by, if its order does not count."""
    node = value.node
    if value.casts or value.is_read:
        return None
    if isinstance(node, ex.Reduction):
        facts = facts_of(node.operation)
        # Operations of users' own may have one name, and be others in another kernel.
        is_built_in = definition_of(node.operation) is None
        regroups = is_built_in and facts.regroups and facts.width == 1
        return operation_name(node.operation) if regroups else None
    if isinstance(node, ex.Power):
        return PRODUCT if _is_small_power(node) else None
    return _NODES.get(type(node))


def _is_small_power(node: ex.Power) -> bool:
    exponent = node.exponent
    return type(exponent) is int and 0 < exponent <= _MOST_POWER


@dataclass
class _Task:
    """A value that is being taken apart.

    Attributes:
        operation: the operation.
        kind: the type in which it combines.
        level: how much is taken apart.
        found: the pieces.
        indexing: whether it is a part of a subscript, where nothing wraps around.
    """

    operation: str
    kind: Kind
    level: Level
    found: list[Piece]
    indexing: bool = False


class Pieces:
    """Takes values apart.

    Parameters:
        flow: follows reads.
        bounds: finds the iterations of loops.
    """

    def __init__(self, flow: Flow, bounds: Bounds) -> None:
        self.flow = flow
        self._bounds = bounds
        self._running: dict[tuple[int, str, str], Running] = {}

    def of(self, value: Value, operation: str, points: isl.Set, level: Level) -> list[Piece] | None:
        """Return what a value combines; None if that is too much, or not known.

        Parameters:
            value: the value; one piece, if it is not of this operation.
            operation: the operation.
            points: where.
            level: how much is taken apart.
        """
        task = _Task(operation, value.kind, level, [], value.frame.indexing)
        try:
            self._take(value, task, Place(points, frozenset(), Fraction(1), ()))
        except TooManyError:
            return None
        return list(_with_one_number(task))

    def loops(self, value: Value, points: isl.Set) -> Loops:
        """Return what a reduction is over."""
        node = value.node
        assert isinstance(node, ex.Reduction)
        names = self.flow.names.fresh(node.inames)
        frame = replace(value.frame, names={**value.frame.names, **names})
        domain = self._bounds.executed(value.frame, frame, points)
        place = places(value.kernel).of.get((frame.insn.id, frozenset(frame.names)), ())
        order = [str(i) for i in place if i in names]
        where = points.intersect(domain)
        value = Value(node.operand, frame)
        if len(order) < len(names):
            return Loops(value, tuple(names.values()), where, is_ordered=False)
        return Loops(value, tuple([names[iname] for iname in order]), where)

    # --- one value

    def _take(self, value: Value, task: _Task, at: Place) -> None:
        if at.where.is_empty():
            return
        if len(task.found) > _MOST_PIECES:
            raise TooManyError
        if self._is_opened(value, task):
            self._open(value, task, at)
        elif task.level > Level.WRITTEN and value.is_read and not value.was_there:
            self._follow(value, task, at)
        else:
            self._add(value, task, at)

    def _add(self, value: Value, task: _Task, at: Place) -> None:
        """Add a value as a piece of its own."""
        number = value.number
        is_number = task.operation == SUM and number is not None
        given = at.number * Fraction(number) if is_number else at.number  # type: ignore[arg-type]
        own = () if is_number else (Factor(value, at.divides),)
        if number is not None and task.operation == PRODUCT and not (at.divides and not number):
            given, own = Fraction(number), ()
            given = 1 / given if at.divides else given
        task.found.append(Piece(given, (*own, *at.others), at.bound, at.where))

    def _is_opened(self, value: Value, task: _Task) -> bool:
        """Tell whether a value is combined by the operation, in its type."""
        node = value.node
        if value.casts or value.was_there:
            return False
        if isinstance(node, ex.If):
            return value.frame.holds(node.condition) is not None and _is_same(value, task)
        operation = combining(value)
        if operation is None or value.integer is not None or not _is_same(value, task):
            return False
        return operation == task.operation or (operation == PRODUCT and task.operation == SUM)

    def _open(self, value: Value, task: _Task, at: Place) -> None:
        node = value.node
        if isinstance(node, ex.If):
            there = value.frame.holds(node.condition)
            assert there is not None  # or it would not be opened
            refused = ex.LogicalNot(node.condition)
            self._take(value.part(node.then).within(node.condition), task, at.inside(there))
            self._take(value.part(node.else_).within(refused), task, at.outside(there))
        elif isinstance(node, ex.Reduction):
            loops = self.loops(value, at.where)
            self._take(loops.value, task, at.over(loops.names, loops.where))
        elif task.operation == SUM and not isinstance(node, ex.Sum):
            self._product(list(_factors(value)), task, at)
        elif task.operation == PRODUCT:
            for factor in _factors(value):
                divides = at.divides != factor.divides
                self._take(factor.value, task, replace(at, divides=divides))
        else:
            assert isinstance(node, ex.Sum | ex.Min | ex.Max)
            for child in node.children:
                self._take(value.part(child), task, at)

    def _product(self, factors: Sequence[Factor], task: _Task, at: Place) -> None:
        """Take apart a product that is added up."""
        number = at.number
        rest: list[Factor] = []
        for factor in self._flat(factors, task):
            found = factor.value.number
            if found is None or (factor.divides and not found):
                rest.append(factor)
            else:
                number = number / Fraction(found) if factor.divides else number * Fraction(found)
        at = replace(at, number=number)
        sums = [f for f in rest if not f.divides and self._is_sum(f.value, task)]
        alone = len(rest) == 1 and not at.others
        if sums and (task.level == Level.DISTRIBUTED or (alone and abs(number) == 1)):
            others = list(rest)
            others.remove(sums[0])
            self._take(sums[0].value, task, replace(at, others=(*others, *at.others)))
            return
        if alone and not rest[0].divides and task.level > Level.WRITTEN and rest[0].value.is_read:
            self._take(rest[0].value, task, at)
            return
        task.found.append(Piece(number, (*rest, *at.others), at.bound, at.where))

    def _flat(self, factors: Sequence[Factor], task: _Task) -> Iterator[Factor]:
        """Yield the factors of factors, in the type of the whole."""
        for factor in factors:
            value = factor.value
            is_product = combining(value) == PRODUCT and not isinstance(value.node, ex.Reduction)
            if not is_product or value.integer is not None or not _is_same(value, task):
                yield factor
                continue
            inner = [replace(f, divides=f.divides != factor.divides) for f in _factors(value)]
            yield from self._flat(inner, task)

    def _is_sum(self, value: Value, task: _Task) -> bool:
        if not _is_same(value, task) or value.integer is not None:
            return False
        if value.is_read and not value.was_there and not value.casts:
            return task.level == Level.DISTRIBUTED and self._holds_sum(value)
        return combining(value) == SUM

    def _holds_sum(self, value: Value) -> bool:
        """Tell whether what is read was written as a sum."""
        sources = self.flow.sources(value)
        writers = [s for s in sources if s.writer is not None]
        found = [
            self.flow.stored(value, value.kernel.assignment(str(s.writer)), s.position, {})
            for s in writers
        ]
        return any(f is not None and not f.casts and combining(f) == SUM for f in found)

    # --- what was stored

    def _follow(self, value: Value, task: _Task, at: Place) -> None:
        """Take apart what was written of what is read, if that is combined by the operation."""
        if at.depth >= _DEEPEST or value.casts:
            self._add(value, task, at)
            return
        kept = own_names(at.where)
        written = list(self.flow.written(value, at.where))
        seen = [onto(inner, kept) for _, inner in written]
        covered = seen[0] if seen else at.where.complement()
        for more in seen[1:]:
            covered = covered.union(more)
        if not at.where.is_subset(covered):
            self._add(value, task, at)
            return
        running = self._sums(value, task)
        for found, inner in written:
            there = at.written(found, inner)
            if found.casts or not are_alike(found.kind, task.kind):
                self._add(found, task, there)
            elif not found.was_there and running.holds(found.frame.insn.id):
                self._take_all(found, running, task, there)
            else:
                self._take(found, task, there)

    def _sums(self, value: Value, task: _Task) -> Running:
        """Return what has been added in the variable that is read."""
        name = ex.name_of(value.node)
        key = id(value.kernel), name, task.operation
        if key not in self._running:
            self._running[key] = Running(self.flow, value.kernel, name, task.operation)
        return self._running[key]

    def _take_all(self, value: Value, running: Running, task: _Task, at: Place) -> None:
        """Take apart what has been added up to a write, and what was there before."""
        names = dict(value.frame.names)
        for added in running.added(value.frame.insn.id, names, at.where):
            bound = at.bound.union(added.frame.names.values())
            there = replace(at, where=added.points, bound=bound, depth=at.depth + 1)
            for term in added.adding.rest:
                self._take(Value(term, added.frame), task, there)
            before = Value(added.adding.before, added.frame)
            for found, inner in self.flow.written(before, added.points):
                if found.was_there:
                    self._add(found, task, there.written(found, inner))
                elif not running.holds(found.frame.insn.id):
                    self._take(found, task, there.written(found, inner))


def _factors(value: Value) -> Iterator[Factor]:
    """Yield the factors of a product, a quotient or a power."""
    node = value.node
    if isinstance(node, ex.Quotient):
        yield Factor(value.part(node.numerator))
        yield Factor(value.part(node.denominator), divides=True)
    elif isinstance(node, ex.Power):
        assert isinstance(node.exponent, int)  # as `combining` wants it
        yield from [Factor(value.part(node.base))] * node.exponent
    elif isinstance(node, ex.Product):
        yield from (Factor(value.part(child)) for child in node.children)
    else:
        yield Factor(value)  # a reduction


def _with_one_number(task: _Task) -> Iterator[Piece]:
    """Yield the pieces, numbers that are combined wherever the whole is as one of them."""
    alone = [p for p in task.found if not p.factors and not p.bound]
    identity = Fraction(0 if task.operation == SUM else 1)
    differ = any(not p.where.is_equal(alone[0].where) for p in alone)
    if differ or task.operation not in (SUM, PRODUCT):
        alone = []
    for piece in task.found:
        is_nothing = not piece.factors and piece.number == identity
        if piece not in alone and not (is_nothing and task.operation in (SUM, PRODUCT)):
            yield piece
    if alone:
        numbers = [piece.number for piece in alone]
        whole = sum(numbers) if task.operation == SUM else prod(numbers)
        if whole != identity:
            yield replace(alone[0], number=Fraction(whole))


def _is_same(value: Value, task: _Task) -> bool:
    """Tell whether a value is of the type in which an operation combines, and wraps as it does."""
    if value.is_other_arithmetic(indexing=task.indexing):
        return False
    return value.kind is task.kind or (
        not isinstance(value.kind, type)
        and not isinstance(task.kind, type)
        and value.kind == task.kind
    )
