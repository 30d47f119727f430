"""Scans in parts: totals of parts, what comes before each part, and scans of the parts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import islpy as isl

from polygen.analysis.access.domains import homes
from polygen.analysis.access.outermost_reductions import Outermost
from polygen.analysis.dataflow.read_sources import overlapping
from polygen.analysis.integers.affine_forms import LinearForm
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.integers.moving_box import TileAxis, sized_axis, tile_axis
from polygen.analysis.typing.expression_types import reduction_types
from polygen.analysis.typing.inference import kinds
from polygen.analysis.wellformed.array_bounds import are_inside
from polygen.errors import NotAScan
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.domain import unflatten
from polygen.ir.dtype import DType
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Assignment, Instruction, assigning
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import Parts, facts_of, parts_of
from polygen.ir.revision import Revision
from polygen.ir.show_expression import show_expression
from polygen.ir.tags import LocalTag
from polygen.ir.verify import excerpt
from polygen.source import caller_location
from polygen.transforms.inames.unused_inames import domains_without, unneeded
from polygen.transforms.parallel_reductions._scan_domains import PartLoops, SplitLoop


@dataclass(frozen=True)
class ScanUse:
    """A reduction that grows along a loop, in an instruction.

    Attributes:
        insn: the instruction.
        reduction: the reduction.
        conditions: those that it is computed under.
    """

    insn: Instruction
    reduction: ex.Reduction
    conditions: Parts

    def refusal(self, kernel: Kernel, why: str, remedy: str) -> NotAScan:
        """Return the error that says why it is no scan."""
        shown = show_expression(self.reduction)
        return NotAScan(
            f"'{shown}' in instruction '{self.insn.id}' is no scan that can be split: {why}",
            where=caller_location(),
            excerpt=excerpt(kernel, self.insn.id),
            remedy=remedy,
        )


def scans_along(kernel: Kernel, ids: Collection[str], loops: tuple[str, str]) -> list[ScanUse]:
    """Return the reductions of some instructions whose bounds mention the parts of a loop.

    Parameters:
        kernel: one without rules.
        ids: those of the instructions.
        loops: the inames of the parts, and of the places in a part.
    """
    found: list[ScanUse] = []
    for insn in kernel.instructions:
        if insn.id not in ids or not insn.within_inames.issuperset(loops):
            continue
        outermost = Outermost(lambda node: (ex.Variable(""),) * facts_of(node.operation).width)
        insn.map_expressions(outermost.replace)
        for reduction, conditions in outermost.accumulators:
            names = NO_NAMES.union(
                *((*d.inames, *d.parameters) for d in homes(kernel, frozenset(reduction.inames)))
            )
            if len(reduction.inames) == 1 and not names.isdisjoint(loops):
                found.append(ScanUse(insn, reduction, (*insn.predicates, *conditions)))
    return found


class ScanParts:
    """Makes the kernel in which scans are in parts.

    Parameters:
        loop: the loop that was split.
        space: where totals are kept.
    """

    def __init__(self, loop: SplitLoop, space: AddressSpace) -> None:
        self._loop, self._kernel, self._space = loop, loop.kernel, space
        self._revision = Revision(loop.kernel)
        self._loops: dict[tuple[str, frozenset[str]], PartLoops] = {}
        self._made: dict[str, list[tuple[Instruction, Instruction]]] = {}
        self._uses: dict[str, Instruction] = {}

    def split(self, scans: Sequence[ScanUse]) -> Kernel:
        """Return the kernel in which these scans are in parts."""
        for scan in scans:
            self._check(scan)
            self._split(scan)
        old = self._kernel
        new = old.copy(
            instructions=tuple(self._instructions()),
            domains=(*old.domains, *(d for loops in self._loops.values() for d in loops.domains)),
            temporaries=(*old.temporaries, *self._revision.temporaries),
        )
        used = NO_NAMES.union(*(i.within_inames | i.reduction_inames for i in new.instructions))
        idle = {scan.reduction.inames[0] for scan in scans} - used
        return new.copy(domains=domains_without(new.domains, unneeded(new.domains, idle)))

    def _instructions(self) -> Iterator[Instruction]:
        """Yield the instructions: totals that may be, ahead of all that comes before parts.

        Then nobody waits for totals between what others of these loops do.
        """
        ids = [insn.id for insn in self._kernel.instructions]
        first = min(map(ids.index, self._made), default=0)
        done = set(ids[:first])
        at: dict[int, list[tuple[Instruction, Instruction]]] = {}
        for insn_id, made in self._made.items():
            early = all(total.depends_on <= done for total, _ in made)
            at.setdefault(first if early else ids.index(insn_id), []).extend(made)
        for position, insn in enumerate(self._kernel.instructions):
            here = at.get(position, ())
            yield from [total for total, _ in here]
            yield from [before for _, before in here]
            yield self._uses.get(insn.id, insn)

    # --- what is required

    def _check(self, scan: ScanUse) -> None:
        kernel, facts = self._kernel, facts_of(scan.reduction.operation)
        exact = all(dtype.kind in facts.exact for dtype in self._dtypes(scan))
        if not facts.associates or not (exact or kernel.options.allow_reassociation):
            why = "its operation may not be combined in parts"
            raise scan.refusal(kernel, why, "claim that it associates, or allow_reassociation")
        (iname,) = scan.reduction.inames
        if any(iname in insn.within_inames for insn in kernel.instructions):
            why = f"'{iname}' is a loop of others, too"
            raise scan.refusal(kernel, why, "duplicate_inames gives it one of its own")
        names = walk.free_variables(scan.reduction.operand)
        if not names.isdisjoint((self._loop.outer, self._loop.place)):
            why = f"what it reduces depends on '{self._loop.iname}'"
            raise scan.refusal(kernel, why, "write what it reduces in terms of its own iname")
        self._check_writes(scan, names)

    def _check_writes(self, scan: ScanUse, names: frozenset[str]) -> None:
        """Check that nothing that a scan takes up is written in its loop."""
        kernel, inames = self._kernel, scan.insn.within_inames.union(scan.reduction.inames)
        names = names.union(*(d.parameters for d in homes(kernel, inames)))
        for name in sorted(names.intersection(kernel.variables)):
            for other in (w for n in overlapping(kernel, name) for w in kernel.writers.get(n, ())):
                if self._loop.outer in other.within_inames:
                    why = f"'{other.id}' writes '{name}' in the loop of '{self._loop.iname}'"
                    raise scan.refusal(kernel, why, "distribute the loop, or write elsewhere")

    def _check_conditions(self, scan: ScanUse, loops: PartLoops, values: Parts) -> None:
        """Check that totals touch nothing that the scan would not touch, under its conditions."""
        if not scan.conditions:
            return
        kernel, name = self._kernel, self._kernel.new_name(scan.insn.id)
        taken = [
            Assignment(name, ex.Variable(name), v, self._around(scan, loops.part)) for v in values
        ]
        alone = kernel.copy(domains=(*kernel.domains, *loops.domains))
        if not all(are_inside(alone.copy(instructions=(insn,))) for insn in taken):
            raise scan.refusal(
                self._kernel,
                "it is under conditions, without which it may read outside of its arrays",
                "ask them in what is reduced: if(c, a, b)",
            )

    def _dtypes(self, scan: ScanUse) -> tuple[DType, ...]:
        return reduction_types(scan.reduction, dict(kinds(self._kernel)))

    # --- instructions

    def _split(self, scan: ScanUse) -> None:
        loop, loops, dtypes = self._loop, self._part_loops(scan), self._dtypes(scan)
        operation, (iname,) = scan.reduction.operation, scan.reduction.inames
        totals = self._arrays(scan, f"total_{iname}", dtypes, loops.part, loops.totals)
        befores = self._arrays(scan, f"before_{iname}", dtypes, loop.outer, loops.befores)

        def reduced(over: str, operand: Expression) -> Parts:
            inside = ex.Reduction(operation, (over,), operand)
            return parts_of(ex.Reduction(operation, (), inside))

        def scanned(part: str, place: str) -> Parts:
            values = {iname: loop.at(part, place)}
            return reduced(place, walk.substitute(scan.reduction.operand, values))

        values = scanned(loops.part, loops.place)
        self._check_conditions(scan, loops, values)
        total = self._instruction(scan, "total", loops.part, totals(loops.part), values)
        total = total.copy(depends_on=self._needed(scan), happens_after=scan.insn.happens_after)
        earlier = totals(loops.earlier)
        values = reduced(loops.earlier, earlier[0] if len(earlier) == 1 else ex.Several(earlier))
        before = self._instruction(scan, "before", loops.before, befores(loops.before), values)
        before = before.copy(depends_on=frozenset([total.id]))
        here = scanned(loop.outer, loops.inner)
        results = facts_of(operation).combined(befores(loop.outer), here, dtypes)
        insn = self._uses.get(scan.insn.id, scan.insn)
        insn = insn.map_expressions(lambda e: replaced(e, scan.reduction, results))
        self._uses[insn.id] = insn.copy(depends_on=insn.depends_on | {before.id})
        self._made[insn.id] = [*self._made.get(insn.id, ()), (total, before)]

    def _needed(self, scan: ScanUse) -> frozenset[str]:
        """Return what a scan depends on that has a say in what it takes up."""
        kernel, inames = self._kernel, scan.insn.within_inames.union(scan.reduction.inames)
        read = walk.free_variables(scan.reduction.operand)
        read = read.union(*(d.parameters for d in homes(kernel, inames)))
        names = {o for n in read.intersection(kernel.variables) for o in overlapping(kernel, n)}
        writers = {w.id for n in names for w in kernel.writers.get(n, ())}

        def matters(insn_id: str, seen: frozenset[str]) -> bool:
            before = kernel.instruction(insn_id).depends_on - seen
            return insn_id in writers or any(matters(i, seen | before) for i in sorted(before))

        return frozenset(i for i in scan.insn.depends_on if matters(i, frozenset((i,))))

    def _part_loops(self, scan: ScanUse) -> PartLoops:
        """Return the loops of a scan, which others in the same loops have as well."""
        (iname,) = scan.reduction.inames
        key = iname, scan.insn.within_inames
        if key not in self._loops:
            found = self._loop.part_loops(scan.insn.within_inames, iname, self._revision.name)
            if found is None:
                why = (
                    "up to where a part begins, it does not take the same in all iterations of "
                    f"'{self._loop.iname}'"
                )
                remedy = "name the loop along which it takes more and more"
                raise scan.refusal(self._kernel, why, remedy)
            if found.totals.is_empty():
                remedy = "shorter parts may have something before them"
                raise scan.refusal(self._kernel, "nothing comes before any part", remedy)
            self._loops[key] = found
        return self._loops[key]

    def _instruction(
        self,
        scan: ScanUse,
        kind: str,
        iname: str,
        to: tuple[ex.Variable | ex.Subscript, ...],
        values: Parts,
    ) -> Assigning:
        insn_id = f"{scan.insn.id}_{kind}"
        ids = {insn.id for made in self._made.values() for both in made for insn in both}
        while insn_id in ids or insn_id in self._kernel.instructions_by_id:
            insn_id += "_"
        inames, where = self._around(scan, iname), scan.insn.location
        return assigning(insn_id, to, values, within_inames=inames, location=where)

    def _around(self, scan: ScanUse, *inames: str) -> frozenset[str]:
        """Return the loops around a scan's, and others."""
        loops = (self._loop.outer, self._loop.place)
        return scan.insn.within_inames.difference(loops).union(inames)

    def _arrays(
        self, scan: ScanUse, like: str, dtypes: Sequence[DType], part: str, parts: isl.Set
    ) -> Callable[[str], tuple[ex.Variable | ex.Subscript, ...]]:
        """Declare temporaries; return what their elements for a part are.

        Parameters:
            scan: what they are made for.
            like: what they are called.
            dtypes: their types.
            part: the iname that `parts` has for parts.
            parts: which there are, for the loops around.
        """
        others = [i for i in self._kernel.inames if i in self._kept(scan)]
        axes = {i: self._axis(scan, i, parts) for i in (*others, part)}
        shape = tuple([axis.size for axis in axes.values()])
        arrays = [self._revision.temporary(like, t, shape, self._space) for t in dtypes]

        def elements(at: str) -> tuple[ex.Variable | ex.Subscript, ...]:
            places = {**{i: i for i in others}, part: at}
            index = [axis.place(LinearForm.of_name(places[i])) for i, axis in axes.items()]
            return tuple([ex.element(array, tuple(index)) for array in arrays])

        return elements

    def _kept(self, scan: ScanUse) -> frozenset[str]:
        """Return the loops around for whose iterations there are elements of their own."""
        around = self._around(scan)
        if self._space is AddressSpace.GLOBAL:
            return around
        return frozenset(i for i in around if isinstance(self._kernel.tags.get(i), LocalTag))

    def _axis(self, scan: ScanUse, iname: str, values: isl.Set) -> TileAxis:
        """Return the axis of temporaries along which an iname counts."""
        kernel = self._kernel
        values = unflatten(values.intersect(kernel.assumptions.flat), (iname,))
        found = tile_axis(values)
        if found is None and self._space is AddressSpace.GLOBAL:
            found = sized_axis(values, sorted(kernel.parameters), known_parameters(kernel))
        if found is None:
            why = f"there is no constant number of parts, or of iterations of '{iname}'"
            if self._space is AddressSpace.GLOBAL:
                why = f"how many iterations of '{iname}' there are does not follow from sizes"
            raise scan.refusal(kernel, why, "fix_parameters, or another temporary_scope")
        return found


def replaced(node: Expression, reduction: ex.Reduction, results: Parts) -> Expression:
    """Return an expression with results in place of a reduction."""
    if isinstance(node, ex.Component) and node.aggregate == reduction:
        return results[node.position]
    if node == reduction:
        return results[0]
    parts = [replaced(part, reduction, results) for part in walk.parts(node)]
    return walk.rebuild(node, tuple(parts))
