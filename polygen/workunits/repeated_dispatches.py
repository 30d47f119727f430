"""A dispatch that was made before: with such arguments, in as little time as can be.

What is looked at is what a program does not look at itself: names, the kind of policy, the space,
and that no two arrays share memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polygen.ir.traced_calls import TRACING
from polygen.lazy.fused_calls import TRACE
from polygen.lazy.futures import Future
from polygen.lazy.memory import Interval
from polygen.lazy.recording import line_of_call
from polygen.lazy.trace import NO_CALLS, Call
from polygen.python.generated_calls import MISS, PLAIN
from polygen.python.source_functions import SourceFunction
from polygen.workunits.failed_dispatches import DispatchKind
from polygen.workunits.views import Subview, View


@dataclass(frozen=True)
class Repeated:
    """A dispatch as it is made again.

    Attributes:
        call: runs the program, or returns `MISS`.
        returns: whether it returns something.
        begins: what accumulators begin with.
        ordered: returns arguments in the order of parameters; None if they are in it.
        constants: the values of further parameters.
        function: the statements of the program.
        target: where it runs.
        effects: of each argument: its number of subscripts, 0 for a number, and whether it may be
            read and written.
        kind: tells errors.
    """

    call: Callable[..., Any]
    returns: bool
    begins: tuple[Any, ...]
    ordered: Callable[[Sequence[Any]], Sequence[Any]] | None
    constants: tuple[Any, ...]
    function: SourceFunction
    target: str
    effects: tuple[tuple[int, bool, bool], ...]
    kind: DispatchKind

    def run(self, bounds: Sequence[int], owner: Sequence[Any], given: Sequence[Any]) -> Any:
        """Run the program again, or return `MISS` where that has to be looked at.

        Parameters:
            bounds: those of the policy.
            owner: the object, of a method.
            given: the arguments.
        """
        if TRACING.get():
            return MISS if owner else self._record(bounds, given)
        if TRACE.waiting:
            return MISS
        values: list[Any] = []
        owners = set[int]()
        for one in given:
            kind = one.__class__
            array = one.traced_array if kind is View or kind is Subview else one
            if type(array) is np.ndarray:
                own = id(array if array.base is None else array.base)
                if own in owners:
                    return MISS
                owners.add(own)
            values.append(array)
        passed = values if self.ordered is None else self.ordered(values)
        found = self.call(*bounds, *self.begins, *owner, *passed, *self.constants)
        if found is MISS or found is PLAIN:
            return MISS
        return found if self.returns else None

    def _record(self, bounds: Sequence[int], given: Sequence[Any]) -> Any:
        """Let the call wait, if all of its arrays are views of as many subscripts as before."""
        values: list[Any] = [*bounds, *self.begins]
        reads, writes = list[Interval](), list[Interval]()
        needs: set[Call] | None = None
        ordered = given if self.ordered is None else self.ordered(list(given))
        for one, (rank, is_read, is_written) in zip(ordered, self.effects, strict=True):
            kind = one.__class__
            if kind is View or kind is Subview:
                values.append(one.traced_array)
                if one.traced_array.ndim != rank:
                    return MISS
                if is_read:
                    reads.append(one.place)
                if is_written:
                    writes.append(one.place)
            elif rank or kind not in _NUMBERS:
                return MISS
            else:
                values.append(one)
                if kind is Future:
                    if one.is_known and type(one.value) not in _NUMBERS:
                        return MISS
                    calls: set[Call] = one.calls()
                    needs = calls if needs is None else needs | calls
                    if any(call.returned for call in calls):
                        return MISS
        values += self.constants
        call = Call(
            TRACE, self.function, self.target, values, reads, writes, line_of_call(),
            needs=frozenset(needs) if needs else NO_CALLS, explain=self.kind.explain,
        )  # fmt: skip
        found = TRACE.record(call, len(self.begins))
        return found[0] if len(found) == 1 else (found or None)


_NUMBERS = {int, float, complex, bool, Future, np.float64, np.float32, np.int64, np.int32}


def ordered_by(names: Sequence[str], given: Mapping[str, Any]) -> Any:
    """Return what brings arguments into the order of parameters; None if they are in it.

    Parameters:
        names: the parameters, all of which are given.
        given: the arguments by name.
    """
    order = list(given)
    if order == list(names):
        return None
    places = [order.index(name) for name in names]

    def ordered(values: Sequence[Any]) -> list[Any]:
        return [values[place] for place in places]

    return ordered
