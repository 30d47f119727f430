"""Finds types, constants and ranges of expressions before they are printed.

Values are computed in NumPy's types.  Subscripts and bounds are arithmetic of integers: what is in
them of other types is converted as it comes in.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polygen.analysis.typing.expression_types import node_type
from polygen.analysis.typing.functions import ResultType, lookup
from polygen.analysis.typing.index_arithmetic import is_arithmetic, operands, written_out
from polygen.analysis.typing.kinds import Kind, letter
from polygen.analysis.typing.magnitude import MOST_FOR_INT32
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.callables import user_function
from polygen.ir.dtype import DType, integer_limits, is_exact
from polygen.ir.empty import new_dict, new_set
from polygen.ir.expression import Expression
from polygen.targets.expressions.constant_folding import MIRRORED, decide_comparison, fold_constant
from polygen.targets.expressions.index_ranges import ANY, EXACT, Range, holding, range_of
from polygen.targets.expressions.name_facts import Names
from polygen.targets.languages.target import BOOL, INT64

_OF_DOMAINS = (
    frozenset((ex.Comparison, ex.Sum, ex.Product, ex.FloorDiv, ex.Remainder, ex.Min, ex.Max))
    | walk.LEAVES
)


@dataclass(slots=True)
class Found:
    """Types, constants and ranges of the nodes of an expression, by their identity.

    Attributes:
        kinds: the type of each.
        constants: the values of those that consist of literals only.
        ranges: of those parts of a subscript that depend on data, between which numbers they are.
        entered: those parts of a subscript that are values: they are converted as they come in.
        computed: those parts that are computed in another type than the one they are used in.
        meant: the arithmetic that calls in a subscript stand for.
        indexing: whether these are nodes of a subscript or a bound.
    """

    kinds: dict[int, Kind] = field(default_factory=new_dict)
    constants: dict[int, Any] = field(default_factory=new_dict)
    ranges: dict[int, Range] = field(default_factory=new_dict)
    entered: set[int] = field(default_factory=new_set)
    computed: dict[int, DType] = field(default_factory=new_dict)
    meant: dict[int, Expression] = field(default_factory=new_dict)
    indexing: bool = False


class Annotator:
    """Finds out what is printed of expressions, from their leaves upward.

    Parameters:
        names: what is known of the names that expressions mention.

    Attributes:
        guarding: whether it is a condition that a statement is under.
        bounding: whether it is a bound of a loop: data of the type of indices is taken not to be
            so large that what is computed of it is not of that type.
        found: what is known of the nodes.
        made: nodes that stand for others: while these live, no other one has their identity.
    """

    def __init__(self, names: Names) -> None:
        self.names = names
        self.index_dtype = names.index_dtype
        # What a loop counter or a size may have been declared as.
        sizes = [t for n, t in names.dtypes.items() if names.kinds.get(n) is int and t.kind == "i"]
        self.widest = max((names.index_dtype, *sizes), key=lambda t: t.itemsize)
        long = [n for n, t in names.dtypes.items() if t == INT64]
        self._wide = frozenset([n for n in long if names.kinds.get(n) is int])
        self.guarding = self.bounding = False
        self.found = Found()
        self.made: list[Expression] = []

    def annotate(self, node: Expression) -> Kind:
        """Find the type of `node` and of its parts; needed before any of them is printed.

        What is inside of a subscript says nothing of its type: it is annotated when printed.
        """
        parts = (node.aggregate,) if isinstance(node, ex.Subscript) else walk.parts(node)
        kind = node_type(node, [self.annotate(part) for part in parts], self.names.kinds)
        self.found.kinds[id(node)] = kind
        self._fold(node, parts)
        if isinstance(node, ex.Comparison) and id(node) not in self.found.constants:
            self._decide(node)
        return kind

    def _fold(self, node: Expression, parts: Iterable[Expression]) -> None:
        """Note the value of a node of literals."""
        constants = self.found.constants
        if not isinstance(node, ex.Variable) and constants.keys() >= {*map(id, parts)}:
            constant = fold_constant(node, constants)
            if constant is not None:
                constants[id(node)] = constant

    def _decide(self, node: ex.Comparison) -> None:
        """Find out whether a comparison of integers is with a literal past the type's limits."""
        if self.is_guard(node):
            return
        for side, operator, other in (
            (node.left, node.operator, node.right),
            (node.right, MIRRORED[node.operator], node.left),
        ):
            value, kind = self.found.constants.get(id(other)), self.found.kinds[id(side)]
            if kind is int:
                kind = self.widest
            if isinstance(value, int) and isinstance(kind, np.dtype) and is_exact(kind):
                decided = decide_comparison(integer_limits(kind), operator, value)
                if decided is not None:
                    self.found.constants[id(node)] = decided

    def forget(self) -> None:
        """Forget the types of nodes, which are known by their identity, once all is printed."""
        self.found = Found()
        self.made.clear()

    def kind(self, node: Expression) -> Kind:
        """Return the type of an annotated node: a dtype, or a Python type if it has none."""
        return self.found.kinds[id(node)]

    def constant(self, node: Expression) -> Any:
        """Return the value of an annotated node that consists of literals only, else None."""
        return self.found.constants.get(id(node))

    # --- the first pass, for subscripts and bounds

    @contextmanager
    def apart(self) -> Generator[None]:
        """Forget, for a while, what is found out: nodes may occur here and in what is around."""
        outer, self.found = self.found, Found()
        try:
            yield
        finally:
            self.found = outer

    def annotate_index(self, node: Expression) -> Kind:
        """Find in which types a subscript or a bound is computed: that of indices, or int64.

        What is in it of other types is converted before anything is computed of it, so that
        nothing wraps around.
        """
        self.found.indexing = True
        kind = self._index_kind(node)
        self.found.kinds[id(node)] = kind
        return kind

    def _index_kind(self, node: Expression) -> Kind:
        meant = written_out(node)
        if meant is not node:
            self.made.append(meant)
            self.found.meant[id(node)] = meant
            kind = self.annotate_index(meant)
            self._same(node, meant)
            return kind
        if not is_arithmetic(node):
            return self._entered_kind(node)
        parts = operands(node)
        kinds = [self.annotate_index(part) for part in parts]
        if isinstance(node, ex.If):
            self.found.kinds[id(node.condition)] = self._entered_kind(node.condition)
        self._fold(node, walk.parts(node))
        kind = INT64 if any(k is INT64 for k in kinds) else int
        if not any(id(part) in self.found.ranges for part in parts):
            return kind
        ranges = [self.range_of(part) for part in parts]
        self.found.ranges[id(node)] = range_of(node, ranges)
        return self._computed_kind(node, kind, ranges) if type(node) in EXACT else kind

    def _same(self, node: Expression, other: Expression) -> None:
        for found in (self.found.constants, self.found.ranges):
            if id(other) in found:
                found[id(node)] = found[id(other)]

    def _entered_kind(self, node: Expression) -> Kind:
        """Return the type that a value has in a subscript once it is converted."""
        with self.apart():
            own, constant = self.annotate(node), self.constant(node)
        if isinstance(node, np.generic):
            own, constant = int, node.item()
        if constant is not None:
            self.found.constants[id(node)] = constant
        if not isinstance(node, ex.Variable) and isinstance(node, ex.ExpressionNode):
            self.found.entered.add(id(node))
        if isinstance(own, type) or letter(own) not in "biu":
            return own
        self.found.entered.add(id(node))
        if self.bounding and own == self.index_dtype:
            return int
        self.found.ranges[id(node)] = integer_limits(own)
        fits = self.index_dtype == INT64 or np.can_cast(own, self.index_dtype)
        return int if fits else INT64

    def _computed_kind(self, node: Expression, kind: Kind, ranges: list[Range]) -> Kind:
        """Return the type of the result of an operation that needs all bits of its operands."""
        needed = ranges[:1] if isinstance(node, ex.RightShift) else ranges
        dtype = holding(needed, self.index_dtype)
        if dtype == self.index_dtype:
            return kind
        if dtype == INT64:
            return INT64
        if any(isinstance(part, ex.Sum | ex.Product) for part in operands(node)):
            return INT64  # their parts would have to be of that type, too
        self._keep_signed(operands(node))
        self.found.computed[id(node)] = dtype
        least, most = integer_limits(self.index_dtype)
        low, high = self.found.ranges[id(node)]
        return int if least <= low and high <= most else INT64

    def _keep_signed(self, parts: Iterable[Expression]) -> None:
        """Give types to operands of unsigned operations: inside of them numbers may be negative."""
        found = self.found
        for part in parts:
            meant = found.meant.get(id(part), part)
            if found.kinds[id(meant)] is int and is_arithmetic(meant):
                found.kinds[id(meant)] = INT64 if id(meant) in found.ranges else self.widest

    def range_of(self, node: Expression) -> Range:
        """Return between which numbers an annotated node is, a value or a part of a subscript."""
        found = self.found.ranges.get(id(node))
        if found is not None:
            return found
        constant = node.item() if isinstance(node, np.generic) else self.constant(node)
        if isinstance(constant, int):
            return constant, constant
        kind = self.found.kinds.get(id(node))
        if isinstance(kind, np.dtype) and not self.found.indexing:
            found = self.found.ranges[id(node)] = self._range_of_value(node, kind)
            return found
        # What is computed of loop counters and sizes alone fits into the type of indices.
        wide = self.index_dtype == INT64 or not walk.free_variables(node).isdisjoint(self._wide)
        most = integer_limits(INT64)[1] if wide else MOST_FOR_INT32
        return (0 if self.never_negative(node) else -most), most

    def _range_of_value(self, node: Expression, dtype: DType) -> Range:
        """Return between which numbers a value is, of which it is known that it wraps around."""
        if not is_exact(dtype):
            return ANY
        limits = integer_limits(dtype)
        if isinstance(node, ex.Variable) and node.name in self.names.nonnegative:
            return 0, limits[1]
        if isinstance(node, ex.Call):
            return self._range_of_converted(node, limits)
        if dtype == BOOL or not is_arithmetic(node):
            return limits
        parts = operands(node)
        if isinstance(node, ex.If) and (decided := self.constant(node.condition)) is not None:
            return _within(self.range_of(node.then if decided else node.else_), limits)
        ranges = [self.range_of(part) for part in parts]
        several = isinstance(node, ex.Sum | ex.Product)
        if several and any(self._is_smaller(part, dtype) for part in parts):
            return limits  # some of them meet in a smaller type, and wrap around there
        low, high = range_of(node, ranges)
        if isinstance(node, ex.FloorDiv | ex.Remainder):  # of division by zero comes zero
            low, high = min(low, 0), max(high, 0)
        return _within((low, high), limits)

    def _is_smaller(self, part: Expression, dtype: DType) -> bool:
        kind = self.found.kinds[id(part)]
        return isinstance(kind, np.dtype) and kind not in {dtype, BOOL}

    def _range_of_converted(self, node: ex.Call, limits: Range) -> Range:
        """Return between which numbers the result of a function is: of a conversion, the same."""
        own = user_function(node) is not None
        if own or lookup(ex.name_of(node.function)).result is not ResultType.CONVERTED:
            return limits
        (value,) = node.parameters
        kind = self.found.kinds[id(value)]
        is_whole = kind is int or (isinstance(kind, np.dtype) and is_exact(kind))
        return _within(self.range_of(value), limits) if is_whole else limits

    def wraps_around(self, kind: Kind) -> bool:
        """Tell whether results that no number of a type is wrap around: not of loop counters."""
        return kind is not int and not self.found.indexing

    def never_negative(self, node: Expression) -> bool:
        """Tell whether a part of a subscript is known to be at least 0."""
        found = self.found.ranges.get(id(node))
        if found is not None:
            return found[0] >= 0
        if isinstance(node, ex.Variable):
            return node.name in self.names.nonnegative
        if isinstance(node, ex.BitwiseNot):
            return False
        return is_arithmetic(node) and all(map(self.never_negative, operands(node)))

    def is_guard(self, node: ex.Comparison) -> bool:
        """Tell whether a comparison is what a loop's domain says: then it is one of integers."""
        if not self.guarding or self.names.bounding.isdisjoint(walk.free_variables(node)):
            return False
        return walk.classes(node) <= _OF_DOMAINS


def _within(found: Range, limits: Range) -> Range:
    """Return a range, or that of the type if it does not hold the former."""
    return found if limits[0] <= found[0] and found[1] <= limits[1] else limits
