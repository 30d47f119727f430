"""The writers of a variable in the order of execution: a tree of their times.

    for t                    0 - t - 0 - i - w
      for i: a[i] = 1  w           + 1 - j - s
      for j: a[j] = 2  s

Times are rows of numbers and inames.  All writers below a node have the same time so far, and a
reader that has it, too, finds there who is in one iteration of the same loops.  A search for last
writes (`polygen.analysis.dataflow.latest_instances`) goes through the tree from the reader's place
to earlier ones.  Writers that write the same elements in the same instances, names aside, are of
one *kind*: where one of them has nothing to do with a read, none has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import islpy as isl

from polygen.ir.changed import changed
from polygen.ir.remembered import same_form

READER, WRITER = "R", "W"  # what instances are called in maps


@dataclass(frozen=True)
class Timed:
    """The elements that instances of an instruction touch, and when they do.

    Attributes:
        insn_id: the instruction.
        elements: a map from instances to elements, whose dimensions have positions and no names.
        inames: those of the instances, in order.
        row: the numbers and inames that are the time of an instance.
        position: which of the instruction's assignees the elements are, if it writes them.
    """

    insn_id: str
    elements: isl.Map
    inames: Sequence[str]
    row: Sequence[str]
    position: int = 0


@dataclass
class Node:
    """Writers that have the same time so far.

    Attributes:
        writers: their positions in `WriteOrder.writers`.
        kinds: their kinds.
        after: them by what comes next in their time.
        numbers: the numbers among that, ascending.
    """

    writers: list[int] = field(default_factory=list[int])
    kinds: set[int] = field(default_factory=set[int])
    after: dict[str, Node] = field(default_factory=dict[str, "Node"])
    numbers: list[int] = field(default_factory=list[int])

    def sort(self) -> None:
        """Put the numbers here, and at all nodes below, in order."""
        self.numbers = sorted(int(entry) for entry in self.after if entry.isdecimal())
        for node in self.after.values():
            node.sort()

    def loop(self) -> str | None:
        """Return the iname that comes next in the time of all writers; None if there is none."""
        entries = list(self.after)
        return entries[0] if len(entries) == 1 and not entries[0].isdecimal() else None


class WriteOrder:
    """The writers of a variable, and the tree of their times.

    Attributes:
        writers: in the order of the instructions.
        kinds: the kind of each.
        root: the node of all of them.

    Parameters:
        writers: the writers, whose times are equally long.
    """

    def __init__(self, writers: Sequence[Timed]) -> None:
        first: dict[object, tuple[int, isl.Map]] = {}
        of_kinds = [
            first.setdefault(same_form(w.elements), (len(first), w.elements)) for w in writers
        ]
        self.kinds = [kind for kind, _ in of_kinds]
        self.writers = [
            changed(w, elements=elements)
            for w, (_, elements) in zip(writers, of_kinds, strict=True)
        ]
        self._parameters = dict(zip(self.kinds, map(parameters_of, self.writers), strict=True))
        self.root = Node()
        for number, writer in enumerate(self.writers):
            self._add(number, writer.row)
        self.root.sort()

    def parameters(self, number: int) -> frozenset[str]:
        """Return the parameters that what a writer writes depends on."""
        return self._parameters[self.kinds[number]]

    def _add(self, number: int, row: Sequence[str]) -> None:
        node = self.root
        for entry in (None, *row):
            if entry is not None:
                node = node.after.setdefault(entry, Node())
            node.writers.append(number)
            node.kinds.add(self.kinds[number])

    def path(self, reader: Timed) -> Iterator[Node]:
        """Yield the nodes at which a reader has the same time so far, the root first."""
        node = self.root
        yield node
        for entry in reader.row[:-1]:
            if entry not in node.after:
                return
            node = node.after[entry]
            yield node


def parameters_of(timed: Timed) -> frozenset[str]:
    """Return the parameters that the elements depend on that instances touch."""
    space = timed.elements.get_space()
    return frozenset(
        [space.get_dim_name(_PARAM, position) or "" for position in range(space.dim(_PARAM))]
    )


_PARAM = isl.dim_type.param
