"""The last write before each read, of instances that are executed at known times.

Not with isl's own dataflow analysis (version 0.27).  That asks for last writes, and for reads that
have none, at once (`partial_lexmax`), and where subscripts have coefficients some of the reads that
have none get lost.  Here the reads that are left are found by subtraction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import islpy as isl

from polygen.errors import InternalError

_WRITER = "__writer_"  # names of users do not begin so
# What isl 0.27 says where it fails to find a greatest element, because of constraints on others.
_DEFECT = "affine expression involves some of the domain dimensions"


@dataclass(frozen=True)
class Timed:
    """The elements that instances of an instruction touch, and when they do.

    Attributes:
        insn_id: the instruction.
        elements: a map from instances to elements.
        label: what its instances are called.
        inames: those of the instances, in order.
        row: the numbers and inames that are the time of an instance.
        position: which of the instruction's assignees the elements are, if it writes them.
        written: all elements that it writes; one object for all writers of the same ones.  None if
            nobody asks for it.
    """

    insn_id: str
    elements: isl.Map
    label: str
    inames: Sequence[str]
    row: Sequence[str]
    position: int = 0
    written: isl.Set | None = None

    def time(self, columns: Sequence[int]) -> isl.Map:
        """Return the map from instances to some columns of their time."""
        row = ", ".join([self.row[c] for c in columns])
        return isl.Map(f"{{ {self.label}[{', '.join(self.inames)}] -> [{row}] }}")


@dataclass
class _Writes:
    """The writes of an instruction.

    Attributes:
        timed: when they are executed.
        pairs: a map from reads to those that write the element.
        time: a map from writes to the columns of their time that matter.
        last: a map from reads to those that are known to be the last before them.
    """

    timed: Timed
    pairs: isl.Map
    time: isl.Map
    last: isl.Map


def last_writes(reader: Timed, writers: Sequence[Timed]) -> tuple[list[isl.Map], isl.Set]:
    """Return, for each writer, which of its instances wrote what a read sees; and other reads.

    Times differ, unless an instruction writes several elements.

    Returns:
        maps from instances of the reader to those of a writer, and the instances of the reader
        that nothing wrote for.
    """
    if len(writers) == 1 and _is_over(writers[0], reader) and writers[0].elements.is_injective():
        pairs = reader.elements.apply_range(writers[0].elements.reverse())
        left = reader.elements.domain().subtract(pairs.domain())
        return [pairs.coalesce()], left.coalesce()
    # Columns in which all have one number say nothing.
    rows = [timed.row for timed in (reader, *writers)]
    columns = [
        c
        for c, here in enumerate(zip(*rows, strict=True))
        if len(set(here)) > 1 or here[0] in reader.inames
    ]
    writes = [_writes(reader, timed, columns) for timed in writers]
    left = reader.elements.domain()
    # The longer the times of both agree, the later is the write.
    for count in range(len(columns), 0, -1):
        when = _latest(reader, writes, columns[:count])
        if when is None:
            continue
        here = when.intersect_domain(left)
        for each in writes:
            each.last = each.last.union(here.apply_range(each.time.reverse()).intersect(each.pairs))
        left = left.subtract(when.domain())
        if left.is_empty():
            break
    return [each.last.coalesce() for each in writes], left.coalesce()


def _is_over(writer: Timed, reader: Timed) -> bool:
    """Tell whether all of a writer's instances come before a reader's: no loop is around both."""
    for there, here in zip(writer.row, reader.row, strict=True):
        if not (there.isdecimal() and here.isdecimal()):
            return False
        if there != here:
            return int(there) < int(here)
    return False


def _writes(reader: Timed, writer: Timed, columns: Sequence[int]) -> _Writes:
    pairs = reader.elements.apply_range(writer.elements.reverse())
    return _Writes(writer, pairs, writer.time(columns), isl.Map.empty(pairs.get_space()))


def _latest(reader: Timed, writes: Iterable[_Writes], columns: Sequence[int]) -> isl.Map | None:
    """Return when a reader's elements were last written in some time before; None if they were not.

    Parameters:
        reader: who reads.
        writes: who writes.
        columns: writes count whose time is less than that of the read in the last of these columns,
            and the same in the others.
    """
    found: isl.Map | None = None
    for each in writes:
        earlier = _earlier(reader, each.timed, columns)
        if earlier is not None:
            times = each.pairs.intersect(earlier).apply_range(each.time)
            found = times if found is None else found.union(times)
    if found is None or found.is_empty():
        return None
    # One piece says more to isl than the same in several.
    return greatest(found.detect_equalities().coalesce())


def greatest(times: isl.Map) -> isl.Map:
    """Return the greatest time of each read."""
    wanted = times.domain()
    for find in (isl.Map.lexmax, _none_greater):  # isl fails at some, and loses others
        found = _tried(find, times)
        if found is not None and wanted.is_subset(found.domain()):
            return found
    raise InternalError("isl loses the last of some writes")


def _tried(find: Callable[[isl.Map], isl.Map], times: isl.Map) -> isl.Map | None:
    try:
        found: isl.Map = find(times)
    except isl.Error as error:
        if _DEFECT not in str(error):
            raise
        return None
    return found


def _none_greater(times: isl.Map) -> isl.Map:
    """Return the greatest times by what that means: no other time of the same read is greater."""
    greater = isl.Map.lex_gt(times.get_space().range())
    return times.subtract(times.apply_range(greater))


def _earlier(reader: Timed, writer: Timed, columns: Sequence[int]) -> isl.Map | None:
    """Return the pairs of a read and a write that comes before it; None if there are none."""
    conditions: list[str] = []
    for column in columns:
        here, there = reader.row[column], writer.row[column]
        is_last = column == columns[-1]
        if here.isdecimal() and there.isdecimal():
            if not (int(there) < int(here) if is_last else there == here):
                return None
            continue
        there = there if there.isdecimal() else _WRITER + there
        conditions.append(f"{there} {'<' if is_last else '='} {here}")
    return isl.Map(
        f"{{ {reader.label}[{', '.join(reader.inames)}] -> "
        f"{writer.label}[{', '.join(_WRITER + iname for iname in writer.inames)}]"
        f"{' : ' if conditions else ''}{' and '.join(conditions)} }}"
    )
