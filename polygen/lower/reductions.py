"""Realise reductions: each becomes an accumulator, its initialisation and its update.

out[i] = 2*sum(k, a[i, k])        ->    acc_k = 0
                                        acc_k = acc_k + a[i, k]      (within k, too)
                                        out[i] = 2*acc_k

Those that grow by one element in each iteration of a loop around them are carried through it: see
`polygen.lower.scans`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from polygen.analysis.access.outermost_reductions import Outermost, check_sequential
from polygen.analysis.order.reduction_statements import places
from polygen.analysis.typing.expression_types import reduction_types
from polygen.analysis.typing.inference import kinds
from polygen.errors import ComputedAnew, NotAScan
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Assignment, Instruction, assigning
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import Parts, facts_of, parts_of
from polygen.ir.show_expression import show_expression
from polygen.ir.verify import excerpt
from polygen.lower.scans import Scan, depends_on_loop, find_scan, swept_if_inside
from polygen.source import warn


def realize_reductions(
    kernel: Kernel, *, quiet: bool = False, host_loops: frozenset[str] = frozenset()
) -> Kernel:
    """Return the kernel without reduction nodes; itself if it has none.

    Parameters:
        kernel: its types are known.
        quiet: do not warn of reductions that would be scans, were it not for a hardware axis.
        host_loops: those in which the whole grid waits: nothing private is carried through them.

    Raises:
        ReductionNotSequential: if a reduction runs over an iname on a hardware axis.
        NotAScan: if one is no scan, and the kernel has the option ``force_scan``.
    """
    if not any(insn.reduction_inames for insn in kernel.instructions):
        return kernel
    return _Realizer(kernel, quiet, host_loops).run()


def realized_with_origins(
    kernel: Kernel, host_loops: frozenset[str] = frozenset()
) -> tuple[Kernel, Mapping[str, str]]:
    """Return what `realize_reductions` does, and which instruction each new one was made for."""
    maker = _Realizer(kernel, quiet=True, host_loops=host_loops)
    return maker.run(), maker.origins


class _Realizer:
    """Collects the instructions of the kernel without reductions."""

    def __init__(self, kernel: Kernel, quiet: bool, host_loops: frozenset[str]) -> None:
        self._kernel = kernel
        self._quiet = quiet
        self._host_loops = host_loops
        self._names = set(kernel.names)
        self._done: list[Instruction] = []
        self._temporaries = list(kernel.temporaries)
        self._kinds = dict(kinds(kernel))
        self._made: dict[str, Instruction] = {}  # by id
        self._combining: dict[str, Callable[[Parts], Parts]] = {}  # for each update, by id
        self.origins: dict[str, str] = {}  # of what was made, the kernel's instruction

    def run(self) -> Kernel:
        pending = list(reversed(self._kernel.instructions))
        while pending:
            insn = pending.pop()
            new = self._realize(insn)
            if new is None:
                self._done.append(self._combined(insn))
            else:
                pending += reversed(new)
        return self._kernel.copy(
            instructions=tuple(self._done), temporaries=tuple(self._temporaries)
        )

    def _realize(self, insn: Instruction) -> tuple[Instruction, ...] | None:
        """Return what the outermost reductions of `insn` become, or None if it has none."""
        if not insn.reduction_inames:
            return None
        found = Outermost(self._accumulators)
        use = insn.map_expressions(found.replace)
        always = tuple(p for p in insn.predicates if not walk.reductions(p))
        starts: list[Instruction] = []
        updates: list[Instruction] = []
        # None of them waits for another, as several may share a loop.
        for (reduction, conditions), accumulators in found.accumulators.items():
            check_sequential(self._kernel, insn, reduction)
            first, update = self._parts(insn, reduction, (*always, *conditions), accumulators)
            starts += first
            updates.append(update)
        # Where those do not hold, accumulators have no value to ask for.
        predicates = sorted(use.predicates, key=lambda p: p not in always)
        before = insn.depends_on.union(u.id for u in updates)
        use = use.copy(depends_on=before, predicates=tuple(predicates))
        return *starts, *updates, use

    def _parts(
        self,
        insn: Instruction,
        reduction: ex.Reduction,
        conditions: tuple[Expression, ...],
        accumulators: tuple[ex.Variable, ...],
    ) -> tuple[list[Assignment], Instruction]:
        """Return what starts the accumulators, one for each result, and what updates them."""
        facts = facts_of(reduction.operation)
        scan = self._scan(insn, reduction, conditions)
        inside = frozenset(reduction.inames if scan is None else scan.sweep)
        dtypes = reduction_types(reduction, self._kinds)
        start = Assignment(
            id=self._new_name(f"{insn.id}_init"),
            assignee=accumulators[0],
            expression=facts.identity(dtypes)[0],
            within_inames=insn.within_inames - inside,
            depends_on=self._outside(insn.depends_on, inside, through=bool(conditions)),
            predicates=conditions if scan is None else (),  # which reads no data too early
            location=insn.location,
        )
        others = zip(accumulators[1:], facts.identity(dtypes)[1:], strict=True)
        starts = [start, *(self._like(start, name, value) for name, value in others)]
        operands = parts_of(reduction)
        more: tuple[Expression, ...] = ()
        if scan is not None:
            at = {reduction.inames[0]: scan.value}
            operands = tuple([walk.substitute(operand, at) for operand in operands])
            more = scan.conditions
        update = assigning(
            self._new_name(f"{insn.id}_update"),
            accumulators,
            operands,  # combined with the accumulators once they have no reductions inside
            within_inames=insn.within_inames | inside,
            depends_on=insn.depends_on.union(s.id for s in starts),
            predicates=(*conditions, *more),
            location=insn.location,
        )
        self._combining[update.id] = lambda new: facts.combined(accumulators, new, dtypes)
        for made in (*starts, update):
            self._made[made.id] = made
            self.origins[made.id] = self.origins.get(insn.id, insn.id)
        return starts, update

    def _combined(self, insn: Instruction) -> Instruction:
        """Return an update of accumulators as one: until now it only has what is reduced."""
        combine = self._combining.get(insn.id)
        if combine is None or not isinstance(insn, Assigning):
            return insn
        return insn.with_pairs(tuple(zip(insn.assignees, combine(insn.values), strict=True)))

    def _like(self, start: Assignment, name: ex.Variable, value: Expression) -> Assignment:
        return start.copy(id=self._new_name(start.id), assignee=name, expression=value)

    def _scan(
        self, insn: Instruction, reduction: ex.Reduction, conditions: tuple[Expression, ...]
    ) -> Scan | None:
        """Return how a reduction is carried through the loops around it, if it is a scan."""
        kernel, around = self._kernel, insn.within_inames
        why_not = "how far it runs does not depend on a loop around it"
        if depends_on_loop(kernel, around, reduction):
            place = places(kernel).of[self.origins.get(insn.id, insn.id), around]
            loops = tuple([part for part in place if isinstance(part, str)])
            found = find_scan(kernel, around, loops, reduction, conditions)
            if isinstance(found, Scan):
                waiting = sorted(self._host_loops.intersection(found.sweep))
                if not waiting:
                    return found
                found = f"the whole grid has to wait in the loop of '{waiting[0]}'"
            why_not = found
            inames = tuple([i for i in kernel.inames if i in around])
            as_loops = find_scan(kernel, around, inames, reduction, conditions)
            axes = (
                [] if isinstance(as_loops, str) else [i for i in as_loops.sweep if i not in loops]
            )
            if axes:
                why_not = f"'{axes[0]}', through which it would be carried, is on a hardware axis"
                tag = kernel.tags[axes[0]]
                self._warn(
                    reduction,
                    f"'{axes[0]}', which is tagged {tag}: with a loop, it would be",
                )
            elif sweep := swept_if_inside(kernel, around, loops, reduction, conditions):
                names = " and ".join(f"'{iname}'" for iname in sweep)
                self._warn(
                    reduction,
                    f"{names}, as other loops are inside: with these outside (prioritize_loops, "
                    "interchange), it would be",
                )
        if kernel.options.force_scan:
            raise NotAScan(
                f"'{show_expression(reduction)}' in instruction '{insn.id}' is no scan, which "
                f"the option force_scan asks for: {why_not}",
                where=insn.location,
                excerpt=excerpt(kernel, self.origins.get(insn.id, insn.id)),
                remedy="change the bounds, or the order of the loops; or do without force_scan",
            )
        return None

    def _warn(self, reduction: ex.Reduction, why: str) -> None:
        if self._quiet or ComputedAnew.__name__ in self._kernel.options.silenced_warnings:
            return
        warn(
            ComputedAnew(
                f"kernel '{self._kernel.name}': '{show_expression(reduction)}' is computed anew "
                f"for each value of {why} carried from one iteration to the next"
            )
        )

    def _outside(
        self, ids: frozenset[str], inames: Iterable[str], *, through: bool
    ) -> frozenset[str]:
        """Return those of the instructions that are not in the loop of a reduction.

        What stands in it, such as a prefetch, comes after the start of the accumulator.  But what
        that comes after may decide whether there is a start: it is returned, if asked for.
        """
        by_id: dict[str, Instruction] = {**self._kernel.instructions_by_id, **self._made}
        pending, inside = list(ids), set[str]()
        found: set[str] = set()
        while pending:
            insn = by_id[pending.pop()]
            if insn.within_inames.isdisjoint(inames):
                found.add(insn.id)
            elif through and insn.id not in inside:
                inside.add(insn.id)
                pending += insn.depends_on
        return frozenset(found)

    def _accumulators(self, reduction: ex.Reduction) -> tuple[ex.Variable, ...]:
        names: list[ex.Variable] = []
        for dtype in reduction_types(reduction, self._kinds):
            name = self._new_name("acc_" + "_".join(reduction.inames))
            self._temporaries.append(TemporaryVariable(name, dtype))
            self._kinds[name] = dtype
            names.append(ex.Variable(name))
        return tuple(names)

    def _new_name(self, like: str) -> str:
        name, count = like, 0
        while name in self._names:
            name, count = f"{like}_{count}", count + 1
        self._names.add(name)
        return name
