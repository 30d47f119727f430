"""The work items that touch elements of a variable, where subscripts show which these are.

    a[i + 1] = ...        i on g.0, from 0 on: element e belongs to group e - 1
    ... = a[j]            j on g.0, from 1 on: to group e - 1, too: nobody waits for another

So of many nests, each touches the elements that the same work item touched before, and no pair of
them has to be looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from polygen.analysis.access.accesses import touched
from polygen.analysis.access.storage_copies import plain_first
from polygen.analysis.pairs.constant_distances import subscripts
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag, LocalTag

# On an axis, the item whose index is a subscript, by its position, less a number.
Owner: TypeAlias = tuple[GroupTag | LocalTag, int, int]


class Owners:
    """The owners of the elements that instructions touch.

    Parameters:
        kernel: the kernel.
        axes: the axes of its grid.
    """

    def __init__(self, kernel: Kernel, axes: Sequence[GroupTag | LocalTag]) -> None:
        self._kernel = kernel
        self._axes = len(axes)
        self._known: dict[tuple[str, str], frozenset[Owner]] = {}

    def of(self, insn_id: str, name: str) -> frozenset[Owner]:
        """Return the owners, one an axis or several, of what an instruction touches of a variable.

        None for an axis on which subscripts do not show one.
        """
        key = insn_id, name
        if key not in self._known:
            self._known[key] = self._found(insn_id, name)
        return self._known[key]

    def are_enough(self, owners: frozenset[Owner]) -> bool:
        """Tell whether there is an owner on each axis."""
        return len({tag for tag, _, _ in owners}) == self._axes

    def _found(self, insn_id: str, name: str) -> frozenset[Owner]:
        axes = self._on_axes(insn_id)
        found: list[frozenset[Owner]] = []
        for access in touched(self._kernel, insn_id).get(name, ()):
            owners: set[Owner] = set()
            for position, form in enumerate(subscripts(self._kernel, access)):
                terms = {} if form is None else {str(n): factor for n, factor in form.terms.items()}
                iname, factor = next(iter(terms.items()), ("", 0))
                if form is not None and len(terms) == 1 and factor == 1 and iname in axes:
                    tag, first = axes[iname]
                    owners.add((tag, position, form.constant + first))
            found.append(frozenset(owners))
        return frozenset[Owner]().union(*found[:1]).intersection(*found)

    def _on_axes(self, insn_id: str) -> Mapping[str, tuple[GroupTag | LocalTag, int]]:
        """Return the inames of an instruction that are on axes, where they begin at a number."""
        found: dict[str, tuple[GroupTag | LocalTag, int]] = {}
        for iname in self._kernel.instruction(insn_id).within_inames:
            tag = self._kernel.tags.get(iname)
            if not isinstance(tag, GroupTag | LocalTag):
                continue
            first = plain_first(self._kernel, iname)
            if first is not None:
                found[iname] = tag, first
        return found
