"""Finds obligations that a step adds.

An access whose subscript is data is inside of its array if the kernel before makes the same one: if
an instruction of both kernels makes it at the same instance, or if the same subscript, of an axis
of the same extent, is computed from the same data somewhere in the kernel before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from polygen.analysis.access.accesses import Reference, references, references_by_name
from polygen.analysis.access.instance_map import UNMOVED, InstanceMap, at_new_instance
from polygen.analysis.dataflow.comparison_context import Names
from polygen.analysis.dataflow.liveness import live_variables
from polygen.analysis.dataflow.read_sources import readers_tell
from polygen.analysis.order.access_times import moments
from polygen.analysis.pairs.instance_pairs import is_read
from polygen.analysis.pairs.unordered_pairs import Loose, loose_pairs
from polygen.analysis.rearrangement.same_instances import normal_form
from polygen.analysis.values.unaffected_variables import Settled
from polygen.analysis.values.value_forms import Touched, ValueForms
from polygen.analysis.wellformed.check import obligations
from polygen.analysis.wellformed.obligations import INSIDE, ORDERED, Obligation
from polygen.ir.array import GlobalArg, TemporaryVariable
from polygen.ir.cached import cached_property
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, identical
from polygen.ir.kernel import Kernel


@dataclass(frozen=True)
class Added:
    """The obligations that a step adds.

    Attributes:
        obligation: one of the kernel after.
        conditions: those under which the kernel before makes the same access; None if it makes no
            such access.
    """

    obligation: Obligation
    conditions: tuple[Expression, ...] | None = None


def new_obligation(
    old: Kernel,
    new: Kernel,
    instances: InstanceMap,
    settled: Settled,
    wanted: Sequence[Obligation],
) -> Added | None:
    """Return an obligation that a step adds, or None.

    Parameters:
        old: the kernel before; it is well formed.
        new: the kernel after, which computes the same where both kernels' obligations hold.
        instances: which old instance each new one computes.
        settled: the variables of which the step changes neither who touches what, nor the order.
        wanted: the obligations of the kernel after; those that are known to be old ones left out.
    """
    if not wanted:
        return None
    before = _Before(old, new, instances, settled)
    return next((before.explained(o) for o in wanted if not before.has(o)), None)


class _Before:
    """The obligations before a step."""

    def __init__(self, old: Kernel, new: Kernel, instances: InstanceMap, settled: Settled) -> None:
        self._old, self._new = old, new
        self._instances = instances
        self._settled = settled
        names = Names()
        self._live = live_variables(old) | live_variables(new)
        self._forms_before = ValueForms(old, names, UNMOVED, self._stores_alike)
        self._forms_after = ValueForms(new, names, instances, self._stores_alike)

    def has(self, obligation: Obligation) -> bool:
        """Tell whether an obligation of the kernel after was one before, or follows from some."""
        if obligation.kind == ORDERED and self._was_unordered(obligation):
            return True
        if obligation.kind != INSIDE:
            return self._settled.holds(obligation.array) or obligation in self._obligations
        (reference,), axis = obligation.references, obligation.axis
        if axis is None:
            return False
        if self._is_kept(reference):
            return True
        touched = self._forms_after.touched(reference, axis)
        return touched is not None and touched.left(self._alike(reference, axis)).is_empty()

    def _was_unordered(self, obligation: Obligation) -> bool:
        """Tell whether the very same accesses were in no order before: they are apart, then."""
        name, loose = obligation.array, obligation.loose
        if loose is None or loose.greater is not None or name not in self._old.variables:
            return False
        if not is_read(self._old, name):
            return False
        if self._old.address_space(name) is not self._new.address_space(name):
            return False
        for reference in obligation.references:
            insn = reference.insn
            before = self._old.instructions_by_id.get(insn.id)
            if before is None or self._compared(insn.id) is None or self._instances.of(insn.id):
                return False
            inames = before.within_inames
            if not inames == insn.within_inames == reference.inames:
                return False
            # What is read may be something else.
            written_alike = reference.is_write and self._are_compared(reference.name)
            if not (written_alike or self._is_kept(reference)):
                return False
        ids = [reference.insn.id for reference in obligation.references]
        found = loose_pairs(moments(self._old).statements, ids[0], ids[-1])
        return any(_same_pairs(loose, other) for other in found)

    def _are_compared(self, name: str) -> bool:
        """Tell whether the elements that are written of a variable are known to be the same."""
        if isinstance(self._old.variables[name], GlobalArg):
            return True  # as what they hold in the end
        told = all(readers_tell(kernel, name) for kernel in (self._old, self._new))
        return name in self._live and not told

    def explained(self, obligation: Obligation) -> Added:
        """Return an obligation with the conditions that the access had before."""
        if obligation.kind != INSIDE or obligation.axis is None:
            return Added(obligation)
        (reference,) = obligation.references
        for other in references_by_name(self._old).get(reference.name, ()):
            same = all(map(identical, other.index, reference.index))
            missing = tuple([c for c in other.conditions if c not in reference.conditions])
            if same and missing:
                return Added(obligation, missing)
        return Added(obligation)

    @cached_property
    def _obligations(self) -> frozenset[Obligation]:
        return frozenset(obligations(self._old))

    # --- the same access of the same instruction

    def _is_kept(self, reference: Reference) -> bool:
        """Tell whether an instruction of both kernels makes this access at the same instances."""
        insn = reference.insn
        if insn.id not in self._old.instructions_by_id:
            return False
        if self._shape(self._old, reference.name) != self._shape(self._new, reference.name):
            return False
        if self._settled.is_unmoved(insn.id, (reference.name,)):
            return True
        if self._compared(insn.id) is None:
            return False
        return any(self._is_same(other, reference) for other in self._references_of(insn.id))

    def _compared(self, insn_id: str) -> frozenset[str] | None:
        """Return the old inames of an instruction that is known to compute what it did."""
        before = self._old.instructions_by_id.get(insn_id)
        after = self._new.instructions_by_id.get(insn_id)
        if not isinstance(before, Assigning) or not isinstance(after, Assigning):
            return None
        if self._live.isdisjoint((*before.written_names, *after.written_names)):
            return None
        return before.within_inames

    def _stores_alike(self, insn_id: str) -> frozenset[str] | None:
        """Return the same of an instruction of which all that it stores is known to be the same."""
        after = self._new.instructions_by_id.get(insn_id)
        if not isinstance(after, Assigning) or not self._live.issuperset(after.written_names):
            return None
        return self._compared(insn_id)

    def _references_of(self, insn_id: str) -> tuple[Reference, ...]:
        return references(self._old.expanded.instruction(insn_id))

    def _is_same(self, before: Reference, after: Reference) -> bool:
        if (before.name, before.is_write) != (after.name, after.is_write):
            return False
        if len(before.index) != len(after.index):
            return False
        conditions = [normal_form(c) for c in after.conditions]
        return all(
            identical(self._moved(b, before), normal_form(a))
            for b, a in zip(before.index, after.index, strict=True)
        ) and all(
            any(identical(self._moved(b, before), a) for a in conditions) for b in before.conditions
        )

    def _moved(self, node: Expression, reference: Reference) -> Expression:
        values = self._instances.of(reference.insn.id)
        around = reference.insn.within_inames
        return normal_form(at_new_instance(node, around, values, self._new.inames))

    # --- the same subscript, anywhere

    def _alike(self, reference: Reference, axis: int) -> Iterator[Touched]:
        """Yield what the kernel before touches along axes of the same extent."""
        extent = self._extent(self._new, reference.name, axis)
        for name, others in references_by_name(self._old).items():
            for number in range(len(self._shape(self._old, name) or ())):
                if self._extent(self._old, name, number) == extent:
                    found = (self._forms_before.touched(r, number) for r in others)
                    yield from (touched for touched in found if touched is not None)

    def _shape(self, kernel: Kernel, name: str) -> tuple[Expression, ...] | None:
        variable = kernel.variables.get(name)
        return variable.shape if isinstance(variable, GlobalArg | TemporaryVariable) else None

    def _extent(self, kernel: Kernel, name: str, axis: int) -> Expression:
        return normal_form((self._shape(kernel, name) or ())[axis])


def _same_pairs(first: Loose, second: Loose) -> bool:
    """Tell whether two kernels leave the same pairs open; how loops are nested may differ."""
    return replace(first, equal=tuple(sorted(first.equal))) == replace(
        second, equal=tuple(sorted(second.equal))
    )
