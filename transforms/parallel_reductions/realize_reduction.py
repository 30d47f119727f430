"""`polygen.realize_reduction`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import partial
from itertools import chain, groupby, zip_longest

from polygen.analysis.access.outermost_reductions import Outermost, check_sequential
from polygen.analysis.dataflow.contributions import Staged, check_stages
from polygen.analysis.integers.proving import proofs_are_on
from polygen.analysis.order.reduction_statements import places
from polygen.analysis.typing.expression_types import reduction_types
from polygen.analysis.typing.inference import infer_types, kinds
from polygen.errors import NoSuchReduction, TypeNotFound
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import Parts, facts_of, identity_of, parts_of
from polygen.ir.relation import widened
from polygen.ir.revision import Revision
from polygen.ir.substitution import expand
from polygen.ir.verify import excerpt
from polygen.language.kernel_assembly import check_made
from polygen.language.within import matching
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Within, transformation
from polygen.transforms.parallel_reductions._reduction_trees import Trees, with_old_names
from polygen.transforms.parallel_reductions.local_reductions import LocalReduction, local_reduction
from polygen.transforms.parallel_reductions.shuffled_trees import ShuffledTree, shuffled_tree


@transformation
def realize_reduction(kernel: Kernel, insn_id_filter: Within | None = None) -> Rearranged:
    r"""Write reductions as what they stand for: an accumulator, its start, its update and its use.

    Code is generated in this form in any case; steps can then be taken on these instructions.  A
    reduction that would be carried through a loop around it as a scan, is computed anew in each
    iteration.

    Kind: order and storage.

    Requires:
        1. There is a reduction in the instructions, if they are named.
        2. The types of what is reduced are known.
        3. No reduction runs over an iname tagged ``g``, or over lanes.  One over an axis of the
           work items becomes a tree in local memory.
        4. The new instructions have an order with all others: the loops of the reductions can be
           nested with one loop an iname, as they could before.

    Parameters:
        insn_id_filter: the instructions: an id, a query, or several of these.  Of each, only the
            outermost reductions are realized.  All reductions of all instructions if not given.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i,j]: 0<=i,j<n }", "out[i] = 2*sum(j, a[i,j])  {id=row}")
        >>> knl = pg.realize_reduction(pg.add_dtypes(knl, {"a": "float32"}))
        >>> print(str(knl).partition("INSTRUCTIONS:\n")[2].partition("\n---")[0])
        [i] acc_j = 0  {id=row_init}
        [i, j] acc_j = acc_j + a[i, j]  {id=row_update, dep=row_init}
        [i] out[i] = 2*acc_j  {id=row, dep=row_update}

    Raises:
        NothingMatches, UnknownInstruction: if `insn_id_filter` means no instruction.
        NoSuchReduction: if 1 does not hold.
        TypeNotFound: if 2 does not hold.
        ReductionNotSequential: if 3 does not hold.
        NoLoopNest, DependencyCycle: if 4 does not hold.

    Source: Loo.py's transformation of this name.
    """
    ids = {insn.id for insn in matching(kernel, insn_id_filter)}
    plain = _without_reducing_rules(kernel, ids)
    if not any(i.id in ids and i.reductions for i in plain.instructions):
        if insn_id_filter is None:
            return Rearranged(kernel)
        raise NoSuchReduction(
            f"there is no reduction in {' and '.join(sorted(ids))}",
            where=caller_location(),
            excerpt=excerpt(kernel, *sorted(ids)),
            remedy="name instructions that have one",
        )
    new = _Realizer(plain, deep=insn_id_filter is None).run(ids)
    # That is what reductions mean; so what is left to see is that it has one result.
    check_made(new)
    return Rearranged(new, restated=new)


def realized(kernel: Kernel, ids: Collection[str]) -> Kernel:
    """Return the kernel with all reductions of some of its instructions realized.

    Parameters:
        kernel: it has no rules.
        ids: those of the instructions.
    """
    return _Realizer(kernel, deep=True).run(ids)


def _without_reducing_rules(kernel: Kernel, ids: Iterable[str]) -> Kernel:
    """Return the kernel with what rules stand for that reduce, where instructions invoke them."""
    reducing = {
        name: rule
        for name, rule in kernel.rules.items()
        if walk.reductions(expand(rule.expression, kernel.rules))
    }

    def plain(insn: Instruction) -> Instruction:
        if insn.id not in ids:
            return insn
        return insn.map_expressions(lambda e: expand(e, reducing))

    new = kernel.copy(instructions=tuple(map(plain, kernel.instructions)))
    return new.without_unused(reducing)


def _without_rules(kernel: Kernel, staged: Staged) -> Staged:
    """Return the stages with what rules stand for."""
    if not kernel.rules:
        return staged
    plain = kernel.expanded.instructions_by_id
    stages = [insn for s in staged.stages if isinstance(insn := plain[s.id], Assigning)]
    reduction = expand(staged.reduction, kernel.rules)
    assert isinstance(reduction, ex.Reduction)
    return replace(
        staged,
        reduction=reduction,
        conditions=tuple([expand(c, kernel.rules) for c in staged.conditions]),
        stages=tuple(stages),
        use=plain[staged.use.id],
    )


class _Realizer:
    """Makes instructions without reductions.

    Parameters:
        kernel: the kernel.
        deep: whether reductions inside of others are realized, too.

    Attributes:
        temporaries: the accumulators.
        priorities: the order of loops that nothing else orders.
    """

    def __init__(self, kernel: Kernel, *, deep: bool) -> None:
        self._kernel, self._deep = kernel, deep
        self._revision = Revision(kernel)
        self._trees = Trees(kernel, self._revision.name)
        self._kinds = dict(kinds(kernel))
        self._by_id = dict(kernel.instructions_by_id)
        self._shuffled: dict[str, ShuffledTree] = {}  # by the first result's accumulator
        self.temporaries: list[TemporaryVariable] = []
        self.priorities: list[tuple[str, ...]] = []

    def run(self, ids: Collection[str]) -> Kernel:
        """Return the kernel with what some of its instructions become."""
        made = [
            (insn.within_inames, self._phases(insn, insn.id) if insn.id in ids else [[insn]])
            for insn in self._kernel.instructions
        ]
        new: list[Instruction] = []
        for _, group in groupby(made, lambda one: (len(one[1]) > 1, one[0])):
            new += chain(*_side_by_side([phases for _, phases in group]))
        return with_old_names(self._with(tuple(new)), self._trees.olds)

    def _with(self, instructions: tuple[Instruction, ...]) -> Kernel:
        """Return the kernel with other instructions, and what has been made for them."""
        kernel = self._trees.kernel
        return kernel.copy(
            instructions=instructions,
            temporaries=(*kernel.temporaries, *self.temporaries),
            priorities=(*kernel.priorities, *dict.fromkeys(self.priorities)),
        )

    def _realized(self, insn: Instruction, origin: str) -> tuple[Instruction, ...]:
        """Return what an instruction becomes; itself if it has no reduction."""
        return tuple(chain(*self._phases(insn, origin)))

    def _phases(self, insn: Instruction, origin: str) -> list[list[Instruction]]:
        """Return what an instruction becomes, in phases that a group waits between.

        Parameters:
            insn: the instruction.
            origin: the id of the kernel's instruction that it is, or is made of.
        """
        if not insn.reduction_inames:
            return [[insn]]
        found = Outermost(partial(self._accumulators, insn))
        always = tuple([p for p in insn.predicates if not walk.reductions(p)])
        use = _asked_last(insn.map_expressions(found.replace), always)
        starts: list[Instruction] = []
        others: list[Instruction] = []
        trees: list[list[list[Instruction]]] = []
        last: set[str] = set()
        for (reduction, conditions), accumulators in found.accumulators.items():
            shared = local_reduction(self._trees.kernel, insn, reduction)
            check_sequential(self._trees.kernel, insn, reduction, shared.iname if shared else None)
            when = (*always, *conditions)
            if shared is None:
                first, update = self._parts((insn, origin), reduction, when, accumulators)
                starts += first
                others += update
            else:
                update = self._tree(use, shared, insn, reduction, when, accumulators)
                trees.append(self._in_turn(update, origin))
            self._note_order(insn, origin, reduction)
            last.add(update[-1].id)
        use = use.copy(depends_on=insn.depends_on | last)
        if not trees:
            return [[*starts, *others, use]]
        return [*_side_by_side([[[*starts, *others]], *trees]), [use]]

    def _parts(
        self,
        of: tuple[Instruction, str],
        reduction: ex.Reduction,
        conditions: tuple[Expression, ...],
        accumulators: tuple[ex.Variable | ex.Subscript, ...],
    ) -> tuple[list[Instruction], tuple[Instruction, ...]]:
        """Return what starts the accumulators, and what updates them, the update last."""
        insn, origin = of
        facts = facts_of(reduction.operation)
        dtypes = self._types(reduction)
        start = self._revision.stage(
            insn,
            "init",
            accumulators[:1],
            [0],
            depends_on=self._outside(insn.depends_on, reduction, through=bool(conditions)),
            predicates=conditions,
            happens_after=insn.happens_after if conditions else frozenset(),
        )
        starts: list[Instruction] = []
        for name, value in zip(accumulators, identity_of(reduction.operation, dtypes), strict=True):
            insn_id = self._revision.name(start.id) if starts else start.id
            starts.append(start.copy(id=insn_id, assignee=name, expression=value))
        update = self._revision.stage(
            insn,
            "update",
            accumulators,
            parts_of(reduction),
            within_inames=insn.within_inames.union(reduction.inames),
            depends_on=insn.depends_on.union(s.id for s in starts),
            predicates=conditions,
            happens_after=frozenset([widened(r, reduction.inames) for r in insn.happens_after]),
        )
        self._by_id.update({made.id: made for made in (*starts, update)})
        *inner, plain = self._realized(update, origin) if self._deep else (update,)
        assert isinstance(plain, type(update))
        values = facts.combined(accumulators, plain.values, dtypes)
        return starts, (*inner, plain.with_pairs(tuple(zip(accumulators, values, strict=True))))

    def _tree(
        self,
        use: Instruction,
        shared: LocalReduction,
        insn: Instruction,
        reduction: ex.Reduction,
        conditions: Parts,
        accumulators: tuple[ex.Variable | ex.Subscript, ...],
    ) -> tuple[Assigning, ...]:
        """Return what a group does for a reduction, in turn."""
        names, dtypes = tuple(map(ex.name_of, accumulators)), self._types(reduction)
        own = self._trees.places(insn, shared, conditions)
        self._kinds |= {new: self._kinds[old] for new, old in self._trees.olds.items()}
        tree = self._shuffled.get(names[0])
        if tree is None:
            groups: tuple[tuple[str, ...], ...] = (names,)
            stages = self._trees.stages(insn, reduction, conditions, shared, own, names, dtypes)
        else:
            groups = tree.groups
            stages = self._trees.shuffled(insn, reduction, conditions, tree, own, dtypes)
        if proofs_are_on():
            # A priority of its own would let it come first.
            after = use.copy(depends_on=frozenset([stages[-1].id]))
            values, inner = own.instead_of(shared) if own else ({}, {})
            staged = Staged(reduction, groups, dtypes, conditions, stages, after, values, inner)
            kernel = self._with((*stages, after))
            check_stages(kernel.expanded, _without_rules(kernel, staged))
        return stages

    def _in_turn(self, stages: tuple[Assigning, ...], origin: str) -> list[list[Instruction]]:
        """Return the phases of stages, which may have reductions."""
        self._by_id.update({stage.id: stage for stage in stages})
        if not self._deep:
            return [[stage] for stage in stages]
        return [phase for stage in stages for phase in self._phases(stage, origin)]

    def _note_order(self, insn: Instruction, origin: str, reduction: ex.Reduction) -> None:
        """Note in which order the loops of a reduction are nested, if it has several."""
        if len(reduction.inames) > 1:
            inside = insn.within_inames.union(reduction.inames)
            olds = self._trees.olds
            place = places(self._kernel).of[origin, frozenset(olds.get(i, i) for i in inside)]
            names = {olds.get(i, i): i for i in reduction.inames}
            self.priorities.append(tuple([names[p] for p in map(str, place) if p in names]))

    def _outside(
        self, ids: Iterable[str], reduction: ex.Reduction, *, through: bool
    ) -> frozenset[str]:
        """Return those of the instructions that are not in the loop of a reduction.

        What stands in it comes after the start of the accumulator.  But what that comes after may
        decide whether there is a start: it is returned, if asked for.
        """
        pending, seen, found = list(ids), set[str](), set[str]()
        while pending:
            insn = self._by_id[pending.pop()]
            if insn.within_inames.isdisjoint(reduction.inames):
                found.add(insn.id)
            elif through and insn.id not in seen:
                seen.add(insn.id)
                pending += insn.depends_on
        return frozenset(found)

    def _types(self, reduction: ex.Reduction) -> tuple[DType, ...]:
        operand = expand(reduction.operand, self._kernel.rules)
        spelled_out = ex.Reduction(reduction.operation, reduction.inames, operand)
        try:
            return reduction_types(spelled_out, self._kinds)
        except TypeNotFound:  # what temporaries are, follows from what is written to them
            inferred = infer_types(self._kernel.expanded, complete=False)
            self._kinds = {**kinds(inferred), **self._kinds}
            return reduction_types(spelled_out, self._kinds)

    def _accumulators(
        self, insn: Instruction, reduction: ex.Reduction
    ) -> tuple[ex.Variable | ex.Subscript, ...]:
        """Return where the results are found: in variables, or in the first places of arrays."""
        kernel = self._trees.kernel
        shared = local_reduction(kernel, insn, reduction)
        like = "acc_" + "_".join([self._trees.olds.get(i, i) for i in reduction.inames])
        dtypes = self._types(reduction)
        size = kernel.options.shuffling_on(kernel.target)
        found = shared and shuffled_tree(
            kernel, insn, shared, size, dtypes, lambda: self._revision.name(like)
        )
        if shared and found:
            tree, variables = found
            self._shuffled[tree.last[0]] = tree
            results = tuple([_first(name, shared) for name in tree.last])
        else:
            shape = shared.shape if shared else ()
            space = AddressSpace.LOCAL if shared else AddressSpace.PRIVATE
            variables = [
                TemporaryVariable(self._revision.name(like), t, shape, space) for t in dtypes
            ]
            results = tuple([_first(v.name, shared) for v in variables])
        self.temporaries += variables
        self._kinds |= {v.name: v.dtype for v in variables if v.dtype is not None}
        return results


def _first(name: str, shared: LocalReduction | None) -> ex.Variable | ex.Subscript:
    """Return an accumulator, or the first place of one that a group shares."""
    return ex.Variable(name) if shared is None else shared.element(name, 0)


def _side_by_side(sequences: list[list[list[Instruction]]]) -> list[list[Instruction]]:
    """Return the first phases of all as one, then the second ones, and so on."""
    return [list(chain(*phases)) for phases in zip_longest(*sequences, fillvalue=())]


def _asked_last(use: Instruction, always: tuple[Expression, ...]) -> Instruction:
    """Return an instruction that asks for accumulators where its other predicates hold.

    Elsewhere they have no values.
    """
    others = [p for p in use.predicates if p not in always]
    if not (always and others):
        return use
    return use.copy(predicates=(ex.LogicalAnd((*always, *others)),))
