"""Computes temporaries where they are read, if that costs less than to move them.

    for i: t[i] = a[i+1] - a[i]          one subtraction more in each iteration,
    for j: b[j] = t[j+1] - t[j]          and an array that is neither written nor read

Temporaries are looked at from the last one on: so what one of them is computed of is known to be
read by what reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from polygen.analysis.integers.affine_forms import LinearForm, combine
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.schedules.contracted_arrays import arrays_contracted
from polygen.schedules.fused_nests import nests_fused
from polygen.schedules.fused_traffic import Prices
from polygen.schedules.iteration_distances import Carried, Forms, carried
from polygen.schedules.nest_siblings import Sibling, plain_nests
from polygen.schedules.nests import Extents
from polygen.schedules.plan import Plan
from polygen.transforms.inames.remove_unused_inames import remove_unused_inames
from polygen.transforms.instructions.recompute_temporaries import recompute_temporaries
from polygen.tuning.work import operations_in

_STREAMS = 10  # arrays at once
_SCALARS = 48  # of an instruction: registers are few
_WRITTEN = 2  # a line of memory that is written is read before
_SINGLE = 8  # temporaries that are tried one by one, where all together are refused

_Element: TypeAlias = tuple[object, ...]


@dataclass(frozen=True)
class _Definition:
    """The statement that computes a temporary.

    Attributes:
        name: the temporary.
        insn: the instruction.
        scalars: the temporary, and the scalars of its iteration that it is computed of.
        reads: the elements that all of these are computed of.
        operations: how many an element takes.
        subscripts: the inames that it is written with.
    """

    name: str
    insn: Assignment
    scalars: tuple[str, ...]
    reads: tuple[tuple[str, Forms], ...]
    operations: int
    subscripts: tuple[str, ...]


def arrays_recomputed(plan: Plan) -> None:
    """Compute temporaries in the iterations that read them, where that takes less time."""
    before = plan.kernel
    for chosen in list(_Selection(plan).components()):
        names = [name for each in chosen for name in each.definition.scalars]
        if not _take(plan, chosen, list(dict.fromkeys(names))) and len(chosen) > 1:
            for each in chosen[:_SINGLE]:
                _take(plan, [each], each.definition.scalars)
    if plan.kernel is not before:
        nests_fused(plan)
        arrays_contracted(plan)


def _take(plan: Plan, chosen: Sequence[_Chosen], names: Sequence[str]) -> bool:
    own = [each.definition.name for each in chosen]
    again = sum(each.again for each in chosen)
    saved = sum(each.saved for each in chosen)
    ids = {i for each in chosen for i in (each.definition.insn.id, *each.readers)}
    known = plan.kernel.variables
    return plan.take(
        [insn.id for insn in plan.kernel.instructions if insn.id in ids],
        f"{', '.join(own)} computed where {'it is' if len(own) == 1 else 'they are'} read",
        f"{saved:.3g} bytes less are moved, {max(0, again):.3g} operations done again",
        partial(_recomputed, names=tuple([name for name in names if name in known])),
    )


def _recomputed(kernel: Kernel, names: Sequence[str]) -> Kernel:
    around = frozenset[str]().union(*(insn.within_inames for insn in kernel.instructions))
    used = tuple([iname for iname in kernel.inames if iname in around])
    return remove_unused_inames(recompute_temporaries(kernel, names), used)


@dataclass(frozen=True)
class _Chosen:
    """A temporary that is computed where it is read.

    Attributes:
        definition: what computes it.
        readers: the instructions that will.
        again: how many operations are done again.
        saved: how many bytes are not moved any more.
    """

    definition: _Definition
    readers: tuple[str, ...]
    again: int
    saved: int


class _Selection:
    """The temporaries of a kernel that are worth it.

    Parameters:
        plan: the kernel, and what is known of the device.
    """

    def __init__(self, plan: Plan) -> None:
        kernel = plan.kernel
        self._plain = kernel.expanded
        self._extents = Extents(kernel, plan.request.sizes)
        self._prices = Prices(kernel, self._extents)
        rates = [plan.request.limits.rate_of(name) for name in ("float64", "float32")]
        rate = next((r for r in rates if r), None)
        self._per_byte = (rate or 0.0) / plan.request.limits.bytes_per_second
        self._nests = [n for n in plain_nests(kernel) if _is_parallel(n)]
        self._nest_of = {i: number for number, n in enumerate(self._nests) for i in n.ids}
        self._place = {insn.id: place for place, insn in enumerate(self._plain.instructions)}
        self._demands = {i: dict(self._reads(n, i)) for n in self._nests for i in n.ids}
        self._chosen: list[_Chosen] = []
        self._gone: set[str] = set()
        for definition in self._definitions(kernel):
            self._look_at(definition)

    def components(self) -> Iterator[list[_Chosen]]:
        """Yield what was chosen, those together that depend on each other."""
        left = list(self._chosen)
        while left:
            found, names = [left.pop(0)], set[str]()
            for each in found:
                names |= {each.definition.name, *(name for name, _ in each.definition.reads)}
                near = [o for o in left if o.definition.name in names or names & _read(o)]
                left = [o for o in left if o not in near]
                found += near
            yield found

    # --- what there is

    def _reads(self, nest: Sibling, insn_id: str) -> Iterator[tuple[str, set[_Element]]]:
        touches = nest.of_insns[nest.ids.index(insn_id)]
        names = dict.fromkeys([t.name for t in touches if not (t.is_write or t.is_own)])
        for name in names:
            yield name, {t.forms for t in touches if t.name == name and not t.is_write}

    def _definitions(self, kernel: Kernel) -> Iterator[_Definition]:
        """Yield what may be computed elsewhere, the last one first."""
        bounds = {name for domain in kernel.domains for name in domain.parameters}
        for insn in reversed(self._plain.instructions):
            if insn.id not in self._nest_of or not isinstance(insn, Assignment):
                continue
            array = next((t for t in kernel.temporaries if t.name == insn.written), None)
            if array is None or not array.shape or array.read_only or array.name in bounds:
                continue
            if kernel.address_space(array.name) is AddressSpace.GLOBAL:
                found = self._definition(insn)
                if found is not None:
                    yield found

    def _definition(self, insn: Assignment) -> _Definition | None:
        """Return what computes an array, with the scalars that it is computed of."""
        name, index = insn.written, ex.index_of(insn.assignee)
        subscripts = tuple([i.name for i in index if isinstance(i, ex.Variable)])
        if len(insn.within_inames.intersection(subscripts)) < len(index):
            return None
        nest = self._nests[self._nest_of[insn.id]]
        scalars, pending = [name], [name]
        reads: dict[tuple[str, Forms], None] = {}
        operations = 0
        for each in pending:
            writers = self._plain.writers.get(each, ())
            if len(writers) != 1 or writers[0].id not in nest.ids or writers[0].predicates:
                return None
            touches = nest.of_insns[nest.ids.index(writers[0].id)]
            operations += sum(map(operations_in, writers[0].values))
            for touch in touches:
                if touch.is_write:
                    continue
                if touch.is_own and touch.name not in scalars:
                    scalars.append(touch.name)
                    pending.append(touch.name)
                elif not touch.is_own:
                    reads[touch.name, touch.forms] = None
        if any(read in scalars for read, _ in reads) or self._are_shared(scalars):
            return None
        return _Definition(name, insn, tuple(scalars), tuple(reads), operations, subscripts)

    def _are_shared(self, scalars: Sequence[str]) -> bool:
        """Tell whether something reads scalars that an array is not computed of."""
        own = {writer.id for name in scalars for writer in self._plain.writers[name]}
        read = {*scalars[1:]}
        return any(
            not read.isdisjoint(insn.read_names)
            for insn in self._plain.instructions
            if insn.id not in own
        )

    # --- what is worth it

    def _look_at(self, definition: _Definition) -> None:
        readers = self._readers(definition)
        if not readers or not self._may_move(definition, readers):
            return
        again = -definition.operations * self._extents.instances(definition.insn.within_inames)
        for reader in readers:
            elements = len(self._demands[reader][definition.name])
            times = self._extents.instances(self._plain.instruction(reader).within_inames)
            again += definition.operations * elements * times
        saved = self._saved(definition, readers)
        if again > saved * self._per_byte or saved <= 0:
            return
        demands = {reader: self._with(definition, reader) for reader in readers}
        if not all(map(self._is_handy, readers, demands.values())):
            return
        self._demands.update(demands)
        for name in definition.scalars:
            (writer,) = self._plain.writers[name]
            self._gone.add(writer.id)
            self._demands.pop(writer.id)
        self._chosen.append(_Chosen(definition, tuple(readers), again, saved))

    def _readers(self, definition: _Definition) -> list[str]:
        """Return what reads an array; nothing if something does that cannot compute it."""
        users = [
            insn.id
            for insn in self._plain.instructions
            if definition.name in insn.read_names and insn.id not in self._gone
        ]
        found = [i for i, reads in self._demands.items() if definition.name in reads]
        return found if {*users} <= {*found} and self._are_plain(definition.name) else []

    def _are_plain(self, name: str) -> bool:
        """Tell whether values and subscripts alone mention a variable."""
        return all(
            insn.id in self._nest_of
            and not any(name in walk.free_variables(p) for p in insn.predicates)
            for insn in self._plain.instructions
            if name in insn.read_names
        )

    def _may_move(self, definition: _Definition, readers: Sequence[str]) -> bool:
        """Tell whether it seems that what an array is computed of is the same where it is read."""
        own = definition.insn
        last = max(self._place[reader] for reader in readers)
        around = [self._plain.instruction(reader).within_inames for reader in readers]
        loops = frozenset[str]().union(*around) - own.within_inames
        for name, _ in definition.reads:
            for writer in self._plain.writers.get(name, ()):
                between = self._place[own.id] < self._place[writer.id] <= last
                if between or not loops.isdisjoint(writer.within_inames):
                    return False
        others = own.within_inames.difference(definition.subscripts)
        return all(others <= inames for inames in around)

    def _saved(self, definition: _Definition, readers: Sequence[str]) -> int:
        """Return how many bytes are not moved any more."""
        item = self._prices.item(definition.name)
        instances = self._extents.instances
        saved = _WRITTEN * item * instances(definition.insn.within_inames)
        for number in {self._nest_of[reader] for reader in readers}:
            nest = self._nests[number]
            times = instances(self._plain.instruction(nest.ids[0]).within_inames)
            known = {name for i in nest.ids for name in self._demands.get(i, ())}
            new = {name for name, _ in definition.reads} - known
            saved += times * (item - sum(map(self._prices.item, new)))
        return saved

    def _with(self, definition: _Definition, reader: str) -> dict[str, set[_Element]]:
        """Return what an instruction reads that computes an array itself."""
        demands = {name: set(found) for name, found in self._demands[reader].items()}
        for element in demands.pop(definition.name):
            values = dict(zip(definition.subscripts, element, strict=False))
            for name, forms in definition.reads:
                demands.setdefault(name, set()).add(
                    tuple([_composed(form, values) for form in forms])
                )
        return demands

    def _is_handy(self, reader: str, demands: Mapping[str, set[_Element]]) -> bool:
        """Tell whether an instruction reads few enough arrays, and elements."""
        streams = max(_STREAMS, len(self._demands[reader]))
        return len(demands) <= streams and sum(map(len, demands.values())) <= _SCALARS


def _is_parallel(nest: Sibling) -> bool:
    states = carried(nest.touches, nest.loops)
    return all(state is Carried.NOTHING for state in states.values())


def _read(chosen: _Chosen) -> set[str]:
    return {chosen.definition.name, *(name for name, _ in chosen.definition.reads)}


def _composed(form: LinearForm | None, values: Mapping[str, object]) -> object:
    """Return a subscript with values for inames; something of its own if that is not linear."""
    if form is None:
        return (None, tuple(values.items()))
    parts = [(LinearForm(form.constant), 1)]
    for term, factor in form.terms.items():
        value = values.get(str(term), LinearForm(0, {term: 1}))
        if not isinstance(value, LinearForm):
            return (form, tuple(values.items()))
        parts.append((value, factor))
    return combine(parts)
