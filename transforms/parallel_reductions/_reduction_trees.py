"""The trees in local memory that reductions over an axis of the work items become.

Where some work items have nothing to reduce, and each reduces in a loop, all of them do so: over
nothing, perhaps.  That is, ``out[i] = sum([k, j], a[i, 8*k + j])``, with j on l.0 and m columns,

    acc[p] = sum(l, a[i, 8*l + p])     for all p from 0 to 7, and l from 0 to (m - 1 - p)//8

Then nothing asks whether there is something for a work item.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import reduce

import islpy as isl

from polygen.analysis.access.domains import domain_of, homes
from polygen.analysis.access.instance_map import instruction_at
from polygen.analysis.integers.isl_affine import condition_set
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import Domain, parse_domain, project_out, rename_dimension, unflatten
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Instruction, assigning
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import Parts, facts_of, identity_of, parts_of
from polygen.ir.relation import MARK, widened
from polygen.transforms.inames.unused_inames import domains_without, priorities_among, unneeded
from polygen.transforms.parallel_reductions.local_reductions import LocalReduction, all_contribute
from polygen.transforms.parallel_reductions.shuffled_trees import ShuffledTree


@dataclass(frozen=True)
class Places:
    """All places along an axis of the work items, each with a reduction, if over nothing.

    Attributes:
        iname: the one that runs over the places.
        inner: those of the reductions.
        value: what the iname of the work items is in terms of it.
        domains: those of the new inames.
    """

    iname: str
    inner: tuple[str, ...]
    value: Expression
    domains: tuple[Domain, ...]

    def instead_of(self, shared: LocalReduction) -> tuple[dict[str, Expression], dict[str, str]]:
        """Return what stands for the inames of a shared reduction: its axis, and those inside."""
        return {shared.iname: self.value}, dict(zip(shared.inner, self.inner, strict=True))

    def values(self, shared: LocalReduction) -> dict[str, Expression]:
        """Return what the inames of a shared reduction are in terms of these."""
        own, inner = self.instead_of(shared)
        return {**own, **{old: ex.Variable(new) for old, new in inner.items()}}


class Trees:
    """Makes trees, and the inames for them.

    Parameters:
        kernel: the kernel.
        new_name: makes new names.

    Attributes:
        kernel: the kernel with these inames.
        olds: of new inames, which of the kernel's they stand for.
    """

    def __init__(self, kernel: Kernel, new_name: Callable[[str], str]) -> None:
        self.kernel, self._new_name = kernel, new_name
        self.olds: dict[str, str] = {}
        self._found: dict[tuple[str, tuple[str, ...], frozenset[str]], Places | None] = {}

    def places(self, insn: Instruction, shared: LocalReduction, when: Parts) -> Places | None:
        """Return new inames for all work items, if that is better than those that there are.

        Reductions in the same loops have the same ones.

        Parameters:
            insn: the instruction that has the reduction.
            shared: how a group shares it.
            when: the conditions that it is computed under.
        """
        key = shared.iname, shared.inner, insn.within_inames
        if not shared.inner or (not when and all_contribute(self.kernel, insn, shared)):
            return None
        if key not in self._found:
            new = self._found[key] = all_places(self.kernel, insn, shared, self._new_name)
            if new is not None:
                olds = dict(
                    zip((new.iname, *new.inner), (shared.iname, *shared.inner), strict=True)
                )
                self.olds |= {name: self.olds.get(old, old) for name, old in olds.items()}
                self._add(new.domains, olds)
                self._separate(shared, new)
        return self._found[key]

    def _separate(self, shared: LocalReduction, new: Places) -> None:
        """Separate code for the new inames as for the old ones."""
        values = new.values(shared)
        also = [walk.substitute(condition, values) for condition in self.kernel.separations]
        both = dict.fromkeys((*self.kernel.separations, *also))
        self.kernel = self.kernel.copy(separations=tuple(both))

    def stages(
        self,
        insn: Instruction,
        reduction: ex.Reduction,
        conditions: Parts,
        shared: LocalReduction,
        places: Places | None,
        names: tuple[str, ...],
        dtypes: tuple[DType, ...],
    ) -> tuple[Assigning, ...]:
        """Return what a group does for a reduction, in turn; see `local_reductions`.

        Parameters:
            insn: the instruction that has the reduction.
            reduction: the reduction.
            conditions: those that it is computed under.
            shared: how a group shares it.
            places: new inames for all work items.
            names: the accumulators.
            dtypes: their types.
        """
        chain = self._begun(insn, reduction, conditions, shared, places, names, dtypes)
        combined = facts_of(reduction.operation).combined
        for count, distance in shared.stages():
            place = self._share(names[0], count, shared)
            here, there = chain.elements(place), chain.elements(ex.sum_of(place, distance))
            chain.add("combine", place.name, here, combined(here, there, dtypes))
        return tuple(chain.made)

    def shuffled(
        self,
        insn: Instruction,
        reduction: ex.Reduction,
        conditions: Parts,
        tree: ShuffledTree,
        places: Places | None,
        dtypes: tuple[DType, ...],
    ) -> tuple[Assigning, ...]:
        """Return what sub-groups do for a reduction, in turn; parameters are those of `stages`."""
        shared, names = tree.shared, tree.own
        chain = self._begun(insn, reduction, conditions, shared, places, names, dtypes)
        combined = facts_of(reduction.operation).combined
        stages = tree.stages(
            lambda first, second: combined(first, second, dtypes),
            lambda: self._share(names[0], shared.axis.extent, shared),
        )
        for kind, place, to, values, when in stages:
            chain.add(kind, place.name, to, values, when)
        return tuple(chain.made)

    def _begun(
        self,
        insn: Instruction,
        reduction: ex.Reduction,
        conditions: Parts,
        shared: LocalReduction,
        places: Places | None,
        names: tuple[str, ...],
        dtypes: tuple[DType, ...],
    ) -> _Chain:
        """Return what gives each work item its part; parameters are those of `stages`."""
        chain = _Chain(insn, shared, names, self._new_name)
        if conditions or not (places or all_contribute(self.kernel, insn, shared)):
            place = self._share(names[0], shared.axis.extent, shared)
            identity = identity_of(reduction.operation, dtypes)
            chain.add("init", place.name, chain.elements(place), identity)
        parts = parts_of(ex.Reduction(reduction.operation, (), _operand(reduction, shared, places)))
        own = places.iname if places else shared.iname
        mine = ex.Variable(own) if places else shared.own_place
        chain.add("update", own, chain.elements(mine), parts, conditions)
        chain.wait()
        return chain

    def _share(self, like: str, count: int, shared: LocalReduction) -> ex.Variable:
        """Return a new iname on the axis, of which so many work items take part."""
        name = self._new_name(like)
        self._add((parse_domain(f"{{ [{name}]: 0<={name}<{count} }}"),), {name: shared.iname})
        return ex.Variable(name)

    def _add(self, domains: tuple[Domain, ...], like: Mapping[str, str]) -> None:
        """Add domains of inames that are tagged like others."""
        tags = self.kernel.tags
        copied = {name: tags[old] for name, old in like.items() if old in tags}
        domains = (*self.kernel.domains, *domains)
        self.kernel = self.kernel.copy(domains=domains, tags={**tags, **copied})


class _Chain:
    """Makes instructions on accumulators, each of which comes after the one before.

    Parameters:
        insn: the instruction that they are made for.
        shared: how a group shares its reduction.
        names: the accumulators.
        new_name: makes new names.

    Attributes:
        made: the instructions.
    """

    def __init__(
        self,
        insn: Instruction,
        shared: LocalReduction,
        names: tuple[str, ...],
        new_name: Callable[[str], str],
    ) -> None:
        self._insn, self._shared, self._names, self._new_name = insn, shared, names, new_name
        self.made: list[Assigning] = []

    def elements(self, place: Expression) -> tuple[ex.Subscript, ...]:
        """Return the accumulators' elements at a place."""
        return tuple([self._shared.element(name, place) for name in self._names])

    def add(
        self,
        kind: str,
        iname: str,
        elements: tuple[ex.Subscript, ...],
        values: Parts,
        when: Parts = (),
    ) -> None:
        """Add an instruction that assigns to elements."""
        made = assigning(
            self._new_name(f"{self._insn.id}_{kind}"),
            elements,
            values,
            within_inames=self._insn.within_inames | {iname},
            depends_on=frozenset([before.id for before in self.made[-1:]]),
            predicates=when,
            location=self._insn.location,
        )
        self.made.append(made)

    def wait(self) -> None:
        """Let the last instruction come after what the instruction depends on."""
        last, insn = self.made[-1], self._insn
        added = last.within_inames - insn.within_inames
        self.made[-1] = last.copy(
            depends_on=last.depends_on | insn.depends_on,
            happens_after=frozenset([widened(r, added) for r in insn.happens_after]),
        )


def _operand(reduction: ex.Reduction, shared: LocalReduction, places: Places | None) -> Expression:
    """Return what a work item contributes."""
    if not shared.inner:
        return reduction.operand
    if places is None:
        return ex.Reduction(reduction.operation, shared.inner, reduction.operand)
    operand = walk.substitute(reduction.operand, places.values(shared))
    return ex.Reduction(reduction.operation, places.inner, operand)


def all_places(
    kernel: Kernel, insn: Instruction, found: LocalReduction, new_name: Callable[[str], str]
) -> Places | None:
    """Return new inames with which each work item reduces, those that have nothing to reduce, too.

    None if a loop of the reduction is not its own, or is elsewhere for other code.

    Parameters:
        kernel: the kernel.
        insn: the instruction that has the reduction.
        found: how a group shares it.
        new_name: makes new names.
    """
    olds = frozenset((found.iname, *found.inner))
    if not found.inner or not _are_its_own(kernel, insn, olds):
        return None
    iname = new_name(found.iname)
    names = {old: new_name(old) for old in found.inner}
    places = parse_domain(f"{{ [{iname}]: 0<={iname}<{found.axis.extent} }}")
    value = found.axis.value(ex.Variable(iname))
    same = condition_set(ex.Comparison(ex.Variable(found.iname), "==", value))
    if same is None:
        return None
    known = domain_of(kernel, insn.within_inames).intersect(places.flat)
    only, new = same, list[Domain]()
    for domain in sorted(homes(kernel, olds), key=lambda d: not names.keys().isdisjoint(d.inames)):
        others = set(domain.inames) - olds - insn.within_inames
        here = [names[i] for i in domain.inames if i in names]
        only = only.intersect(project_out(domain.flat, others))
        if here:
            only = reduce(_renamed, names.items(), project_out(only, [found.iname]))
            new.append(Domain(unflatten(only.gist(known).drop_unused_params(), here)))
            only = same
    return Places(iname, tuple(names.values()), value, (places, *new))


def _renamed(values: isl.Set, names: tuple[str, str]) -> isl.Set:
    return rename_dimension(values, *names)


def _are_its_own(kernel: Kernel, insn: Instruction, inames: frozenset[str]) -> bool:
    """Tell whether the loops of a reduction have nothing else in them that needs their inames."""
    if any(not inames.isdisjoint(other.within_inames) for other in kernel.instructions):
        return False
    inside = homes(kernel, insn.reduction_inames - inames)
    return all(inames.isdisjoint((*d.inames, *d.parameters)) for d in inside)


def with_old_names(kernel: Kernel, olds: Mapping[str, str]) -> Kernel:
    """Return the kernel with the old names of inames that took over all there was to do.

    Parameters:
        kernel: the kernel.
        olds: of new inames, which they stand for.
    """
    if not olds:
        return kernel
    used = {i for insn in kernel.instructions for i in insn.within_inames | insn.reduction_inames}
    gone = unneeded(kernel.domains, {*olds, *olds.values()} - used)
    left = domains_without(kernel.domains, gone)
    free = {old: new for new, old in olds.items() if new not in gone and old in gone}
    return _renamed_in(kernel.copy(domains=left), {new: old for old, new in free.items()})


def _renamed_in(kernel: Kernel, names: Mapping[str, str]) -> Kernel:
    """Return the kernel with other names of inames, which nothing else has."""
    values = {new: ex.Variable(old) for new, old in names.items()}
    domains = [Domain(reduce(_renamed, names.items(), d.set)) for d in kernel.domains]
    known = [iname for domain in domains for iname in domain.inames]
    marked = {new + MARK: old + MARK for new, old in names.items()}

    def renamed(insn: Instruction) -> Instruction:
        relations = [
            replace(r, domain=Domain(reduce(_renamed, marked.items(), r.domain.set)))
            for r in insn.happens_after
        ]
        return instruction_at(insn, values, known).copy(happens_after=frozenset(relations))

    tags = {names.get(iname, iname): tag for iname, tag in kernel.tags.items()}
    nests = [[names.get(i, i) for i in p] for p in kernel.priorities]
    separations = [walk.substitute(c, values) for c in kernel.separations]
    return kernel.copy(
        domains=tuple(domains),
        instructions=tuple(map(renamed, kernel.instructions)),
        tags={iname: tag for iname, tag in tags.items() if iname in known},
        priorities=priorities_among(nests, known),
        separations=tuple(
            [c for c in dict.fromkeys(separations) if not _mentions_gone(kernel, c, known)]
        ),
    )


def _mentions_gone(kernel: Kernel, condition: Expression, known: Collection[str]) -> bool:
    """Tell whether a condition mentions an iname that there was."""
    return any(n in kernel.inames and n not in known for n in walk.free_variables(condition))
