"""Variables of which a step changes neither who touches what, nor the order of it.

It saves 10 to 30 % of the prefetched kernels of benchmarks/code_generation.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from polygen.analysis.access.accesses import Reference, references, references_by_name, touched
from polygen.analysis.access.domains import domain_temporaries
from polygen.analysis.access.instance_map import InstanceMap
from polygen.analysis.access.storage_copies import axes as axes_of_copies
from polygen.analysis.dataflow.read_sources import overlapping
from polygen.analysis.order.access_times import moments
from polygen.analysis.order.reduction_statements import shares_reduction_loops
from polygen.analysis.pairs.instance_pairs import users
from polygen.analysis.pairs.iteration_local import apart, common_inames, passes_nothing
from polygen.analysis.rearrangement.legality import violation
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg, TemporaryVariable
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction, identical
from polygen.ir.kernel import Kernel

_Axes: TypeAlias = tuple[int, ...]


class Settled:
    """The variables that a step cannot have changed, so that their dataflow is not compared.

    A variable is settled if the same instructions, at the same instances, touch the same elements
    of it, and every two of these instances that conflict come in the order in which they came.
    """

    def __init__(self, old: Kernel, new: Kernel, instances: InstanceMap) -> None:
        self._old, self._new, self._instances = old, new, instances
        self._known: dict[str, bool] = {}
        self._elsewhere: dict[str, tuple[_Axes, _Axes] | None] = {}
        self._pending: set[str] = set()

    def holds(self, name: str) -> bool:
        """Tell whether a variable is settled."""
        if name not in self._known:
            known = set(self._known)
            self._pending.add(name)
            found = self._find(name)
            self._pending.discard(name)
            if not found:  # then what rested on it is open again
                self._known = {n: v for n, v in self._known.items() if n in known or not v}
            self._known[name] = found
        return self._known[name]

    def doubt(self, name: str) -> None:
        """Take a variable for one whose dataflow has to be looked at."""
        self._known[name] = False

    def accept(self, name: str) -> None:
        """Take a variable for settled: it is known from elsewhere."""
        self._known[name] = True

    def _find(self, name: str) -> bool:
        old, new = self._old, self._new
        moved = old.variables.get(name) != new.variables.get(name) or self._is_elsewhere(name)
        if moved and not self._has_same_copies(name):
            return False
        names = overlapping(old, name)
        if not any(n in k.writers for n in names for k in (old, new)):
            return True
        ids = tuple(dict.fromkeys(i for n in names for i in users(old, n)))
        same_users = all(users(old, n) == users(new, n) for n in names)
        if not (same_users and all(self.is_unmoved(insn_id, names) for insn_id in ids)):
            return False
        if self._same_order(names):
            return True
        if shares_reduction_loops(old) or shares_reduction_loops(new):
            return False
        if old.instructions_by_id.keys() != new.instructions_by_id.keys() and _may_overlap(new):
            return False
        others = frozenset(new.variables).difference((name,))
        return violation(old, new, self._instances, skip=others) is None

    def is_same_elsewhere(self, before: Expression, after: Expression) -> bool:
        """Tell whether an instance reads the same of a temporary that has another place.

        Parameters:
            before: what it reads in the old kernel.
            after: what it reads of this temporary in the new one.
        """
        axes = self._axes_elsewhere(ex.name_of(before))
        if axes is None:
            return False
        indices = [
            [ex.index_of(a)[n] for n in found]
            for a, found in zip((before, after), axes, strict=True)
        ]
        return all(map(identical, *indices))

    def is_alike_elsewhere(self, name: str) -> bool:
        """Tell whether a temporary has another place, and all that touches it does so as before."""
        return self._axes_elsewhere(name) is not None

    def _axes_elsewhere(self, name: str) -> tuple[_Axes, _Axes] | None:
        if name not in self._elsewhere:
            self._elsewhere[name] = self._find_elsewhere(name)
        return self._elsewhere[name]

    def _find_elsewhere(self, name: str) -> tuple[_Axes, _Axes] | None:
        """Return the axes that matter, if all is as it was but for where a temporary's values are.

        The same instances touch the temporary, in the same order.  It passes nothing between
        iterations of some loops, neither before nor after; and within one of these, subscripts
        that have one value there aside, all have the subscripts that they had.  So what is read
        is what the same instance wrote last in this iteration.
        """
        old, new = self._old, self._new
        before, after = old.variables.get(name), new.variables.get(name)
        if not isinstance(before, TemporaryVariable) or not isinstance(after, TemporaryVariable):
            return None
        if replace(after, shape=before.shape, dim_tags=before.dim_tags) != before:
            return None
        if self._is_elsewhere(name) or users(old, name) != users(new, name):
            return None
        if not all(self._is_where_it_was(insn_id) for insn_id in users(old, name)):
            return None
        within = apart(old, name, common_inames(old, name))
        within &= apart(new, name, common_inames(new, name))
        if not (passes_nothing(old, name, within) and passes_nothing(new, name, within)):
            return None
        found = [references_by_name(kernel)[name] for kernel in (old, new)]
        fixed = within.union(old.parameters)
        axes = _varying(found[0], fixed), _varying(found[1], fixed)
        was, now = (
            [_on_axes(r, kept) for r in refs] for refs, kept in zip(found, axes, strict=True)
        )
        if was != now or not all(self._is_known(r, fixed) for refs in found for r in refs):
            return None
        return axes if self._same_order((name,)) else None

    def _is_known(self, reference: Reference, fixed: frozenset[str]) -> bool:
        """Tell whether the same decides in both kernels what a reference touches, and when."""
        asked = (*reference.index, *reference.conditions)
        data = NO_NAMES.union(*map(walk.free_variables, asked))
        data -= reference.inames | fixed
        return not reference.vague and all(self._holds_meanwhile(n) for n in data)

    def _is_where_it_was(self, insn_id: str) -> bool:
        """Tell whether an instruction has the instances that it had, and data has no say in it."""
        before, after = (k.instruction(insn_id) for k in (self._old, self._new))
        inames = before.within_inames | before.reduction_inames
        if self._instances.of(insn_id) or before.within_inames != after.within_inames:
            return False
        if before.happens_after != after.happens_after or domain_temporaries(self._old, inames):
            return False
        homes = self._new.home_domains
        return all(self._old.home_domains[i] == homes.get(i) for i in inames)

    def _is_elsewhere(self, name: str) -> bool:
        """Tell whether other work items share a variable that is declared the same: auto."""
        old, new = self._old, self._new
        return name in new.variables and old.address_space(name) is not new.address_space(name)

    def _has_same_copies(self, name: str) -> bool:
        """Tell whether a temporary is in another address space, and its copies are what they were.

        The same inames tell copies apart for all that touches it: none, for instance.
        """
        old, new = self._old, self._new
        before, after = old.variables.get(name), new.variables.get(name)
        if not isinstance(before, TemporaryVariable) or not isinstance(after, TemporaryVariable):
            return False
        if replace(after, address_space=before.address_space) != before:
            return False
        ids = users(old, name)
        if ids != users(new, name):
            return False
        return all(axes_of_copies(old, i, name) == axes_of_copies(new, i, name) for i in ids)

    def is_unmoved(self, insn_id: str, names: tuple[str, ...]) -> bool:
        """Tell whether an instruction touches the same elements of variables, when it did."""
        before, after = (k.instruction(insn_id) for k in (self._old, self._new))
        if self._instances.of(insn_id) or before.within_inames != after.within_inames:
            return False
        if before.happens_after != after.happens_after:
            return False
        found = [_touching(insn, names) for insn in (before, after)]
        if not identical(*map(_as_written, found)):
            return False
        inames = before.within_inames.union(*(r.inames for r in found[0]))
        for kernel, insn in ((self._old, before), (self._new, after)):
            around = insn.within_inames | insn.reduction_inames
            if around != inames and not domain_temporaries(kernel, around).isdisjoint(names):
                return False  # bounds are read, too
        if any(self._old.home_domains[i] != self._new.home_domains.get(i) for i in inames):
            return False
        # What decides which elements it touches must be the same, too.
        read = domain_temporaries(self._old, inames)
        for reference in found[0]:
            read = read.union(*map(walk.free_variables, (*reference.index, *reference.conditions)))
        return all(self._holds_meanwhile(n) for n in read.intersection(self._old.variables))

    def _holds_meanwhile(self, name: str) -> bool:
        """Tell whether a variable is settled, if this is not being asked already.

        Values are the same by induction over the order of execution, so a circle is no obstacle.
        """
        if name in self._pending:
            return True
        return self.holds(name)

    def _same_order(self, names: tuple[str, ...]) -> bool:
        """Tell whether all that touches variables, the same in both kernels, comes as it came."""
        found = [a for n in names for i in users(self._old, n) for a in touched(self._old, i)[n]]
        inames = NO_NAMES.union(*(a.inames for a in found))
        if any(self._old.tags.get(i) != self._new.tags.get(i) for i in inames):
            return False
        old, new = moments(self._old), moments(self._new)
        distinct = {(a.insn_id, a.inames): a for a in found}.values()
        return all(old.between(a, b) == new.between(a, b) for a in distinct for b in distinct)


def _touching(insn: Instruction, names: tuple[str, ...]) -> tuple[Reference, ...]:
    return tuple([r for r in references(insn) if r.name in names])


def _as_written(found: tuple[Reference, ...]) -> tuple[object, ...]:
    """Return all of references but the instruction that they are in."""
    return tuple(
        [
            (r.name, r.is_write, sorted(r.inames), r.index, r.conditions, r.update, r.vague)
            for r in found
        ]
    )


def _varying(found: Sequence[Reference], fixed: frozenset[str]) -> _Axes:
    """Return the axes of a variable along which references do not all have one fixed value."""
    first, *others = (r.index for r in found)
    return tuple(
        [
            axis
            for axis, subscript in enumerate(first)
            if not walk.free_variables(subscript) <= fixed
            or any(index[axis] != subscript for index in others)
        ]
    )


def _on_axes(reference: Reference, axes: _Axes) -> tuple[object, ...]:
    """Return what a reference touches, along some axes."""
    index = tuple([reference.index[axis] for axis in axes])
    inames = tuple(sorted(reference.inames))
    return reference.insn.id, reference.is_write, inames, index, reference.conditions


def _may_overlap(kernel: Kernel) -> bool:
    return any(isinstance(a, GlobalArg) and a.may_alias for a in kernel.arguments)
