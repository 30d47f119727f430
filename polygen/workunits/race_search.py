"""Races in a dispatch with given data: it runs as plain Python, and accesses are noted.

Where data decides which elements a work unit touches, a dispatch takes the user's word.  This looks
at what the iterations do with this data.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polygen.errors import PolicyMismatch
from polygen.python.array_libraries import library_of
from polygen.source import caller_location
from polygen.workunits.accumulators import AccumulatorType
from polygen.workunits.captured_values import captured_values
from polygen.workunits.decorators import BoundWorkUnit
from polygen.workunits.out_of_bounds import with_captured
from polygen.workunits.plain_runs import run_plainly
from polygen.workunits.policies import MDRangePolicy, RangePolicy, TeamPolicy, policy_of
from polygen.workunits.signatures import annotations_of, signature_of
from polygen.workunits.views import View


@dataclass(frozen=True)
class Race:
    """Two iterations that touch one element, which one of them writes.

    Attributes:
        view: the name of the view.
        element: its subscripts.
        writer, other: the iterations, as values of the indices by name.
        other_writes: whether the other one writes, too.
    """

    view: str
    element: tuple[int, ...]
    writer: Mapping[str, int]
    other: Mapping[str, int]
    other_writes: bool

    def __str__(self) -> str:
        place = ", ".join(map(str, self.element))
        does = "writes, too" if self.other_writes else "reads"
        return (
            f"iteration {_shown(self.writer)} writes {self.view}[{place}], which iteration "
            f"{_shown(self.other)} {does}"
        )


def _shown(index: Mapping[str, int]) -> str:
    return ", ".join([f"{name}={value}" for name, value in index.items()])


class _Noted:
    """A record of what iterations did with the elements of an array, by number of the element.

    Attributes:
        name: the array's.
        array: the array.
        reads, writes: of each element, the iterations.
        updates: of each element, the iterations that read it before each write, and no more.
    """

    def __init__(self, name: str, array: Any) -> None:
        self.name, self.array = name, array
        self.reads: dict[int, set[int]] = {}
        self.writes: dict[int, set[int]] = {}
        self.updates: dict[int, set[int]] = {}
        self._now: dict[int, list[str]] = {}

    def note(self, places: Any, kind: str) -> None:
        """Note that the iteration that runs reads (r) or writes (w) elements."""
        for place in np.ravel(places).tolist():
            self._now.setdefault(place, []).append(kind)

    def end(self, iteration: int) -> None:
        """End an iteration."""
        for place, kinds in self._now.items():
            text = "".join(kinds)
            if text == "rw" * (len(text) // 2):
                self.updates.setdefault(place, set()).add(iteration)
                continue
            for kind, known in (("r", self.reads), ("w", self.writes)):
                if kind in text:
                    known.setdefault(place, set()).add(iteration)
        self._now = {}

    def first(self) -> tuple[int, int, int, bool] | None:
        """Return an element, the iteration that writes it, another one, and whether that does."""
        for place in sorted({*self.writes, *self.updates}):
            updaters = self.updates.get(place, set[int]())
            writers = self.writes.get(place, set[int]())
            # Updates are atomic: they conflict with what is none.
            for writer in sorted(writers or updaters):
                others = (writers | updaters if writer in writers else set[int]()) - {writer}
                if others:
                    return place, writer, min(others), True
                readers = self.reads.get(place, set[int]()) - {writer}
                if readers:
                    return place, writer, min(readers), False
        return None


class _NotingView(View):
    """A view whose accesses are noted: of a whole array, or of a part of it."""

    __slots__ = ("_noted", "_places")

    def __init__(self, noted: _Noted, array: Any, places: Any) -> None:
        super().__init__(array=array)
        self._noted, self._places = noted, places

    def __getitem__(self, key: Any) -> Any:
        places = self._places[key]
        if getattr(places, "shape", ()):
            return _NotingView(self._noted, self.traced_array[key], places)
        self._noted.note(places, "r")
        return self.traced_array[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._noted.note(self._places[key], "w")
        self.traced_array[key] = value.array if isinstance(value, View) else value

    def _read(self) -> Any:
        self._noted.note(self._places, "r")
        return self.traced_array

    @property
    def array(self) -> Any:
        """The elements, all of which are noted as read."""
        return self._read()


def find_race(policy: Any, unit: Any, **arguments: Any) -> Race | None:
    """Return two iterations that touch one element with this data, which one writes; else None.

    The dispatch runs as plain Python, on copies of the arguments.  Updates (``x[k[i]] += v``,
    `atomic_add`) may meet each other, since they are atomic.  Views from outside of the work unit,
    as attributes of its object too, are looked at as well.

    Parameters:
        policy: a range or a box, or a number of iterations.
        unit: the work unit.
        arguments: what it takes, by name.

    Raises:
        PolicyMismatch: for a policy of teams, or if the work unit takes other arguments.

    >>> import numpy as np
    >>> import polygen.workunits as pk
    >>> @pk.workunit
    ... def scatter(i: int, k: pk.View1D[pk.int64], x: pk.View1D[pk.double]):
    ...     x[k[i]] = i
    >>> print(pk.find_race(4, scatter, k=np.array([2, 0, 1, 2]), x=np.zeros(3)))
    iteration i=0 writes x[2], which iteration i=3 writes, too
    """
    made = policy_of(policy)
    if isinstance(made, TeamPolicy):
        raise PolicyMismatch(
            "find_race is given a policy of teams",
            where=caller_location(),
            remedy="pass a RangePolicy or an MDRangePolicy; team policies are proved",
        )
    owner: list[Any] = [copy.copy(unit.instance)] if isinstance(unit, BoundWorkUnit) else []
    function = (unit.unit if isinstance(unit, BoundWorkUnit) else unit).function
    kinds = annotations_of(function).values()
    pattern = "reduce" if any(isinstance(one, AccumulatorType) for one in kinds) else "for"
    signature = signature_of(function, pattern, made, is_method=bool(owner))
    noted: list[_Noted] = []
    passed = signature.arguments(arguments, function.__name__)
    given = [_noting(name, value, noted) for name, value in passed.items()]
    for one in owner:
        attributes: dict[str, Any] = {**vars(one)}
        for name, value in attributes.items():
            setattr(one, name, _noting(f"{signature.owner}.{name}", value, noted))
    outer = captured_values(function, signature.captured)
    function = with_captured(function, {n: _noting(n, v, noted) for n, v in outer.items()})
    points = list(itertools.product(*[range(low, high) for low, high in made.ranges]))
    for number, point in enumerate(points):
        begins = [kind.start for _, kind in signature.accumulators]
        one_index = _only(made, point)
        run_plainly(function, pattern, one_index, signature, begins, [*owner, *given])
        for one in noted:
            one.end(number)
    return _first_of(noted, points, signature.indices)


def _only(policy: RangePolicy | MDRangePolicy, point: Sequence[int]) -> RangePolicy | MDRangePolicy:
    """Return a policy of one iteration."""
    if isinstance(policy, RangePolicy):
        return RangePolicy(point[0], point[0] + 1)
    return MDRangePolicy(list(point), [one + 1 for one in point])


def _noting(name: str, value: Any, noted: list[_Noted]) -> Any:
    """Return a copy of an array whose accesses are noted; any other value as it is."""
    array = value.array if isinstance(value, View) else value
    if library_of(array) is None or not getattr(array, "shape", ()):
        return value
    made = _Noted(name, array.copy())
    noted.append(made)
    numbers: Any = np.arange(int(array.size))
    places: Any = numbers.reshape(array.shape)
    return _NotingView(made, made.array, places)


def _first_of(
    noted: Sequence[_Noted], points: Sequence[Sequence[int]], names: Sequence[str]
) -> Race | None:
    for one in noted:
        found = one.first()
        if found is not None:
            place, writer, other, other_writes = found
            element = tuple([int(at) for at in np.unravel_index(place, one.array.shape)])
            first, second = (dict(zip(names, points[at], strict=True)) for at in (writer, other))
            return Race(one.name, element, first, second, other_writes)
    return None
