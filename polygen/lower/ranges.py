"""Ranges of counters and sizes at a place in a loop program."""

from __future__ import annotations

import islpy as isl
import numpy as np

from polygen.analysis.integers.isl_affine import condition_set
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.lower.program import HostLoop, Launch, Loop, LoopProgram

_PIECES = 8  # of a bound that is a minimum or a maximum: one of more is left out


class Ranges:
    """The facts that loops, axes and conditions say of counters and sizes, which never change.

    Parameters:
        program: the program.

    Attributes:
        counters: the names of counters and sizes.
    """

    def __init__(self, program: LoopProgram) -> None:
        kinds = program.dtypes.items()
        self.counters = {name for name, kind in kinds if not isinstance(kind, np.dtype)}

    def where(self, known: isl.Set, condition: Expression) -> isl.Set:
        """Return what is known where a condition holds."""
        holds = condition_set(condition, self.counters)
        return known if holds is None else known.intersect(holds)

    def inside(self, known: isl.Set, loop: Loop | HostLoop) -> isl.Set:
        """Return what is known in a loop."""
        return self._in_range(known, loop.iname, loop.lower, loop.upper)

    def in_launch(self, known: isl.Set, launch: Launch) -> isl.Set:
        """Return what is known in a launch."""
        for axis in launch.axes:
            if not axis.inames:
                continue
            (one, least), *others = axis.inames
            known = self._in_range(known, one, least, ex.sum_of(least, axis.size))
            # The others count the same.  As ranges, these would multiply the pieces of the size.
            for iname, first in others:
                alike = ex.Comparison(_sum(iname, least), "==", _sum(one, first))
                known = self.where(known, alike)
        return known

    def holds(self, known: isl.Set, condition: Expression) -> bool:
        """Tell whether a condition is known to hold."""
        some = condition_set(condition, self.counters)
        return some is not None and known.is_subset(some)

    def _in_range(
        self, known: isl.Set, iname: str, lower: Expression, upper: Expression
    ) -> isl.Set:
        counter = ex.Variable(iname)
        for bound in (ex.Comparison(lower, "<=", counter), ex.Comparison(counter, "<", upper)):
            holds = condition_set(bound, self.counters)
            if holds is not None and holds.n_basic_set() <= _PIECES:
                known = known.intersect(holds)
        return known


def _sum(iname: str, first: Expression) -> Expression:
    return ex.sum_of(ex.Variable(iname), first)
