"""Compares two expressions at corresponding instances of two kernels.

See `polygen.analysis.values.equivalence` for when two values are the same.
"""

from __future__ import annotations

from polygen.analysis.access.accesses import evaluated_under
from polygen.analysis.access.instance_map import InstanceMap
from polygen.analysis.dataflow.comparison_context import Context, Names
from polygen.analysis.dataflow.computed_difference import Difference, other_work, undecided
from polygen.analysis.dataflow.read_origins import Origins, is_access
from polygen.analysis.integers.unknowns import is_by_size, without_whole_sizes
from polygen.analysis.typing.index_arithmetic import is_arithmetic
from polygen.analysis.typing.kept_types import is_of_type, may_wrap
from polygen.analysis.values.read_matching import Reads
from polygen.analysis.values.staged_sums import Sums
from polygen.analysis.values.unaffected_variables import Settled
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.instruction import identical
from polygen.ir.kernel import Kernel

_OTHER_TYPE = (
    "what is chosen may be of another type in a choice; types that are declared may settle this"
)
_WRAPS = "what is stored wraps around at its type, and the same in a subscript does not"


class Matcher:
    """Compares expressions of a kernel before a step with those of the kernel after it.

    Attributes:
        reads: compares those that read something.
        sums: compares reductions.
    """

    def __init__(
        self, old: Kernel, new: Kernel, instances: InstanceMap, settled: Settled, names: Names
    ) -> None:
        origins = Origins(old, new, names)
        self.reads = Reads(self, origins, instances, settled, names)
        self.sums = Sums(self, origins, instances, names)

    def match(self, old: Expression, new: Expression, at: Context) -> Difference | None:
        """Return how the values of two expressions differ, or None if they do not.

        Parameters:
            old: an expression of the old frame's instruction.
            new: one of the new frame's.
            at: where they are compared.
        """
        if at.is_empty:
            return None
        if at.old.is_too_deep or at.new.is_too_deep:
            return undecided(at.old.insn, None, "too many writes would have to be followed")
        found = self._compared(old, new, at)
        if found is None or isinstance(old, ex.If) is isinstance(new, ex.If):
            return found
        return self._chosen(old, new, at, found)

    def _compared(self, old: Expression, new: Expression, at: Context) -> Difference | None:
        if is_access(old, at.old) or is_access(new, at.new):
            return self.reads.difference(old, new, at)
        if at.old.indexing is not at.new.indexing and _wraps(old, new, at):
            return undecided(at.old.insn, None, _WRAPS)
        if at.have_one_value(old, new):
            return None
        integers = at.old.integer(old), at.new.integer(new)
        if integers[0] is not None and integers[1] is not None:
            bad = at.points.intersect(integers[0].ne_set(integers[1]))
            return None if bad.is_empty() else other_work(old, new, at, bad)
        if isinstance(old, ex.Reduction) and isinstance(new, ex.Reduction):
            return self.sums.difference(old, new, at)
        return self._parts(old, new, at)

    def _chosen(
        self, old: Expression, new: Expression, at: Context, otherwise: Difference
    ) -> Difference | None:
        """Compare a value with a choice: with either of its values, where that is chosen."""
        frame, choice = (at.old, old) if isinstance(old, ex.If) else (at.new, new)
        assert isinstance(choice, ex.If)
        there = frame.holds(choice.condition)
        if there is None:
            return otherwise
        for value, points in ((choice.then, there), (choice.else_, there.complement())):
            inner = at.restricted(points)
            both = (value, new) if frame is at.old else (old, value)
            found = self.match(*both, inner)
            if found is None and not (inner.is_empty or is_of_type(frame.kernel, choice, value)):
                found = undecided(at.old.insn, None, _OTHER_TYPE)
            if found is not None:
                return found
        return None

    def _parts(self, old: Expression, new: Expression, at: Context) -> Difference | None:
        if is_by_size(old) and is_by_size(new):
            old, new = without_whole_sizes(old), without_whole_sizes(new)
        same = type(old) is type(new) and len(walk.parts(old)) == len(walk.parts(new))
        if not same or not _same_node(old, new):
            return other_work(old, new, at, at.points)
        inside = zip(evaluated_under(old, ()), evaluated_under(new, ()), strict=True)
        arithmetic = is_arithmetic(old)
        for number, ((before, was), (after, now)) in enumerate(inside):
            under = self._under(at, was, now)
            if not arithmetic or (number == 0 and isinstance(old, ex.If)):
                under = under.indexing(False)
            found = self.match(before, after, under)
            if found is not None:
                return found
        return None

    def _under(
        self, at: Context, was: tuple[Expression, ...], now: tuple[Expression, ...]
    ) -> Context:
        """Return the context for what is evaluated under conditions that match each other."""
        if not was:
            return at
        points = at.points
        for condition in was:
            holds = at.old.holds(condition)
            points = points if holds is None else points.intersect(holds)
        return Context(points, at.old.under(*was), at.new.under(*now))


def _same_node(old: Expression, new: Expression) -> bool:
    """Tell whether two nodes differ in nothing but their parts."""
    marks = tuple(ex.Variable(f"__{number}") for number in range(len(walk.parts(old))))
    if not marks:
        return identical(old, new)
    if isinstance(old, ex.Subscript):
        raise InternalError("a subscript is compared as an access")
    return bool(walk.rebuild(old, marks) == walk.rebuild(new, marks))


def _wraps(old: Expression, new: Expression, at: Context) -> bool:
    """Tell whether one of two expressions is a value that wraps around, the other none."""
    return may_wrap(at.old.kernel, old) or may_wrap(at.new.kernel, new)
