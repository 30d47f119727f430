"""Writers of which a read may see a value: those that later ones do not hide altogether.

    for i: a[i] = 1        hidden from r by s
    for j: a[j] = 2        s: writes all that r reads
    for k: b[k] = a[k]     r

Of the writers that come before a reader in one iteration of the loops around both, the latest is
looked at first: what it writes of the elements that are read hides what was written before.  So for
n nests that write one array in turns, a read is compared with one or two writers, and not with all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl

from polygen.analysis.dataflow.latest_instances import Timed
from polygen.ir.changed import changed

_FEW = 4  # writers: to compare them all costs less than to choose


def with_written(writers: Sequence[Timed]) -> tuple[Timed, ...]:
    """Return writers with the elements that they write, if there are many: few sets, most often."""
    if len(writers) <= _FEW:
        return tuple(writers)
    known: list[isl.Set] = []
    found: list[Timed] = []
    for writer in writers:
        written = writer.elements.range()
        same = next((other for other in known if other.plain_is_equal(written)), None)
        if same is None:
            known.append(written)
        found.append(changed(writer, written=written if same is None else same))
    return tuple(found)


def possible_writers(reader: Timed, writers: Sequence[Timed]) -> Sequence[Timed]:
    """Return those of the writers that may have written last what a reader sees, in their order.

    Parameters:
        reader: who reads.
        writers: all who write the variable, of one kernel, as `with_written` returns them.
    """
    if len(writers) <= _FEW:
        return writers
    kept = _Walk(reader, [_standing(reader, writer) for writer in writers]).kept()
    return [w for w in writers if id(w) in kept]


@dataclass(frozen=True)
class _Standing:
    """The order of a writer and a reader.

    Attributes:
        writer: the writer.
        comes_first: whether, in one iteration of the loops around both, it is executed before the
            reader; None if that is not known.
        loops: the loops around both.
        when: of two that come first, that with the greater one does later.
    """

    writer: Timed
    comes_first: bool | None
    loops: tuple[str, ...]
    when: tuple[int, int] = (0, 0)


def _standing(reader: Timed, writer: Timed) -> _Standing:
    loops: list[str] = []
    for depth, (here, there) in enumerate(zip(reader.row, writer.row, strict=True)):
        if here != there:
            if not (here.isdecimal() and there.isdecimal()):
                return _Standing(writer, None, tuple(loops))
            when = depth, int(there)
            return _Standing(writer, int(there) < int(here), tuple(loops), when)
        if not here.isdecimal():
            loops.append(here)
    return _Standing(writer, None, tuple(loops))


class _Walk:
    """Goes from a reader to earlier writers, as long as something that is read is not hidden.

    Those that come first in one iteration of the loops around both are met the latest first, and
    hide what they write from all that are met later.  Others come first in earlier iterations of
    these loops, if at all: they are met behind all that are in the same iteration of these.

    Parameters:
        reader: who reads.
        writers: who writes.
    """

    def __init__(self, reader: Timed, writers: Sequence[_Standing]) -> None:
        self._writers = writers
        loops = max((s.loops for s in writers if s.comes_first), key=len, default=())
        self._left = _in_iteration(reader, loops)
        self._apart: set[int] = set()  # sets that have nothing in common with what is left

    def kept(self) -> set[int]:
        """Return the writers, by their identity, that are not hidden."""
        found = {id(s.writer) for s in self._writers if s.comes_first is None}
        at_once: dict[tuple[int, int, tuple[int, int]], list[_Standing]] = {}
        for standing in self._writers:
            if standing.comes_first or (standing.comes_first is False and standing.loops):
                key = (len(standing.loops), int(standing.comes_first), standing.when)
                at_once.setdefault(key, []).append(standing)
        for key in sorted(at_once, reverse=True):
            seen = [s for s in at_once[key] if self._may_see(s.writer)]
            for standing in seen:
                if standing.comes_first:
                    hidden = _in_iteration(standing.writer, standing.loops)
                    self._left = self._left.subtract(hidden)
            found.update(id(s.writer) for s in seen)
            if seen and self._left.is_empty():
                break
        return found

    def _may_see(self, writer: Timed) -> bool:
        """Tell whether a writer writes, in whichever iteration, anything of what is left."""
        written = writer.written
        if written is None or id(written) in self._apart:
            return written is None
        if self._left.is_disjoint(written):
            self._apart.add(id(written))  # less will be left, never more
            return False
        return True


def _in_iteration(timed: Timed, loops: Sequence[str]) -> isl.Set:
    """Return the elements that are touched in one iteration of loops, which are parameters."""
    if not loops and timed.written is not None:
        return timed.written
    elements, inames = timed.elements, list(timed.inames)
    for loop in loops:
        position = inames.index(loop)
        del inames[position]
        elements = elements.move_dims(_PARAM, elements.dim(_PARAM), _IN, position, 1)
        elements = elements.set_dim_name(_PARAM, elements.dim(_PARAM) - 1, loop)
    return elements.range()


_PARAM, _IN = isl.dim_type.param, isl.dim_type.in_
