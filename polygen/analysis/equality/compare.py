"""Finds the points at which two values are equal, by what they are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from polygen.analysis.access.accesses import evaluated_under
from polygen.analysis.equality.affine_choices import affine_choices
from polygen.analysis.equality.bag import AGAIN, EXACT, SUM, is_whole
from polygen.analysis.equality.bag_matching import Matching
from polygen.analysis.equality.claims import Claims
from polygen.analysis.equality.compared_values import (
    Value,
    are_alike,
    is_rounded,
    onto,
    own_names,
)
from polygen.analysis.equality.data_bounds import Bounds
from polygen.analysis.equality.flow import Flow
from polygen.analysis.equality.pieces import Pieces, combining
from polygen.analysis.typing.kinds import Kind, same_kind
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel

_MIRRORED = {">": "<", ">=": "<="}


class Comparison:
    """Compares values of two kernels.

    Parameters:
        first: the first of the kernels.
        reorders: whether sums and the like may be combined in another order.

    Attributes:
        flow: follows reads.
    """

    def __init__(self, first: Kernel, *, reorders: bool) -> None:
        self._reorders = reorders
        self.flow = Flow()
        self._claims = Claims()
        self._pieces = Pieces(self.flow, Bounds(first, self.same, self.flow.names))
        self._matching = Matching(self.same)

    def same(self, a: Value, b: Value, points: isl.Set) -> isl.Set:
        """Return those of some points at which two values are proved to be the same.

        Parameters:
            a: a value of the first kernel.
            b: one of the second.
            points: a flat set over the names of both.
        """
        if points.is_empty():
            return points
        for value, other in ((a, b), (b, a)):
            if value.is_read and not value.was_there:
                return self._followed(value, other, points, swapped=value is b)
        if any(
            value.is_other_arithmetic(indexing=o.frame.indexing) for value, o in ((a, b), (b, a))
        ):
            return _none_of(points)
        wholes = a.integer, b.integer
        if wholes[0] is not None and wholes[1] is not None:
            return points.intersect(wholes[0].eq_set(wholes[1]))
        numbers = a.number, b.number
        if numbers[0] is not None and numbers[1] is not None:
            return points if numbers[0] == numbers[1] else _none_of(points)
        if a.was_there or b.was_there:
            both = a.was_there and b.was_there and a.casts == b.casts
            return self._same_element(a, b, points) if both else self._made_of(a, b, points)
        return self._made_of(a, b, points)

    def _followed(self, read: Value, other: Value, points: isl.Set, *, swapped: bool) -> isl.Set:
        kept = own_names(points)
        found = _none_of(points)
        for value, inner in self.flow.written(read, points):
            pair = (other, value) if swapped else (value, other)
            if value.was_there:
                held = self.same(*pair, inner)
            else:
                held = self._claims.holds(*pair, inner, self.same)
            found = found.union(onto(held, kept))
        return found.coalesce()

    def _same_element(self, a: Value, b: Value, points: isl.Set) -> isl.Set:
        """Compare two elements that were there before the kernels ran."""
        variables = [v.kernel.variables.get(ex.name_of(v.node)) for v in (a, b)]
        if any(isinstance(v, TemporaryVariable) for v in variables):
            tables = [v for v in variables if isinstance(v, TemporaryVariable) and v.read_only]
            if len(tables) < 2 or not _are_one_table(*tables):
                return _none_of(points)
        elif ex.name_of(a.node) != ex.name_of(b.node):
            return _none_of(points)
        indices = ex.index_of(a.node), ex.index_of(b.node)
        if len(indices[0]) != len(indices[1]):
            return _none_of(points)
        for first, second in zip(*indices, strict=True):
            points = self.same(a.subscript(first), b.subscript(second), points)
        return points

    # --- expressions

    def _made_of(self, a: Value, b: Value, points: isl.Set) -> isl.Set:
        for value, other in ((a, b), (b, a)):
            choice = affine_choices(value, points)
            if choice is not None:
                found = _none_of(points)
                for chosen, inner in choice:
                    pair = (chosen, other) if value is a else (other, chosen)
                    found = found.union(self.same(*pair, inner))
                return found
        if any(value.casts and value.number is None for value in (a, b)):
            return self._converted(a, b, points)
        literals = [v.node for v in (a, b) if not isinstance(v.node, ex.ExpressionNode)]
        if len(literals) == 2 and type(literals[0]) is type(literals[1]):
            return points if literals[0] == literals[1] else _none_of(points)
        if not are_alike(a.kind, b.kind):
            return _none_of(points)
        holds = a.frame.holds(a.node), b.frame.holds(b.node)
        if holds[0] is not None and holds[1] is not None:
            both, none = holds[0].intersect(holds[1]), holds[0].union(holds[1]).complement()
            return points.intersect(both.union(none))
        operations = [found for found in (combining(a), combining(b)) if found is not None]
        operation = SUM if SUM in operations else operations[0] if operations else None
        is_exact = operation in EXACT or not is_rounded(a.kind)
        if operation is not None and (self._reorders or is_exact):
            return self._combined(a, b, operation, points)
        return self._parts(a, b, points)

    def _converted(self, a: Value, b: Value, points: isl.Set) -> isl.Set:
        """Compare values that are converted to the same types, one after the other."""
        if a.casts != b.casts:
            return _none_of(points)
        inner = (
            Value(a.node, a.frame, (), a.was_there),
            Value(b.node, b.frame, (), b.was_there),
        )
        if not are_alike(inner[0].kind, inner[1].kind):
            return _none_of(points)
        return self.same(*inner, points)

    def _combined(self, a: Value, b: Value, operation: str, points: isl.Set) -> isl.Set:
        """Compare sums, products and the like, by what is combined in whatever order."""
        held = self._parts(a, b, points) if a.is_read or type(a.node) is type(b.node) else None
        found = _none_of(points) if held is None else held
        for level in AGAIN:
            left = points.subtract(found)
            if left.is_empty():
                break
            pieces = [self._pieces.of(value, operation, left, level) for value in (a, b)]
            if pieces[0] is None or pieces[1] is None:
                continue
            if is_whole(pieces[0], a) and is_whole(pieces[1], b):
                continue  # neither is combined by this operation
            found = found.union(self._matching.same(pieces[0], pieces[1], left))
        return found.coalesce()

    def _parts(self, a: Value, b: Value, points: isl.Set) -> isl.Set:
        """Compare two expressions part by part."""
        first, second = _turned(a.node), _turned(b.node)
        if not _are_one_operation(first, second):
            return _none_of(points)
        if isinstance(first, ex.Reduction) and isinstance(second, ex.Reduction):
            return self._reductions(a, b, points)
        if isinstance(first, ex.Comparison) and not same_kind(_compared_in(a), _compared_in(b)):
            return _none_of(points)
        parts = list(_under(a, first)), list(_under(b, second))
        found = self._all_same(parts[0], parts[1], len(a.frame.conditions), points)
        if isinstance(first, ex.Sum | ex.Product) and len(parts[1]) > 1:
            # a + b is b + a to the last bit; (a + b) + c is not a + (b + c).
            turned = [parts[1][1], parts[1][0], *parts[1][2:]]
            left = points.subtract(found)
            found = found.union(self._all_same(parts[0], turned, len(a.frame.conditions), left))
        return found

    def _all_same(
        self, first: Sequence[Value], second: Sequence[Value], known: int, points: isl.Set
    ) -> isl.Set:
        """Return where values are the same one by one, or are not asked for.

        Parameters:
            first, second: parts of two expressions.
            known: how many of the conditions of the first ones are those of the whole.
            points: where.
        """
        for one, other in zip(first, second, strict=True):
            asked = _asked(one, known, points)
            points = points.subtract(asked.subtract(self.same(one, other, asked)))
        return points

    def _reductions(self, a: Value, b: Value, points: isl.Set) -> isl.Set:
        """Compare two reductions that combine one value after the other."""
        pieces = self._pieces.loops(a, points), self._pieces.loops(b, points)
        return self._matching.same_in_order(pieces[0], pieces[1], points)


def _none_of(points: isl.Set) -> isl.Set:
    return isl.Set.empty(points.get_space())


def _are_one_table(first: TemporaryVariable, second: TemporaryVariable) -> bool:
    return bool(
        first.dtype == second.dtype
        and first.shape == second.shape
        and (first.initializer == second.initializer).all()  # type: ignore[union-attr]
    )


def _turned(node: Expression) -> Expression:
    """Return a comparison with ``<`` or ``<=`` in the place of ``>`` and ``>=``."""
    if isinstance(node, ex.Comparison) and str(node.operator) in _MIRRORED:
        operator = ex.Comparison(0, _MIRRORED[str(node.operator)], 0).operator
        return ex.Comparison(node.right, operator, node.left)
    return node


def _compared_in(value: Value) -> Kind:
    """Return the type in which a comparison is made."""
    assert isinstance(value.node, ex.Comparison)
    return value.part(ex.sum_of(value.node.left, value.node.right)).kind


def _are_one_operation(first: Expression, second: Expression) -> bool:
    """Tell whether two nodes differ in nothing but their parts; and in what reductions are over."""
    if type(first) is not type(second) or not isinstance(first, ex.ExpressionNode):
        return False
    if isinstance(first, ex.Variable | ex.Subscript):
        return False
    if isinstance(first, ex.Reduction) and isinstance(second, ex.Reduction):
        return first.operation == second.operation
    count = len(walk.parts(first))
    if count != len(walk.parts(second)):
        return False
    marks = tuple(ex.Variable(f"__{number}") for number in range(count))
    return bool(walk.rebuild(first, marks) == walk.rebuild(second, marks))


def _asked(part: Value, known: int, points: isl.Set) -> isl.Set:
    """Return where a part is evaluated: of the conditions, those beyond the first are its own."""
    for condition in part.frame.conditions[known:]:
        holds = part.frame.holds(condition)
        points = points if holds is None else points.intersect(holds)
    return points


def _under(value: Value, node: Expression) -> Iterator[Value]:
    """Yield the parts of a node, each with the conditions under which it is evaluated."""
    for part, conditions in evaluated_under(node, ()):
        yield value.part(part).within(*conditions)
