"""Values that two kernels compute, where they are compared.

A value is an expression at instances of an instruction (a *frame*), converted to the types of what
it was stored in on its way.  Names of instances are those of a flat set, as in
`polygen.analysis.dataflow.comparison_context`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import isfinite

import islpy as isl
import numpy as np

from polygen.analysis.dataflow.comparison_context import Frame, renamed_by
from polygen.analysis.dataflow.computed_difference import END
from polygen.analysis.typing.expression_types import type_of
from polygen.analysis.typing.index_arithmetic import is_arithmetic
from polygen.analysis.typing.kept_types import known_kinds, may_wrap
from polygen.analysis.typing.kinds import INT64, Kind, is_index, same_kind
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg, TemporaryVariable, ValueArg
from polygen.ir.domain import flat_names
from polygen.ir.dtype import DType, is_integer
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel

_PARAM = isl.dim_type.param
_OWN = "__"  # names of users do not begin so
_EXACT = 2**11  # integers up to this are numbers of any type for numbers that is not too short


@dataclass(frozen=True)
class Value:
    """A value that a kernel computes.

    Attributes:
        node: the expression.
        frame: the instances at which it is evaluated.
        casts: the types that it is converted to, the last one first.
        was_there: whether it is an element that was there before the kernel: nothing wrote it.
    """

    node: Expression
    frame: Frame
    casts: tuple[DType, ...] = ()
    was_there: bool = False

    @property
    def kernel(self) -> Kernel:
        """The kernel that computes it."""
        return self.frame.kernel

    @property
    def kind(self) -> Kind:
        """Its type."""
        if self.casts:
            return self.casts[0]
        if self.frame.insn is END:  # whose subscripts no kernel knows
            return known_kinds(self.kernel)[ex.name_of(self.node)] if self.is_read else int
        return kind_of(self.kernel, self.node)

    @property
    def key(self) -> tuple[object, ...]:
        """The key that tells it from other values, its instances aside."""
        names = tuple(sorted(self.frame.names))
        numbers = walk.numbers(self.node)
        frame = self.frame
        return (
            frame.insn.id,
            self.node,
            numbers,
            names,
            frame.conditions,
            self.casts,
            frame.indexing,
        )

    @property
    def names(self) -> frozenset[str]:
        """The names of its instances."""
        return frozenset(self.frame.names.values())

    def part(self, node: Expression) -> Value:
        """Return a part of the expression, as a value of its own."""
        indexing = self.frame.indexing and is_arithmetic(self.node)
        if isinstance(self.node, ex.If) and node is self.node.condition:
            indexing = False
        if indexing is self.frame.indexing:
            return Value(node, self.frame)
        return Value(node, replace(self.frame, indexing=indexing))

    def subscript(self, node: Expression) -> Value:
        """Return a subscript of the element that this is."""
        return Value(node, replace(self.frame, indexing=True))

    def is_other_arithmetic(self, *, indexing: bool) -> bool:
        """Tell whether this wraps around, and not in a subscript, or the other way round."""
        return self.frame.indexing is not indexing and may_wrap(self.kernel, self.node)

    def within(self, *conditions: Expression) -> Value:
        """Return the value as it is where conditions hold."""
        parts = [part for c in conditions for part in walk.conjuncts(c)]
        return replace(self, frame=self.frame.under(*parts))

    def named(self, names: dict[str, str]) -> Value:
        """Return the value with other names for its instances."""
        return replace(self, frame=replace(self.frame, names=names))

    @property
    def integer(self) -> isl.PwAff | None:
        """The function of the instances' names that it is, if it is an affine integer."""
        if any(cast != INT64 for cast in self.casts):  # others may be too narrow for it
            return None
        found = self.frame.integer(self.node)
        if found is None or self.frame.insn is END:  # whose subscripts have no types
            return found
        return found if is_whole(kind_of(self.kernel, self.node)) else None

    @property
    def number(self) -> int | float | None:
        """The number that it is, if it is one that all its types have."""
        number = _literal(self.node)
        if number is None or not isfinite(number):
            return None
        if self.casts and (number != int(number) or abs(number) > _EXACT):
            return None
        if any(cast.kind == "b" or cast.itemsize == 1 for cast in self.casts):
            return None
        return None if number < 0 and any(cast.kind == "u" for cast in self.casts) else number

    @property
    def is_read(self) -> bool:
        """Whether it is what a variable or an element of one holds."""
        if isinstance(self.node, ex.Subscript):
            return True
        return isinstance(self.node, ex.Variable) and isinstance(
            self.kernel.variables.get(self.node.name), GlobalArg | TemporaryVariable | ValueArg
        )


def _literal(node: Expression) -> int | float | None:
    """Return the number that is written, with its sign."""
    if isinstance(node, ex.Product) and len(node.children) == 2 and node.children[0] == -1:
        found = _literal(node.children[1])
        return None if found is None else -found
    return node if isinstance(node, int | float) and not isinstance(node, bool) else None


def kind_of(kernel: Kernel, node: Expression) -> Kind:
    """Return the type of an expression of a kernel."""
    return _kind_of(kernel, node, walk.numbers(node))


@per_kernel
def _kind_of(kernel: Kernel, node: Expression, _: tuple[str, ...]) -> Kind:
    # Nodes that differ in 2 and 2.0 are equal to Python.
    return type_of(node, known_kinds(kernel))


def is_whole(kind: Kind) -> bool:
    """Tell whether a type is one of integers."""
    return is_index(kind) or (isinstance(kind, np.dtype) and is_integer(kind))


def are_alike(first: Kind, second: Kind) -> bool:
    """Tell whether two types are one, or one of them adapts to the other."""
    if isinstance(first, type) or isinstance(second, type):
        return is_whole(first) == is_whole(second)
    return same_kind(first, second)


def kept_casts(kind: Kind, casts: Sequence[DType]) -> tuple[DType, ...]:
    """Return the conversions of a value, without those that make no difference.

    ``float32(float64(x))`` is x, if that is of float32.

    Parameters:
        kind: the type of what is converted.
        casts: the types that it is converted to, the last one first.
    """
    if isinstance(kind, type):
        return tuple(casts)
    chain = [kind]
    for cast in reversed(casts):
        if len(chain) > 1 and _loses_nothing(*chain[-2:]):
            chain.pop()
        if not same_kind(chain[-1], cast):
            chain.append(cast)
    return tuple(reversed(chain[1:]))


def _loses_nothing(kind: DType, cast: DType) -> bool:
    """Tell whether all values of a type are values of another one."""
    is_long = is_integer(kind) and kind.itemsize == INT64.itemsize
    if "V" in (kind.kind, cast.kind) or (is_long and not is_integer(cast)):
        return False  # NumPy takes 2**63 - 1 for a number of float64
    return bool(np.can_cast(kind, cast, "safe"))


def is_rounded(kind: Kind) -> bool:
    """Tell whether sums of a type depend on the order in which they are added up."""
    return not is_whole(kind) and not (isinstance(kind, np.dtype) and kind.kind == "b")


# --- flat sets


def own_names(points: isl.Set) -> list[str]:
    """Return the names of instances that a flat set has: those that are no parameters."""
    return [name for name in flat_names(points) if name.startswith(_OWN)]


def without(points: isl.Set, names: Iterable[str]) -> isl.Set:
    """Return a flat set without some names: for some values of them."""
    for name in names:
        position = points.find_dim_by_name(_PARAM, name)
        if position >= 0:
            points = points.project_out(_PARAM, position, 1)
    return points


def onto(points: isl.Set, names: Iterable[str]) -> isl.Set:
    """Return a flat set without the names of instances that are not among some."""
    kept = frozenset(names)
    return without(points, [name for name in own_names(points) if name not in kept])


def in_names(points: isl.Set, names: dict[str, str]) -> isl.Set:
    """Return a flat set with other names."""
    return renamed_by(points, names)


def is_function(points: isl.Set, names: Sequence[str]) -> bool:
    """Tell whether some names of a flat set have one value at most, given all others."""
    found = isl.Set.from_params(points)
    for name in names:
        position = found.find_dim_by_name(_PARAM, name)
        if position < 0:
            return False  # it may be anything
        found = found.move_dims(isl.dim_type.set, found.dim(isl.dim_type.set), _PARAM, position, 1)
    return bool(found.is_singleton())
