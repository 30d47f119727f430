"""`polygen.share_rows`."""

from __future__ import annotations

from collections.abc import Sequence

from polygen.analysis.access.accesses import references
from polygen.analysis.access.strides import Address
from polygen.errors import InvalidArgument
from polygen.ir.empty import NO_NAMES
from polygen.ir.kernel import Kernel
from polygen.ir.tags import ForTag, GroupTag
from polygen.ir.verify import excerpt
from polygen.language.within import matching
from polygen.source import caller_location
from polygen.transformation import Names, PositiveInt, Within, to_names, transformation
from polygen.transforms.fusion.loop_sharing import loops_of_all
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.parallel_reductions._own_domain import with_own_domain
from polygen.transforms.parallel_reductions._shared_rows import Rows, Shares
from polygen.transforms.splitting.split_iname import split_iname


@transformation
def share_rows(
    kernel: Kernel,
    insns: Within,
    *,
    threads: PositiveInt = 256,
    lanes: PositiveInt = 4,
    across: PositiveInt = 1,
    blocks: PositiveInt = 1,
    ahead: PositiveInt | None = None,
    keep: Names = (),
) -> Kernel:
    """Let groups of work items share rows, of which each item has the same part throughout.

    The instructions reduce rows, or do something for each element of them: those of a softmax,
    say.  An item takes vectors of `lanes` neighbours, those of the other items of the row in
    between; what it needs more than once it reads, or computes, once, and keeps in registers.
    Reductions are finished in a tree, by shuffles where there are (CUDA), else in local memory.

    Kind: order and storage.

    Requires:
        1. The instructions are in the same loops, but for one more that some may have, and each
           has one such loop or reductions over one iname: all of the same constant length.
        2. The operations are associative and commutative, and the kernel permits that
           floating-point numbers are added up in another order (`set_options`).
        3. What is kept is an array, or a rule of one argument, of which the instructions use
           elements that the loops along the row count; it is the same in all of them.
        4. Iterations of the loops around depend on each other in no way, unless they are tagged.

    Parameters:
        insns: the instructions: ids, or queries.
        threads: the work items of a row; with several blocks, of a block.
        lanes: how many neighbours are read and written at once: vectors, if the arrays are declared
            with an alignment (``alignment=16``).
        across: how many rows a group has.
        blocks: for how many blocks of work items, along ``l.2``, a row is.  With the option
            ``clusters``, each has a multiprocessor's registers to itself: for long rows.
        ahead: for rows that are too long to keep: how many vectors of `keep` an item reads at once,
            in each instruction anew.
        keep: what each item keeps: arrays, and rules.  Rules that use others come first.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j,k]: 0<=i<n and 0<=j,k<32 }",
        ...     ["<> s = sum(j, a[i,j])  {id=s}", "b[i,k] = a[i,k]/s  {id=b}"], name="shares",
        ... )
        >>> knl = pg.share_rows(knl, ["s", "b"], threads=4, lanes=4, keep="a")
        >>> for insn in knl.instructions:
        ...     print(insn.assignees[0], "=", insn.values[0])
        a_own[a_own_part, a_own_lane] = a[i, 16*a_own_part + 4*k_item + a_own_lane]
        s_own[k_item] = sum((j_part, j_lane), a_own[j_part, j_lane])
        s = sum(j_item, s_own[j_item])
        b[i, 4*(4*k_part + k_item) + k_lane] = a_own[k_part, k_lane] / s

    Raises:
        UnknownInstruction, NothingMatches: if there are no such instructions.
        InvalidArgument: if 1 or 3 does not hold.
        Reassociated: if 2 does not hold.
        IllegalStep, CannotProve: if 4 does not hold.

    Source: the single-pass kernels of Dao et al. for short rows; PANAMERA, section 4.
    """
    ids = [insn.id for insn in matching(kernel, insns)]
    names = to_names(keep) if keep else ()
    vectors = {name for name in names if _lies_along(kernel, ids, name)}
    kernel, side = _on_groups(_apart(kernel, ids), ids, across)
    rows = Rows(kernel, ids, Shares(threads, lanes, ahead))
    kept = sorted(names, key=lambda name: name not in kernel.rules)  # arrays come last
    rows.inline_others(kept)
    if blocks > 1:
        rows, block = rows.divide_among_blocks(blocks, side)
        side[block] = blocks
    rows.divide()
    own = list(map(rows.name_elements, kept))
    rows.reduce_parts(side)
    for rule, name in zip(own, kept, strict=True):
        rows.keep(rule, name, "vec" if name in vectors else "unr")
    return rows.kernel


def _lies_along(kernel: Kernel, ids: Sequence[str], name: str) -> bool:
    """Tell whether a name is that of an array, and neighbours in rows are neighbours in it."""
    if name in kernel.rules:
        return False
    around, plain = loops_of_all(kernel, ids), kernel.without_rules
    for insn in map(plain.instruction, ids):
        inames = insn.within_inames | insn.reduction_inames
        for use in references(insn):
            if use.name == name:
                address = Address(kernel.array(name), use.index, {*inames, *kernel.parameters})
                if any(address.stride_in_runs(iname) != 1 for iname in inames - around):
                    return False
    return True


def _apart(kernel: Kernel, ids: Sequence[str]) -> Kernel:
    """Return the kernel with domains of their own for the loops along rows."""
    around = loops_of_all(kernel, ids)
    insns = [kernel.expanded.instruction(insn_id) for insn_id in ids]
    for iname in sorted(NO_NAMES.union(*(i.within_inames | i.reduction_inames for i in insns))):
        if iname not in around:
            kernel = with_own_domain(kernel, iname)
    return kernel


def _on_groups(kernel: Kernel, ids: Sequence[str], across: int) -> tuple[Kernel, dict[str, int]]:
    """Return the kernel with rows on groups, and the iname and number of those that a group has."""
    around = loops_of_all(kernel, ids)
    free = [i for i in kernel.inames if i in around and kernel.tags.get(i, ForTag()) == ForTag()]
    if across == 1:
        tagged = free and not any(isinstance(kernel.tags.get(i), GroupTag) for i in around)
        return (tag_inames(kernel, {free[0]: "g.0"}) if tagged else kernel), {}
    if not free:
        raise InvalidArgument(
            f"share_rows: there is no loop over rows of which a group could have {across}",
            where=caller_location(),
            excerpt=excerpt(kernel, *ids),
            remedy="leave out across, or the tag of the loop over rows",
        )
    inner = kernel.new_name(f"{free[0]}_inner")
    outer = kernel.new_name(f"{free[0]}_outer")
    kernel = split_iname(
        kernel,
        free[0],
        across,
        outer_iname=outer,
        inner_iname=inner,
        outer_tag="g.0",
        inner_tag="l.1",
    )
    return kernel, {inner: across}
