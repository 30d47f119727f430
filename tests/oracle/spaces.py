"""Where a temporary lives that is declared ``auto``: its instances, compared one by one.

It is in the narrowest address space in which each read finds what was written last before it: no
write that comes before the read, and is in another copy, is later than all that is in its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.instruction import Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag, LocalTag
from tests.oracle.evaluate import Evaluator, OracleLimitError, Value
from tests.oracle.lanes import parallel_inames
from tests.oracle.points import Points

KINDS: Mapping[AddressSpace, tuple[type, ...]] = {
    AddressSpace.GLOBAL: (),
    AddressSpace.LOCAL: (GroupTag,),
    AddressSpace.PRIVATE: (GroupTag, LocalTag),
}


@dataclass(frozen=True)
class _Touch:
    """An instance that touches an element: which instruction, at which values of inames, how."""

    insn: Instruction
    point: Mapping[str, int]
    element: tuple[int, ...]
    is_write: bool
    adds: bool
    certain: bool


class _Index(Evaluator):
    """Evaluates subscripts, of inames, sizes, and arrays that are never written."""

    arrays: Mapping[str, Any]

    def variable(self, name: str) -> Value:
        return self.samples[name]

    def element(self, name: str, index: tuple[int, ...]) -> Value:
        found: Value = self.arrays[name][index]
        return found


def space_of(
    kernel: Kernel, name: str, sizes: Mapping[str, int], arrays: Mapping[str, Any] | None = None
) -> AddressSpace:
    """Return the address space of a temporary that is declared ``auto``.

    Parameters:
        kernel: without rules; no loop ends where data says.
        name: the temporary.
        sizes: the value of each parameter.
        arrays: the arrays that subscripts mention, which are never written.
    """
    # What is called touches it, too.
    return _Chosen(kernel.expanded, sizes, arrays or {}).space(name)


class _Chosen:
    def __init__(self, kernel: Kernel, sizes: Mapping[str, int], arrays: Mapping[str, Any]) -> None:
        self._kernel, self._sizes = kernel, sizes
        self._arrays = {n: a for n, a in arrays.items() if n not in kernel.writers}
        self._points = Points(kernel, sizes, self._no_data)
        self._parallel = parallel_inames(kernel)

    def _no_data(self, name: str) -> int:
        raise OracleLimitError(f"a loop ends at '{name}'")

    def space(self, name: str) -> AddressSpace:
        touches = list(self._touches(name))
        for space in (AddressSpace.PRIVATE, AddressSpace.LOCAL):
            if all(self._is_found(r, touches, space) for r in touches if not r.is_write):
                return space
        return AddressSpace.GLOBAL

    def _touches(self, name: str) -> Iterator[_Touch]:
        for insn in self._kernel.assignments:
            adds = isinstance(insn, Assignment) and insn.update is not None
            inames = insn.within_inames | insn.reduction_inames
            names = tuple(sorted(inames))
            reads = [a for node in insn.evaluated for a in walk.accesses(node)]
            for is_write, nodes in ((False, reads), (True, insn.assignees)):
                for node in nodes:
                    if ex.name_of(node) != name:
                        continue
                    for values in self._points.values(inames, names, {}):
                        point = dict(zip(names, values, strict=True))
                        index = _Index({**self._sizes, **point})
                        index.arrays = self._arrays
                        element = tuple([int(index.value(i)) for i in ex.index_of(node)])
                        certain = not insn.predicates
                        yield _Touch(insn, point, element, is_write, adds, certain)

    def _is_found(self, read: _Touch, touches: Sequence[_Touch], space: AddressSpace) -> bool:
        before = [
            w
            for w in touches
            if w.is_write and w.element == read.element and self.comes_before(w, read)
        ]
        own = [w for w in before if self._sees(w, read, space)]
        sure = [w for w in own if w.certain]
        return all(w in own or any(self._hides(o, w) for o in sure) for w in before)

    def _hides(self, own: _Touch, other: _Touch) -> bool:
        if own.adds:
            return self.comes_before(other, own)
        return not self.comes_before(own, other)

    def _sees(self, write: _Touch, read: _Touch, space: AddressSpace) -> bool:
        items = [self._item(t, space) for t in (write, read)]
        return items[0].items() <= items[1].items()

    def _item(self, touch: _Touch, space: AddressSpace) -> Mapping[object, int]:
        return {
            tag: touch.point[iname] - self._points.first(iname)
            for iname, tag in self._kernel.tags.items()
            if isinstance(tag, KINDS[space]) and iname in touch.insn.within_inames
        }

    # --- order

    def comes_before(self, first: _Touch, second: _Touch) -> bool:
        """Tell whether one instance has to come before another."""
        fixed: set[str] = set()
        insns: Sequence[Instruction] = self._kernel.instructions
        while True:
            groups = self._groups(insns, fixed)
            mine, other = (next(g for g in groups if t.insn in g) for t in (first, second))
            if mine is not other:
                return _leads(mine, other, groups)
            loops = frozenset.intersection(*(self._loops(i, fixed) for i in mine))
            if not loops:
                return False
            iname = self._outermost(loops, mine, fixed)
            if first.point[iname] != second.point[iname]:
                return first.point[iname] < second.point[iname]
            fixed.add(iname)
            insns = mine

    def _loops(self, insn: Instruction, fixed: set[str]) -> frozenset[str]:
        return insn.within_inames.difference(fixed, self._parallel)

    def _groups(self, insns: Sequence[Instruction], fixed: set[str]) -> list[list[Instruction]]:
        groups: list[list[Instruction]] = []
        for insn in insns:
            loops = self._loops(insn, fixed)
            touching = [g for g in groups if any(self._loops(o, fixed) & loops for o in g)]
            groups = [g for g in groups if g not in touching]
            groups.append([*itertools.chain(*touching), insn])
        return groups

    def _outermost(
        self, loops: frozenset[str], group: Sequence[Instruction], fixed: set[str]
    ) -> str:
        said = [p for p in self._kernel.priorities if loops.issuperset(p)]
        inner = {later for p in said for later in p[1:]}
        found = [i for i in self._kernel.inames if i in loops and i not in inner]
        if len(found) > 1 and any(self._loops(i, fixed) != loops for i in group):
            raise OracleLimitError("more than one loop may be outside")
        return found[0]


def _leads(
    first: list[Instruction], second: list[Instruction], groups: list[list[Instruction]]
) -> bool:
    """Tell whether dependencies put all of a group before another one."""
    reached = [first]
    for group in reached:
        ids = {insn.id for insn in group}
        for other in groups:
            if other not in reached and any(ids & insn.depends_on for insn in other):
                reached.append(other)
    return second in reached[1:]
