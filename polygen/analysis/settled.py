"""Variables of which a step changes neither who touches what, nor the order of it."""

from __future__ import annotations

from polygen.analysis.access import Reference, references, touched
from polygen.analysis.dataflow import overlapping
from polygen.analysis.domains import domain_temporaries
from polygen.analysis.instance_map import InstanceMap
from polygen.analysis.legality import violation
from polygen.analysis.moments import moments
from polygen.analysis.pairs import users
from polygen.analysis.realized import shares_reduction_loops
from polygen.ir import walk
from polygen.ir.array import GlobalArg
from polygen.ir.instruction import Instruction, identical
from polygen.ir.kernel import Kernel


class Settled:
    """Which variables need no look at their dataflow: what is read of them cannot have changed.

    A variable is settled if the same instructions, at the same instances, touch the same elements
    of it, and every two of these instances that conflict come in the order in which they came.
    """

    def __init__(self, old: Kernel, new: Kernel, instances: InstanceMap) -> None:
        self._old, self._new, self._instances = old, new, instances
        self._known: dict[str, bool] = {}
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
        if old.variables.get(name) != new.variables.get(name) or self._is_elsewhere(name):
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

    def _is_elsewhere(self, name: str) -> bool:
        """Tell whether other work items share a variable that is declared the same: auto."""
        old, new = self._old, self._new
        return name in new.variables and old.address_space(name) is not new.address_space(name)

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
        inames = frozenset[str]().union(*(a.inames for a in found))
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


def _may_overlap(kernel: Kernel) -> bool:
    return any(isinstance(a, GlobalArg) and a.may_alias for a in kernel.arguments)
