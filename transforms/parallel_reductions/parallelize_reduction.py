"""`polygen.parallelize_reduction`."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Annotated

from polygen.analysis.rearrangement.summation_order import may_reorder
from polygen.analysis.typing.expression_types import reduction_types
from polygen.analysis.typing.inference import infer_types, kinds
from polygen.errors import InvalidArgument, NoSuchReduction, Reassociated
from polygen.ir import expression as ex
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.layout import COMPUTED_BYTES, USUAL_VECTOR_BYTES
from polygen.ir.reduction import facts_of, name_of, parts_of
from polygen.ir.show_expression import show_expression
from polygen.ir.substitution import expand
from polygen.ir.tags import GroupTag, LocalTag
from polygen.ir.verify import excerpt
from polygen.language.within import matching
from polygen.source import caller_location
from polygen.transformation import Kind, PositiveInt, Within, is_one_of, transformation
from polygen.transforms.atomics.atomic_finish import finish_atomically
from polygen.transforms.parallel_reductions._cluster_shares import (
    CLUSTER_TAG,
    check_cluster,
    launched_in_clusters,
)
from polygen.transforms.parallel_reductions._contiguous_inames import loaded_at_once
from polygen.transforms.parallel_reductions._dealt_values import Shares
from polygen.transforms.parallel_reductions._partial_results import outermost, reduce_in_stages
from polygen.transforms.parallel_reductions._reduction_shapes import free_axes, mapped, shape_of

_NEIGHBOURS = 32  # columns that a group of work items loads together
_LANES_AGAIN = 4  # of a work item that adds up what groups found


_FINISHES = ("two_pass", "atomic", "cluster")
Finish = Annotated[str, Kind("'two_pass', 'atomic' or 'cluster'", is_one_of(_FINISHES))]


@transformation
def parallelize_reduction(
    kernel: Kernel,
    insn: Within,
    *,
    blocks: PositiveInt = 1,
    threads: PositiveInt = 256,
    items: PositiveInt = 4,
    across: PositiveInt | None = None,
    finish: Finish = "two_pass",
) -> Kernel:
    r"""Share reductions among groups of work items, each of which has several numbers in flight.

    How they are shared follows from memory, as the accesses of what is reduced run through it:

    - where neighbours are along the reduction (``sum(r, a[r])``, ``sum(r, a[p, r])``), work items
      of a group take neighbours, `across` results side by side;
    - where neighbours are along a result's iname (``sum(r, a[r, p])``), `across` work items take
      these, and what is left of a group is along the reduction.

    An item keeps `items` partial results, each of which adds up numbers of its own: so as many
    loads are under way at once.  Groups combine what their items find in a tree, by shuffles where
    there are (CUDA), else in local memory.  With one group, that is the result.  If `finish` is
    "two_pass", a second launch combines what several groups found, in the order of the groups: all
    orders follow from the kernel, and results are the same in each run.  If it is "atomic", the
    groups update the results, to which a launch before has given the operation's identity: then
    sums of floating-point numbers differ from run to run, by rounding.  If it is "cluster", the
    groups that share a result are a cluster (CUDA's, of up to 8 groups of whole warps), in one
    launch, and the first of them combines what all have found, in their order.  The kernel gets the
    option ``clusters``; where a target has none, they are one larger group of work items.

    The inames of the results get axes of the grid, if they are not tagged.  For a loop that is
    tagged ``for``, steps of time, say, what groups find in one iteration is stored where they
    stored it in the one before.

    Kind: order and storage.

    Requires:
        1. Each instruction has a reduction; all of their outermost ones are over the same inames,
           in the same loops.
        2. The operations are associative and commutative, and the kernel permits that
           floating-point numbers are added up in another order (`set_options`).
        3. `across` divides `threads`, and is 1 if there is one result.
        4. There are axes for all: results, groups along the reduction, and work items.
        5. Iterations of the loops around depend on each other in no way, unless they are tagged.
        6. With several groups, the number of results is affine in sizes.
        7. For atomic updates: an instruction assigns what it reduces, and nothing more, to an array
           of that type in global memory that is not used before; the types are known.
        8. For a cluster: the kernel is made for no other target than CUDA, and nothing around the
           reductions is on ``l.2``.
        9. Inames around the reductions that are on ``l.*`` axes have a constant number of values.

    Parameters:
        insn: the instructions, an id or a query: they share one pass over what they read.
        blocks: how many groups share a reduction; fewer are launched where there is nothing to do.
        threads: how many work items a group has.
        items: how many numbers an item has in flight.  Where arrays are declared with an alignment,
            and go on in whole vectors, vectors of 16 bytes are among these.
        across: how many results a group computes, side by side; if not given, 32, or all work
            items if they are fewer, where these are neighbours in memory, else 1.
        finish: how what several groups found becomes one result.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [j]: 0<=j<n }", "s[0] = sum(j, a[j])  {id=s}")
        >>> knl = pg.parallelize_reduction(knl, "s", blocks=8, threads=8, items=2)
        >>> for line in str(knl).splitlines()[-5:-1]:
        ...     print(line.partition("] ")[2].partition("  {")[0])
        lane_j[j_lane] = sum(j_step, a[128*j_step + 16*j_group + 8*j_lane + j_item])
        own_j[j_item] = sum(j_lane_0, lane_j[j_lane_0])
        part_j[j_group] = sum(j_item_0, own_j[j_item_0])
        s[0] = sum((j_group_0_item, j_group_0_step), part_j[8*j_group_0_step + j_group_0_item])

    Raises:
        NothingMatches, UnknownInstruction: if `insn` means no instruction.
        NoSuchReduction, InvalidArgument: if 1 or 3 does not hold.
        Reassociated: if 2 does not hold.
        TagConflict: if 4 does not hold, or if the results' iname is tagged and `across` is not 1.
        IllegalStep, CannotProve: if 5 does not hold.
        FootprintNotAffine: if 6 does not hold.
        FinishNotPossible, TypeNotFound: if 7 does not hold.
        NotDeterministic: if updates are of floating-point numbers, and the kernel has the option
            ``deterministic``.
        ClusterNotPossible: if 8 does not hold.
        LocalSizeNotConstant: if 9 does not hold.

    Source: PANAMERA, sections 3 and 4; Harris, Optimizing parallel reduction in CUDA, 2007.
    """
    insns = _chosen(kernel, insn)
    _check_order(kernel, insns)
    ids = [i.id for i in insns]
    shape = shape_of(kernel, insns)
    across = across or (min(_NEIGHBOURS, threads) if shape.is_across else 1)
    if threads % across:
        raise InvalidArgument(
            f"parallelize_reduction: {threads} work items cannot be {across} side by side",
            where=caller_location(),
            remedy="let `across` divide `threads`",
        )
    width = 1 if shape.is_across else _width(kernel, insns, shape.reduced[0], items)
    kernel = mapped(kernel, shape, ids[0], across)
    group_axis, item_axis = free_axes(kernel, ids[0])
    along = threads // across
    group_tag: GroupTag | LocalTag = GroupTag(group_axis)
    if finish == "cluster" and blocks > 1:
        check_cluster(kernel, ids)
        kernel, group_tag = launched_in_clusters(kernel), CLUSTER_TAG
    shares = Shares(blocks, max(1, items // width), along, width, group_tag, item_axis)
    kernel = reduce_in_stages(kernel, ids, shape.reduced, shares)
    if blocks == 1 or finish == "cluster":
        return kernel
    if finish == "atomic":
        return finish_atomically(kernel, ids)
    (again,) = outermost(kernel.instruction(ids[0]))[0][0].inames
    lanes = min(_LANES_AGAIN, -(-blocks // along))
    return reduce_in_stages(
        kernel, ids, (again,), Shares(1, lanes, along, 1, GroupTag(0), item_axis)
    )


def _chosen(kernel: Kernel, insn: Within) -> list[Instruction]:
    """Return the instructions, of which all reductions are over the same inames."""
    insns = list(matching(kernel, insn))
    found = [node for i in insns for node, _ in outermost(i)]
    lacking = [i for i in insns if not outermost(i)]
    if lacking:
        raise NoSuchReduction(
            f"there is no reduction in {lacking[0].id}",
            where=caller_location(),
            excerpt=excerpt(kernel, lacking[0].id),
            remedy="name instructions that have one",
        )
    first = insns[0]
    if any(set(node.inames) != set(found[0].inames) for node in found) or any(
        i.within_inames != first.within_inames for i in insns
    ):
        raise InvalidArgument(
            "parallelize_reduction: the reductions are not over the same inames, in the same loops",
            where=caller_location(),
            excerpt=excerpt(kernel, *(i.id for i in insns)),
            remedy="take one after the other; or let them run over the same inames first",
        )
    return insns


def _width(kernel: Kernel, insns: Sequence[Instruction], iname: str, items: int) -> int:
    """Return how many neighbours along an iname a lane takes: a vector, if not 1."""
    nodes = [node for insn in insns for node, _ in outermost(insn)]
    operands = [part for node in nodes for part in parts_of(node)]
    width = loaded_at_once(kernel, operands, iname, items)
    if width == 1:
        return 1
    known = kinds(infer_types(kernel.expanded, complete=False))
    for node in nodes:
        plain = ex.Reduction(node.operation, node.inames, expand(node.operand, kernel.rules))
        for dtype in reduction_types(plain, known):
            width = gcd(width, USUAL_VECTOR_BYTES // max(COMPUTED_BYTES, dtype.itemsize))
    return width


def _check_order(kernel: Kernel, insns: Sequence[Instruction]) -> None:
    """Check that reductions may be computed in another order."""
    for insn in insns:
        for node, _ in outermost(insn):
            if may_reorder(kernel, node):
                continue
            why = (
                "the kernel does not permit that (allow_reassociation is False)"
                if facts_of(node.operation).regroups
                else f"'{name_of(node.operation)}' is not claimed to be associative and commutative"
            )
            raise Reassociated(
                f"parallelize_reduction would compute {show_expression(node)} in another order: "
                f"{why}",
                where=caller_location(),
                excerpt=excerpt(kernel, insn.id),
                remedy="register_reduction(..., associative=True, commutative=True), or "
                "set_options(..., allow_reassociation=True), permits it",
            )
