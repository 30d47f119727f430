"""Whether the text of a program says what its loop program says.

Both are translated to Python, each without a look at the code that prints, and run for a few sizes
and work items: they have to write the same numbers to the same places, in the same order, and to
wait at the same points.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from polygen.targets.programs.program import Program
from tests.read_back.program import launches_in
from tests.read_back.program_side import of_program
from tests.read_back.run import Differs, Function, equal, run_program, run_text, same_elements
from tests.read_back.subject import Subject, with_marks
from tests.read_back.text_side import of_text
from tests.read_back.tokens import NotRead, WrongText
from tests.read_back.values import NotSaid, Run

_ITERATIONS = 250
_TRIES = 3
_SMALL, _LARGE = (0, 6), (17, 40)
_MOST_LARGE = 2  # how many sizes are large, one after the other


def check(made: Program) -> str:
    """Compare a program with its text; return what hindered that, or nothing.

    Raises:
        Differs: if the text means something else.
    """
    try:
        for subject in _subjects(made):
            _Pair(subject).check()
    except NotRead as error:
        return str(error)
    except (WrongText, Differs) as error:
        raise Differs(f"{error}\n{made.source}\n{made.loop_program}") from error
    return ""


def _subjects(made: Program) -> Iterator[Subject]:
    program = made.loop_program
    if made.target.blocks_along is not None:
        raise NotRead("clusters")
    source = with_marks(made.source, program)
    for function in program.functions:
        yield Subject(made, function, None, function.name, source)
    if made.target.runs_host:
        yield Subject(made, program, None, program.name, source)
        return
    for launch, device in zip(launches_in(program.host), made.launches, strict=True):
        if device.calls_library:  # its source has no function for it
            continue
        yield Subject(made, program, (launch, device), launch.name, source)


class _Pair:
    """A text and a program, both translated."""

    def __init__(self, subject: Subject) -> None:
        self.subject, self.name = subject, subject.name
        self._program, self._grid = of_program(subject)
        self._text, self._reader = of_text(subject)
        self._random = random.Random(subject.name)
        self._spaces_shown = subject.made.target.name != "cuda"

    def check(self) -> None:
        """Run both for several sizes.

        Raises:
            Differs: if they do not do the same.
        """
        whole = [name for name, kind in self.subject.scalars.items() if kind == "i"]
        several = min(len(whole), _MOST_LARGE)
        for large in ("", *self._random.sample(whole, several)):
            for _ in range(_TRIES):
                sizes = self._sizes(large)
                try:
                    for item in self._items(sizes):
                        self._compare(sizes | item)
                except NotSaid:  # these are none that it is for
                    continue
                break

    def _sizes(self, large: str) -> dict[Any, Any]:
        """Return values of scalars: small ones, but for one, so that all loops around are seen."""
        shuffler = self._random
        made: dict[str, Callable[[], Any]] = {
            "f": lambda: shuffler.uniform(0.5, 3),
            "h": lambda: shuffler.uniform(0.5, 3),
            "c": lambda: complex(shuffler.uniform(0.5, 3), shuffler.uniform(0.5, 3)),
            "b": lambda: shuffler.random() < 0.5,
            "i": lambda: shuffler.randint(*_SMALL),
        }
        found = {name: made[kind]() for name, kind in self.subject.scalars.items()}
        if large:
            found[large] = shuffler.randint(*_LARGE)
        for name, kind in self.subject.scalars.items():
            known = name in self.subject.program.nonnegative
            if kind == "i" and not known and shuffler.random() < 0.3:
                found[name] *= -1
        return dict(found)

    def _items(self, sizes: Mapping[Any, Any]) -> list[dict[Any, int]]:
        """Return the places of some work items in the grid."""
        if self.subject.of is None:
            return [{}]
        extents, counts = self._grid(Run(dict(sizes), 0))
        groups = [extents.get(("g", axis), 1) for axis in range(len(counts))]
        if counts != groups or any(at[0] == "g" and at[1] >= len(counts) for at in extents):
            raise Differs(f"'{self.name}' has {counts} groups, not {groups}")
        if any(extent <= 0 for extent in extents.values()):
            return []
        first = {(letter, axis): 0 for letter in "lg" for axis in range(3)}
        ends = {at: extent - 1 for at, extent in extents.items()}
        last_group = first | {at: end for at, end in ends.items() if at[0] == "g"}
        other = first | {at: self._random.randint(0, end) for at, end in ends.items()}
        found: list[dict[Any, int]] = []
        for item in (first, last_group, first | ends, other):
            if item not in found:
                found.append(item)
        return found

    def _compare(self, sizes: dict[Any, Any]) -> None:
        ours, theirs = Run(sizes, _ITERATIONS), Run(sizes, _ITERATIONS)
        try:
            ended = run_program(self._program, theirs)
        except NotSaid:  # from there on; what it does before that, it says
            with suppress(Differs):
                run_text(self._text, ours)
            self._compare_traces(ours, theirs, ended=False)
            raise
        ended = run_text(self._text, ours) and ended
        if ended and len(ours.trace) != len(theirs.trace):
            counts = f"{len(ours.trace)} times, not {len(theirs.trace)}"
            raise Differs(f"'{self.name}' writes or waits {counts}: {sizes}")
        self._compare_traces(ours, theirs, ended=ended)
        for table in self.subject.program.tables:
            elements = ours.shared.get(table.name)
            if elements is not None and not same_elements(elements, theirs.shared[table.name]):
                raise Differs(f"the table '{table.name}' has other elements")
        if self._reader.unordered:
            self._compare_backwards(ours, theirs, ended=ended)

    def _compare_traces(self, ours: Run, theirs: Run, *, ended: bool) -> None:
        for part in theirs.in_no_order:
            for run in (ours, theirs):
                run.trace[part] = sorted(run.trace[part], key=_place)
        for found, wanted in zip(ours.trace, theirs.trace, strict=ended):
            if not self._same(found, wanted):
                raise Differs(f"'{self.name}' does {found}, not {wanted}: {ours.sizes}")

    def _compare_backwards(self, ours: Run, theirs: Run, *, ended: bool) -> None:
        """Check that iterations of loops on threads or vectors share nothing.

        If they do in the loop program, too, data decides: where subscripts are read.
        """
        if self._shared(self._program, theirs, run_program, ended=ended):
            return
        name = self._shared(self._text, ours, run_text, ended=ended)
        if name:
            raise Differs(f"'{self.name}': iterations in no order share '{name}': {ours.sizes}")

    def _shared(
        self,
        function: Function,
        run: Run,
        execute: Callable[[Function, Run], bool],
        *,
        ended: bool,
    ) -> str:
        """Return the name of an array that iterations in no order share; or nothing."""
        other = Run(run.sizes, _ITERATIONS, backwards=True)
        execute(function, other)
        if other.clashes:
            return min(str(name) for name, _ in other.clashes)
        changed = (n for n, m in run.shared.items() if not same_elements(other.shared[n], m))
        return next(changed, "") if ended else ""

    def _same(self, found: Sequence[Any], wanted: Sequence[Any]) -> bool:
        if len(found) != len(wanted) or found[0] != wanted[0]:
            return False
        if found[0] == "(barrier)":
            # Without anything to be seen, a barrier is that of local memory.
            return not self._spaces_shown or (found[1] or "l") == (wanted[1] or "l")
        if found[0] in ("(verbatim)", "(call)", "(wait)"):
            return equal(found[1:], wanted[1:])
        (_, key, value, how), (_, other_key, other_value, other_how) = found, wanted
        return key == other_key and how in ("s", other_how) and equal(value, other_value)


def _place(event: Sequence[Any]) -> str:
    """Return what tells the writes of one assignment apart: an array, and the place there."""
    return repr(event[:2])
