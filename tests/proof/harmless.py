"""Whether a step that was refused would have done harm, found by executing.

It does harm if executions of the kernels before and after it differ, for some sizes, some data and
some permitted order, or if the kernel after it has a data race: two instances that touch one
element, one of them writing, and come in either order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import polygen as pg
from polygen.analysis.dataflow.permitted_executions import why_none_is_permitted
from polygen.errors import CannotProve, UserError
from polygen.ir.kernel import Kernel
from tests.oracle.compare import typed
from tests.oracle.evaluate import OracleError
from tests.oracle.rules import inlined
from tests.proof.generator import LIMITS as INDICES
from tests.proof.judge import Call, Limits, allowed, arguments_of, judge, other_nests
from tests.proof.races import has_race

LIMITS: Limits = {**INDICES, "count": 4}
SMALL = [({"n": n, "m": m}, seed) for seed, (n, m) in enumerate(((4, 4), (3, 2), (1, 4), (2, 3)))]
LARGER = [({"n": n, "m": m}, 50 + n) for n, m in ((6, 6), (7, 5), (5, 7), (7, 7))]
ALL = [({"n": n, "m": m}, 8 * n + m) for n in range(8) for m in range(8)]
# What is in arrays of subscripts: anything, or so few numbers that some come several times.
DATA: tuple[Limits, ...] = (
    LIMITS,
    {**LIMITS, "idx": 24},
    *({**LIMITS, "idx": range(first, first + 2)} for first in range(1, 12)),
)


def harm(old: Kernel, new: Kernel, error: UserError, *, exact: bool = False) -> str | None:
    """Return what is wrong with a step that was refused, or None if nothing is seen.

    Parameters:
        old: the kernel before.
        new: the kernel that the step would have made.
        error: why it was refused: its witness names sizes to look at.
        exact: whether sums of floating-point numbers are to be exact: see `arguments_of`.
    """
    look = _Look(old, new, exact)
    seen, more = allowed(new, _witness(error)), allowed(new, LARGER)
    for calls in (seen, allowed(new, SMALL), more):
        if look.differs(calls, LIMITS):
            return "results differ"
        if look.races(calls, LIMITS):
            return "a race"
    if isinstance(error, CannotProve):
        for limits, calls in _data([*seen[:2], *more[:2]]):
            if look.differs(calls, limits) or look.races(calls, limits):
                return "results differ for some data"
    if look.nest_decides([*seen, *more]):
        return "results depend on a nesting that is left open"
    if look.differs(allowed(new, ALL), LIMITS):
        return "results differ"
    return None


def _witness(error: UserError) -> Iterator[Call]:
    """Yield the sizes that a refusal names, and larger ones."""
    named = {name: int(value) for name, value in re.findall(r"\b([nm])=(\d+)", str(error))}
    for more in range(3 if named else 0):
        yield {"n": 4, "m": 4} | {name: value + more for name, value in named.items()}, 90 + more


def _data(calls: Sequence[Call]) -> Iterator[tuple[Limits, list[Call]]]:
    for number, limits in enumerate(DATA):
        for again in range(3):
            yield limits, [(sizes, 1000 * number + 7 * again + seed) for sizes, seed in calls]


class _Look:
    def __init__(self, old: Kernel, new: Kernel, exact: bool) -> None:
        self._old, self._new, self._exact = old, new, exact

    def differs(self, calls: Iterable[Call], limits: Limits) -> bool:
        """Tell whether results differ."""
        return self._are_other(self._new, calls, limits)

    def _are_other(self, new: Kernel, calls: Iterable[Call], limits: Limits) -> bool:
        found = judge(self._old, new, calls, limits, seeds=6, exact=self._exact)
        return found.differs is not None

    def races(self, calls: Iterable[Call], limits: Limits) -> bool:
        """Tell whether the new kernel has a data race."""
        for sizes, seed in calls:
            arguments = arguments_of(self._old, sizes, seed, limits)
            with pg.without_proofs():
                kernel = inlined(typed(self._new, arguments))
            try:
                if has_race(kernel, arguments, range(6)):
                    return True
            except OracleError:  # no execution is permitted
                return True
        return False

    def nest_decides(self, calls: Sequence[Call]) -> bool:
        """Tell whether results depend on which loop is outside after a step, but not before."""
        olds, news = (list(_possible(kernel)) for kernel in (self._old, self._new))
        if any(self._are_other(other, calls, LIMITS) for other in olds):
            return False
        return any(self._are_other(other, calls, LIMITS) for other in news)


def _possible(kernel: Kernel) -> Iterator[Kernel]:
    return (k for k in other_nests(kernel, 3) if why_none_is_permitted(k) is None)
