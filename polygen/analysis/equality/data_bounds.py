"""Bounds of loops that are data: numbers of which nothing is known but which of them are equal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import islpy as isl

from polygen.analysis.dataflow.comparison_context import Frame, Names, executed, executed_given
from polygen.analysis.equality.compared_values import Value, in_names
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel

Same = Callable[[Value, Value, isl.Set], isl.Set]


@dataclass
class Bounds:
    """Finds the iterations of loops, with a name for each bound that is data.

    Attributes:
        first: the first of the kernels.
        same: returns at which points two values, the first kernel's first, are proved the same.
        names: makes names.
    """

    first: Kernel
    same: Same
    names: Names
    _known: list[tuple[Value, str]] = field(default_factory=list[tuple[Value, str]])

    def executed(self, around: Frame, frame: Frame, points: isl.Set) -> isl.Set:
        """Return the points at which a frame's loops are, for given values of data.

        Two bounds have one name if they are the same at all points.

        Parameters:
            around: the frame outside of the reductions that are looked at, where bounds are read.
            frame: the frame.
            points: where it is looked at.
        """
        domain, exact = executed(frame)
        if exact:
            return domain
        given, data = executed_given(frame)
        called = {name: self._name(Value(ex.Variable(name), around), points) for name in data}
        return in_names(given, called)

    def _name(self, bound: Value, points: isl.Set) -> str:
        is_first = bound.kernel is self.first
        for value, name in self._known:
            if (value.kernel is self.first) == is_first:
                continue
            pair = (bound, value) if is_first else (value, bound)
            if points.is_subset(self.same(*pair, points)):
                return name
        for value, name in self._known:
            if value.kernel is bound.kernel and _are_one(value, bound):
                return name
        (name,) = self.names.fresh(("bound",)).values()
        self._known.append((bound, name))
        return name


def _are_one(first: Value, second: Value) -> bool:
    return first.key == second.key and first.frame.names == second.frame.names
