"""The stages in which groups, their work items, and lanes of these share a reduction.

s = sum(j, a[j])   with 2 groups of 4 work items with 3 lanes each:

    lane[u] = sum(k, a[24*k + 12*g + 4*u + t])      (for each group g, item t, lane u)
    own[t] = sum(v, lane[v])
    part[g] = sum(p, own[p])                        (a tree)
    s = sum(h, part[h])
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import TypeAlias

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.access.outermost_reductions import Outermost
from polygen.analysis.integers.affine_forms import LinearForm
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.integers.moving_box import TileAxis, sized_axis, tile_axis
from polygen.analysis.typing.kept_types import kept_in
from polygen.errors import FootprintNotAffine, LocalSizeNotConstant
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.domain import Domain, project_out, rename_dimension, unflatten
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import Parts, facts_of, parts_of
from polygen.ir.relation import widened
from polygen.ir.revision import Revision
from polygen.ir.tags import ForTag, GroupTag, InameTag, LocalTag, UnrollTag
from polygen.ir.verify import excerpt
from polygen.language.within import matching
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Inames, Within, to_names, transformation
from polygen.transforms.inames.unused_inames import domains_without, priorities_among, unneeded
from polygen.transforms.parallel_reductions._dealt_values import Dealt, Shares, deal
from polygen.transforms.splitting.separation_conditions import separated

_Axes: TypeAlias = list[tuple[str, TileAxis]]  # inames, and which place each value has


def outermost(insn: Instruction) -> list[tuple[ex.Reduction, Parts]]:
    """Return the outermost reductions of an instruction, and the conditions around each."""
    found: Outermost[ex.Variable] = Outermost(
        lambda node: (ex.Variable(""),) * facts_of(node.operation).width
    )
    insn.map_expressions(found.replace)
    return list(found.accumulators)


@transformation
def reduce_in_stages(kernel: Kernel, insns: Within, inames: Inames, shares: Shares) -> Rearranged:
    """Let groups of work items share reductions.

    Parameters:
        insns: instructions within the same inames, of which all outermost reductions are over the
            same inames.
        inames: these; the first is dealt out.
        shares: how many there are of each kind.
    """
    chosen, reduced = matching(kernel, insns), to_names(inames)
    around = chosen[0].within_inames
    dealt = deal(kernel, around, reduced, shares)
    stages = _Stages(kernel, around, dealt)
    new = {insn.id: stages.of(insn) for insn in chosen}
    # Side by side: a launch computes all that groups find before another one goes on with it.
    rows = zip_longest(*(stages for _, stages in new.values()))
    before = iter([stage for row in rows for stage in row if stage is not None])
    made: list[Instruction] = []
    for insn in kernel.instructions:
        made += before if insn.id in new else []
        made.append(new[insn.id][0] if insn.id in new else insn)
    kernel = _tidied(stages.kernel.copy(instructions=tuple(made)), reduced)
    kernel = separated(kernel, dealt.full) if dealt.full is not None else kernel
    return Rearranged(kernel, by_instruction={insn.id: dealt.values for insn in chosen})


class _Stages:
    """Makes stages.

    Parameters:
        kernel: the kernel.
        around: the inames that the reductions are within.
        dealt: inames for shares.

    Attributes:
        kernel: the kernel with the inames and temporaries of the stages.
        agains: of inames that count what a stage leaves, those with which the next one reads it.
    """

    def __init__(self, kernel: Kernel, around: frozenset[str], dealt: Dealt) -> None:
        self._around, self._dealt = around, dealt
        tags = {**kernel.tags, **dealt.tags}
        self.kernel = kernel.copy(domains=(*kernel.domains, *dealt.domains), tags=tags)
        counting = [dealt.group, *([dealt.item, *dealt.lanes] if dealt.lanes else [])]
        self.agains = {iname: self._again(iname) for iname in counting if iname is not None}
        # As nothing else says which is outside: loops over lanes, and those of one's own numbers.
        lanes = tuple([self.agains[lane] for lane in dealt.lanes])
        own = tuple([dealt.inner[i] for i in kernel.inames if i in dealt.inner])
        nests = tuple([nest for nest in (lanes, own) if len(nest) > 1])
        self.kernel = self.kernel.copy(priorities=(*self.kernel.priorities, *nests))
        self._revision = Revision(self.kernel)

    def of(self, insn: Instruction) -> tuple[Instruction, list[Instruction]]:
        """Return what an instruction becomes, and the stages before it."""
        made: list[list[Assigning]] = []
        new: dict[Expression, Expression] = {}
        last = set[str]()
        for node, conditions in outermost(insn):
            self._insn, self._conditions = insn, (*insn.predicates, *conditions)
            self._chain: list[Assigning] = []
            new[node] = self._shared(node)
            made.append(self._chain)
            last.update(stage.id for stage in self._chain[-1:])
        insn = insn.map_expressions(lambda e: walk.rewrite(e, lambda node: new.get(node, node)))
        stages: list[Instruction] = [
            s for some in zip_longest(*made) for s in some if s is not None
        ]
        return insn.copy(depends_on=insn.depends_on | last), stages

    def _shared(self, node: ex.Reduction) -> ex.Reduction:
        """Make the stages of a reduction; return what it is then."""
        dealt, like = self._dealt, "_".join(node.inames)
        around = list(self._around)
        groups = self._around.union((dealt.group,) if dealt.group is not None else ())
        beside = [i for i in groups if isinstance(self.kernel.tags.get(i), LocalTag)]
        operand = walk.substitute(node.operand, dealt.values)
        result = ex.Reduction(node.operation, tuple(dealt.inner.values()), operand)
        if dealt.lanes:
            axes = self._places(dealt.lanes)
            within = groups.union((dealt.item, *dealt.lanes))
            result = self._kept(result, f"lane_{like}", within, axes, AddressSpace.PRIVATE)
            axes = self._places((*beside, dealt.item))
            within = groups | {dealt.item}
            result = self._kept(result, f"own_{like}", within, axes, AddressSpace.LOCAL, tree=True)
        else:
            result = ex.Reduction(result.operation, (dealt.item, *result.inames), result.operand)
        if dealt.group in beside:  # it is in a cluster
            axes = self._places(beside)
            result = self._kept(result, f"part_{like}", groups, axes, AddressSpace.LOCAL)
        elif dealt.group is not None:
            # One iteration after the other may use the same places, if that is what is asked for.
            each = [i for i in around if self.kernel.tags.get(i) != ForTag()]
            axes = self._in_memory((*each, dealt.group))
            result = self._kept(result, f"part_{like}", groups, axes, AddressSpace.GLOBAL)
        return result

    def _kept(
        self,
        reduction: ex.Reduction,
        like: str,
        within: frozenset[str],
        axes: _Axes,
        space: AddressSpace,
        *,
        tree: bool = False,
    ) -> ex.Reduction:
        """Add a stage that keeps what a reduction finds; return the one that goes on with that."""
        insn, width = self._insn, facts_of(reduction.operation).width
        shape = tuple([axis.size for _, axis in axes])
        parts = parts_of(reduction) if width > 1 else (reduction,)
        dtypes = [kept_in(self.kernel, part) for part in parts]
        arrays = [
            self._revision.temporary(like, dtype, shape, space, shuffled=tree) for dtype in dtypes
        ]
        self.kernel = self._revision.with_stages({})
        index = tuple([axis.place(LinearForm.of_name(iname)) for iname, axis in axes])
        elements = tuple([ex.element(array, index) for array in arrays])
        values = [ex.Component(reduction, n) for n in range(width)] if width > 1 else [reduction]
        before = frozenset([stage.id for stage in self._chain[-1:]])
        stage = self._revision.stage(
            insn,
            like.partition("_")[0],
            elements,
            values,
            within_inames=within,
            depends_on=before or insn.depends_on,
            happens_after=frozenset(
                [widened(r, within - insn.within_inames) for r in insn.happens_after]
                if not before
                else []
            ),
            predicates=self._conditions,
        )
        self._chain.append(stage)
        left = set(self.agains).difference([self._dealt.group] if tree else [])
        counted = [iname for iname, _ in axes if iname in left]
        again = {iname: ex.Variable(self.agains[iname]) for iname in counted}
        read = [walk.substitute(element, again) for element in elements]
        operand = read[0] if width == 1 else ex.Several(tuple(read))
        return ex.Reduction(
            reduction.operation, tuple([self.agains[iname] for iname in counted]), operand
        )

    def _again(self, iname: str) -> str:
        """Add an iname with the values of another."""
        name = self.kernel.new_name(iname)
        home = rename_dimension(self.kernel.home_domains[iname].set, iname, name)
        tags: dict[str, InameTag] = {**self.kernel.tags}
        if iname == self._dealt.item:
            tags[name] = tags[iname]
        elif not isinstance(self._dealt.tags[iname], GroupTag):
            tags[name] = UnrollTag()
        domains = (*self.kernel.domains, Domain(home))
        self.kernel = self.kernel.copy(domains=domains, tags=tags)
        return name

    # --- axes of temporaries

    def _places(self, inames: Iterable[str]) -> _Axes:
        """Return axes of constant length, those last along which work items are neighbours."""
        return [(iname, self._place(iname)) for iname in sorted(inames, key=self._nearness)]

    def _place(self, iname: str) -> TileAxis:
        around = with_surrounding(self.kernel, [iname])
        values = project_out(domain_of(self.kernel, around), around - {iname})
        axis = tile_axis(unflatten(values, (iname,)))
        if axis is None:  # it is the user's: those that are made here have as many as is asked for
            raise self._no_group(iname)
        return axis

    def _in_memory(self, inames: Iterable[str]) -> _Axes:
        """Return axes as long as sizes say, those last along which work items are neighbours."""
        found: _Axes = []
        for iname in sorted(inames, key=self._nearness):
            around = with_surrounding(self.kernel, [iname])
            values = project_out(domain_of(self.kernel, around), around - {iname})
            sizes, known = sorted(self.kernel.parameters), known_parameters(self.kernel)
            flat = unflatten(values, (iname,))
            axis = tile_axis(flat) or sized_axis(flat, sizes, known)
            if axis is None:
                raise self._no_axis(iname)
            found.append((iname, axis))
        return found

    def _nearness(self, iname: str) -> tuple[int, int]:
        """Return where an axis comes: work items, then lanes, are neighbours in memory."""
        tag, order = self.kernel.tags.get(iname), self.kernel.inames.index(iname)
        if isinstance(tag, LocalTag):
            return 2 - tag.axis, order
        return (-2 if iname == self._dealt.group and self._is_far else -1), order

    @property
    def _is_far(self) -> bool:
        """Whether work items along the reduction are no neighbours in memory."""
        tag = self._dealt.tags[self._dealt.item]
        return isinstance(tag, LocalTag) and tag.axis > 0

    def _no_group(self, iname: str) -> LocalSizeNotConstant:
        return LocalSizeNotConstant(
            f"'{iname}' is tagged {self.kernel.tags[iname]}, but its number of values is not a "
            f"constant: groups that share '{self._insn.id}' need one",
            where=caller_location(),
            excerpt=excerpt(self.kernel, self._insn.id),
            remedy=f"leave it to the step: untag_inames(knl, '{iname}'); or split it by a constant "
            "and tag the inner part",
        )

    def _no_axis(self, iname: str) -> FootprintNotAffine:
        return FootprintNotAffine(
            f"what groups find for '{self._insn.id}' cannot be kept for each value of '{iname}': "
            "how many these are, sizes do not say",
            where=self._insn.location,
            excerpt=excerpt(self.kernel, self._insn.id),
            remedy="take one group (blocks=1), or finish with atomic updates",
        )


def _tidied(kernel: Kernel, olds: Iterable[str]) -> Kernel:
    """Return the kernel without those of some inames that nothing uses."""
    used = {i for insn in kernel.instructions for i in insn.within_inames | insn.reduction_inames}
    gone = unneeded(kernel.domains, set(olds) - used)
    domains = domains_without(kernel.domains, gone)
    left = [iname for domain in domains for iname in domain.inames]
    return kernel.copy(
        domains=domains,
        tags={iname: tag for iname, tag in kernel.tags.items() if iname in left},
        priorities=priorities_among(kernel.priorities, left),
        separations=tuple(
            [c for c in kernel.separations if gone.isdisjoint(walk.free_variables(c))]
        ),
    )
