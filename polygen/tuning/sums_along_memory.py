"""Takes the steps for the order that was chosen for a reduction (`polygen.tuning.sum_orders`).

A reduction over rows, ``c[i,j] = sum(k, a[i,k]*b[k,j])``, becomes updates of a block of results::

    for i, j_block
        for j_start: acc[j_start] = 0
        for k, j_add: acc[j_add] = acc[j_add] + a[i,k]*b[k, 2048*j_block + j_add]
        for j_near: c[i, 2048*j_block + j_near] = acc[j_near]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from polygen.analysis.access.domains import surrounding_inames
from polygen.analysis.order.ignored_priorities import ignored_priorities
from polygen.errors import NestingNotPossible, UserError
from polygen.ir import walk
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.tags import UnrollTag
from polygen.ir.target_facts import facts_of
from polygen.language.priorities import with_priority
from polygen.source import caller_location
from polygen.transforms.arrays.privatize_temporaries_with_inames import (
    privatize_temporaries_with_inames,
)
from polygen.transforms.inames.duplicate_inames import duplicate_inames
from polygen.transforms.inames.join_domains import join_domains
from polygen.transforms.inames.prioritize_loops import prioritize_loops
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.instructions.remove_dependency import remove_dependency
from polygen.transforms.kernels.set_options import set_options
from polygen.transforms.parallel_reductions.realize_reduction import realize_reduction
from polygen.transforms.reductions.split_reduction_inward import split_reduction_inward
from polygen.transforms.splitting.separate_full_tiles import separate_full_tiles
from polygen.transforms.splitting.split_iname import split_iname
from polygen.tuning.blocked_sums import extent_of, rounded, sum_in_blocks
from polygen.tuning.lanes import in_lanes
from polygen.tuning.sum_orders import SumOrder, inner_inames, outermost

_BLOCK = 1 << 11  # results side by side
_AT_ONCE = 8  # rows that are added to a block at once
_ROWS, _ALL = 3, 5  # levels of blocks in sums of rows, or of all, whose length is not known


def in_order(kernel: Kernel, ids: Sequence[str], order: SumOrder, *, is_alone: bool) -> Kernel:
    """Return the kernel with reductions whose innermost loop is one of their own.

    Parameters:
        kernel: the kernel.
        ids: instructions in the same loops.
        order: that of some of their reductions.
        is_alone: whether they have no others.
    """
    if order.is_new:
        kernel = _nested(kernel, [*order.kept, *order.reduced])
    nodes = [node for name in ids for node in outermost(kernel.expanded.instruction(name))]
    if any(inner_inames(node) for node in nodes):
        return kernel  # it is one of blocks, or inner sums are looked at for themselves
    depth = _ROWS if order.kept else _ALL
    if is_alone and len(nodes) == 1 and not facts_of(kernel.target).has_grid:
        new = in_lanes(kernel, ids[0], order.reduced, depth)
    else:
        new = sum_in_blocks(kernel, ids, order.reduced, depth=depth)
    if rounded(kernel, ids, order.reduced) is None or new.options.vectorize_sums:
        return new
    return set_options(new, vectorize_sums=True)


def in_rows(kernel: Kernel, ids: Sequence[str], orders: Sequence[SumOrder]) -> Kernel:
    """Return the kernel with reductions that add rows to blocks of results.

    Where other instructions are in the loops around, these are shared if possible.

    Parameters:
        kernel: the kernel.
        ids: instructions in the same loops.
        orders: those of reductions of each of them whose innermost loop is over results.
    """
    others = [insn for insn in kernel.instructions if insn.id not in ids]
    taken = _used(kernel, others)
    for order in orders:
        if not taken.isdisjoint(order.reduced):
            kernel, own = _with_own_loops(kernel, ids, order.reduced)
            orders = [replace(o, reduced=own) if o is order else o for o in orders]
    try:
        return _Rows(kernel, ids, orders).kernel
    except UserError:
        kept = orders[0].kept
        if taken.isdisjoint(kept):
            raise
        loops = (*kept, *(iname for order in orders for iname in order.reduced))
        kernel, own = _with_own_loops(kernel, ids, loops)
        names = dict(zip(loops, own, strict=True))
        renamed = [
            replace(
                order,
                kept=tuple([names[i] for i in order.kept]),
                reduced=tuple([names[i] for i in order.reduced]),
                near=names[order.near],
            )
            for order in orders
        ]
        return _Rows(kernel, ids, renamed).kernel


def _used(kernel: Kernel, insns: Iterable[Instruction]) -> set[str]:
    plain = kernel.expanded.instructions_by_id
    found = [plain.get(insn.id, insn) for insn in insns]
    return {name for i in found for name in i.within_inames | i.reduction_inames}


def _with_own_loops(
    kernel: Kernel, ids: Sequence[str], inames: Sequence[str]
) -> tuple[Kernel, tuple[str, ...]]:
    own = list[str]()
    for iname in inames:
        own.append(kernel.new_name(iname, own))
    return duplicate_inames(kernel, inames, ids, own), tuple(own)


def _nested(kernel: Kernel, inames: Sequence[str]) -> Kernel:
    """Return the kernel with loops nested in an order.

    Raises:
        NestingNotPossible: if the kernel has another structure.
    """
    before = ignored_priorities(kernel)
    for inner, outer in ignored_priorities(with_priority(kernel, tuple(inames))):
        if (inner, outer) not in before:
            raise NestingNotPossible(
                f"the loop of '{inner}' cannot be outside of that of '{outer}'",
                where=caller_location(),
                remedy="give instructions loops of their own (duplicate_inames)",
            )
    return prioritize_loops(kernel, inames)


class _Rows:
    """Makes updates of rows of the reductions of instructions.

    Attributes:
        kernel: the kernel with what was made up to now.
    """

    def __init__(self, kernel: Kernel, ids: Sequence[str], orders: Sequence[SumOrder]) -> None:
        self.kernel, self._ids = kernel, list(ids)
        rows = [self._several(order) for order in orders]
        nears = dict.fromkeys([order.near for order in orders])
        self._blocks = {near: self._block(near) for near in nears}
        known = set(self.kernel.instructions_by_id)
        self.kernel = realize_reduction(self.kernel, self._ids)
        made = [i for i in self.kernel.instructions if i.id not in known]
        for insn in made:
            self._free(insn)
        for order, (outer, unrolled) in zip(orders, rows, strict=True):
            self._updates(order, outer, unrolled, made)

    def _block(self, near: str) -> tuple[str, ...]:
        """Make blocks of a loop over results; return the loops over blocks and in them."""
        extent = extent_of(self.kernel, near)
        if extent is not None and extent <= _BLOCK:
            return (near,)
        length = _BLOCK if extent is None else -(-extent // -(-extent // _BLOCK))
        outer, inner = self._names(f"{near}_block", f"{near}_near")
        self.kernel = split_iname(self.kernel, near, length, outer_iname=outer, inner_iname=inner)
        return outer, inner

    def _names(self, *like: str) -> tuple[str, ...]:
        return tuple([self.kernel.new_name(name) for name in like])

    def _several(self, order: SumOrder) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Let several rows be added at once; return the loops over rows, and the unrolled one."""
        *others, row = order.reduced
        insns = [self.kernel.expanded.instruction(name) for name in self._ids]
        if any(_has_inner(insn, order) for insn in insns) or _depends(
            self.kernel, row, [*order.kept, *order.reduced]
        ):
            return order.reduced, ()
        extent = extent_of(self.kernel, row)
        if extent is not None and extent <= _AT_ONCE:
            self.kernel = tag_inames(self.kernel, {row: UnrollTag()})
            return tuple(others), (row,)
        several, single = self._names(f"{row}_several", f"{row}_near")
        self.kernel = split_iname(
            self.kernel,
            row,
            _AT_ONCE,
            outer_iname=several,
            inner_iname=single,
            inner_tag=UnrollTag(),
        )
        reduced = [*others, several, single]
        if rounded(self.kernel, self._ids, reduced) is not None:
            self.kernel = split_reduction_inward(self.kernel, single, self._ids)
        return (*others, several), (single,)

    def _free(self, insn: Instruction) -> None:
        """Let an instruction come before those in its loops of which it reads nothing."""
        near = {blocks[-1] for blocks in self._blocks.values()}
        before = [self.kernel.instruction(name) for name in sorted(insn.depends_on)]
        free = [
            i.id
            for i in before
            if near & i.within_inames
            and set(i.written_names).isdisjoint((*insn.read_names, *insn.written_names))
        ]
        if free:
            self.kernel = remove_dependency(self.kernel, insn.id, free)

    def _updates(
        self,
        order: SumOrder,
        outer: tuple[str, ...],
        unrolled: tuple[str, ...],
        made: Sequence[Instruction],
    ) -> None:
        """Give what starts accumulators, and what updates them, loops of their own over results.

        Parameters:
            order: that of the reductions.
            outer: their loops, those that rows are unrolled in left out.
            unrolled: the latter.
            made: the instructions that start and update accumulators.
        """
        (*blocks, inner) = self._blocks[order.near]
        updates = [i for i in made if i.within_inames.issuperset(outer or unrolled)]
        sums = sorted({name for i in updates for name in i.written_names})
        starts = [i for i in made if i not in updates and set(i.written_names) & set(sums)]
        self.kernel = privatize_temporaries_with_inames(self.kernel, inner, sums)
        around = [i for i in order.kept if i != order.near] + blocks
        if order.kept[-1] != order.near:
            self.kernel = _nested(self.kernel, [*around, inner])
        (start,) = self._names(f"{order.near}_start")
        self.kernel = duplicate_inames(self.kernel, inner, _ids(starts), [start])
        inside = [iname for iname in unrolled if iname in updates[0].within_inames]
        near, outer = self._apart(inner, outer, updates)
        self.kernel = _nested(self.kernel, [*around, *outer, near, *inside])
        if unrolled and outer:
            self.kernel = separate_full_tiles(self.kernel, unrolled)

    def _apart(
        self, inner: str, outer: tuple[str, ...], updates: Sequence[Instruction]
    ) -> tuple[str, tuple[str, ...]]:
        """Give updates a loop of their own over results, that may be inside of those over rows.

        Where the bounds of rows need it, they become one domain.
        """
        (near,) = self._names(f"{inner}_add")
        needing = [i for i in outer if inner in surrounding_inames(self.kernel, i)]
        if not needing:
            self.kernel = duplicate_inames(self.kernel, inner, _ids(updates), [near])
            return near, outer
        own = {inner: near} | {i: self.kernel.new_name(i, [near]) for i in needing}
        self.kernel = duplicate_inames(self.kernel, [*own], _ids(updates), [*own.values()])
        self.kernel = join_domains(self.kernel, [*own.values()])
        return near, tuple([own.get(i, i) for i in outer])


def _ids(insns: Iterable[Instruction]) -> list[str]:
    return [insn.id for insn in insns]


def _has_inner(insn: Instruction, order: SumOrder) -> bool:
    """Tell whether what is reduced in an order has reductions itself."""
    return any(
        walk.reductions(node.operand)
        for node in insn.reductions
        if set(node.inames) == set(order.reduced)
    )


def _depends(kernel: Kernel, row: str, inames: Iterable[str]) -> bool:
    """Tell whether the bounds of a loop mention others, or theirs mention it."""
    home = kernel.home_domains[row]
    return any(
        kernel.home_domains[i] is home
        or i in surrounding_inames(kernel, row)
        or row in surrounding_inames(kernel, i)
        for i in inames
        if i != row
    )
