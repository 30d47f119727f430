"""Schedules reductions on processors: threads, vectors, rows one after the other.

- Where what is reduced is next to each other in memory (all- and x-reduces), an innermost loop is
  vectors with several parts of the sum; threads have results, or parts of one where these are few.
- Where results are next to each other (y-reduces), a block of these is kept in the first-level
  cache, and rows are added to it, several at once; threads have blocks, and parts of the rows.

What a part is depends on sizes alone, and not on how many threads there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf, prod
from typing import Any

from polygen.analysis.access.strides import Address
from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.integers.recombined_numbers import recombined
from polygen.analysis.typing.inference import sizes
from polygen.errors import ExtentNotConstant, NoSuchReduction, UserError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, Array
from polygen.ir.empty import NO_NAMES
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.layout import element_strides
from polygen.ir.reduction import name_of
from polygen.ir.tags import GroupTag, IlpTag, is_parallel
from polygen.transforms.arrays.privatize_temporaries_with_inames import (
    privatize_temporaries_with_inames,
)
from polygen.transforms.fusion.loop_sharing import comes_after
from polygen.transforms.inames.duplicate_inames import duplicate_inames
from polygen.transforms.inames.prioritize_loops import prioritize_loops
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.kernels.set_options import set_options
from polygen.transforms.loops.memory_order import along_memory
from polygen.transforms.loops.size_estimates import likely_sizes
from polygen.transforms.parallel_reductions.realize_reduction import realize_reduction
from polygen.transforms.reductions.coalesce_reduction import coalesce_reduction
from polygen.transforms.reductions.narrow_sum import narrow_sum
from polygen.transforms.reductions.reduce_in_parts import reduce_in_parts
from polygen.transforms.reductions.split_argmax import split_argmax
from polygen.transforms.reductions.split_reduction_inward import split_reduction_inward
from polygen.transforms.splitting.separate_full_tiles import separate_full_tiles
from polygen.transforms.splitting.split_iname import split_iname
from polygen.tuning.blocked_sums import (
    extent_of,
    nests_in_blocks,
    of_parts_in_blocks,
    rounded,
    sum_in_blocks,
)
from polygen.tuning.expected_extents import expected_extent
from polygen.tuning.lanes import elements_of, in_lanes, operand_of
from polygen.tuning.shared_values import in_memory
from polygen.tuning.time_steps import results_of, time_steps_of

_PART = 1 << 14  # neighbours that are reduced in a row: more are worth a thread
_MANY = 64  # results that are enough for all threads
_ROWS = 128  # of a part, where it is not known how many there are
_BLOCK, _LAST_BLOCK = 1 << 11, 1 << 8  # results side by side
_AT_ONCE = 8  # rows that are added to a block at once
_FEW = 16  # results of which each has a register


@dataclass(frozen=True)
class Shape:
    """The shape of a reduction in memory.

    Attributes:
        reduced: what it is over, the farthest first.
        kept: the inames of the results, the farthest first; steps of time left out.
        is_across: whether results are next to each other.
    """

    reduced: tuple[str, ...]
    kept: tuple[str, ...]
    is_across: bool


def why_as_it_is(kernel: Kernel, insn: Instruction) -> str | None:
    """Return why a reduction is better left as it is; None if it is not."""
    for iname in insn.reduction_inames:
        home = kernel.home_domains[iname]
        around = results_of(kernel, insn).intersection((*home.inames, *home.parameters))
        operand = walk.free_variables(operand_of(kernel, insn))
        if around and around.isdisjoint(operand):
            return "it is a scan, which goes on from one iteration to the next"
    return None


def on_processors(kernel: Kernel, insn_id: str, sizes: Mapping[str, int] | None = None) -> Kernel:
    """Return the kernel with a reduction on threads and in vectors.

    Parameters:
        kernel: its types are known, and no loop of the instruction is tagged.
        insn_id: an instruction with one outermost reduction.
        sizes: the value that each size is expected to have; a usual one, if not given.
    """
    kernel = _with_fewer_loops(kernel, insn_id)
    shape = shape_of(kernel, kernel.instruction(insn_id))
    if kernel.options.allow_reassociation:
        kernel = set_options(kernel, vectorize_sums=True)
    return (_across if shape.is_across else _along)(kernel, insn_id, shape, sizes or {})


def _with_fewer_loops(kernel: Kernel, insn_id: str) -> Kernel:
    """Return the kernel with one loop for what follows each other in memory, if all does."""
    try:
        new = coalesce_reduction(kernel, insn_id)
    except ExtentNotConstant:  # a triangle: its loops stay two
        return kernel
    offsets = [_offset(array, index) for array, index in elements_of(new, new.instruction(insn_id))]
    divided = any(walk.classes(offset) & {ex.FloorDiv, ex.Remainder} for offset in offsets)
    return kernel if divided else new  # what is divided is no vector


def _offset(array: Array, index: tuple[ex.Expression, ...]) -> ex.Expression:
    """Return how many elements after the first one of its array an element is."""
    shape = array.shape or ()
    rows = tuple([ex.product_of(1, *shape[axis + 1 :]) for axis in range(len(shape))])
    strides: tuple[Any, ...] = element_strides(array) or rows
    parts = [ex.product_of(i, n) for i, n in zip(index, strides, strict=True)]
    offset = recombined(ex.sum_of(*parts))
    form = linear_form(offset)
    return offset if form is None else form.expression()


def shape_of(kernel: Kernel, insn: Instruction) -> Shape:
    """Return how a reduction lies in memory: by the array that it reads most of."""
    names = sizes(kernel).union(kernel.inames)
    around = results_of(kernel, insn)
    inames = around | insn.reduction_inames
    nearest: dict[str, int] = dict.fromkeys(inames, 0)
    order = {iname: at for at, iname in enumerate(kernel.inames)}
    for array, index in elements_of(kernel, insn):
        address = Address(array, index, names)
        for iname in inames:
            nearest[iname] += address.stride(iname) in (1, -1)
            axes = [at for at, i in enumerate(index) if iname in walk.free_variables(i)]
            order[iname] = max([order[iname] if not axes else len(order) + axes[-1]])
    reduced = sorted(insn.reduction_inames, key=order.__getitem__)
    kept = sorted(around, key=order.__getitem__)
    across = max((nearest[i] for i in kept), default=0) > max(nearest[i] for i in reduced)
    return Shape(tuple(reduced), tuple(kept), across)


def in_loops_of_their_own(kernel: Kernel) -> Kernel:
    """Return the kernel in which no reduction of all shares a loop with another instruction."""
    taken = set[str]()
    for insn in kernel.assignments:
        shared = [i for i in kernel.inames if i in insn.reduction_inames and i in taken]
        if shared and not results_of(kernel, insn):
            kernel = duplicate_inames(kernel, shared, insn.id)
        taken |= results_of(kernel, insn) | insn.reduction_inames
    return kernel


def together(kernel: Kernel, ids: Sequence[str], sizes: Mapping[str, int]) -> Kernel:
    """Return the kernel with reductions on threads that are in the same loops, or one in another.

    Rows stay in one loop, with all that is done along them.  Where results are next to each other,
    each reduction has loops of its own, and is as if it were alone.

    Parameters:
        kernel: as in `on_processors`.
        ids: the instructions.
        sizes: the value that each size is expected to have.
    """
    insn = kernel.instruction(ids[0])
    shape = shape_of(kernel, insn)
    if shape.is_across and len(ids) > 1 and all(len(set(_of(kernel, i))) == 1 for i in ids):
        for name in ids[1:]:
            kernel = duplicate_inames(kernel, _loops(kernel, name), name)
        for name in ids:
            kernel = on_processors(kernel, name, sizes)
        return kernel
    if kernel.options.allow_reassociation:
        kernel = set_options(kernel, vectorize_sums=True)
    kernel = prioritize_loops(kernel, [*shape.kept, *shape.reduced])
    if shape.kept:
        of = partial(_expected, kernel, sizes=sizes)
        return nests_in_blocks(on_groups(kernel, shape.kept), ids, of)
    inner = [extent_of(kernel, iname) or _MANY for iname in shape.reduced[1:]]
    first = shape.reduced[0]
    length = max(1, _PART // prod(inner))
    known = set(kernel.instructions_by_id)
    kernel, _ = _in_parts(kernel, ids[0], first, length, (), "g.0")
    of_parts = [name for name in kernel.instructions_by_id if name not in known]
    return of_parts_in_blocks(nests_in_blocks(kernel, of_parts), ids[:1])


def _of(kernel: Kernel, insn_id: str) -> tuple[ex.Reduction, ...]:
    return kernel.instruction(insn_id).reductions


def _loops(kernel: Kernel, insn_id: str) -> list[str]:
    insn = kernel.instruction(insn_id)
    return [i for i in kernel.inames if i in results_of(kernel, insn) | insn.reduction_inames]


def beside(kernel: Kernel) -> Kernel:
    """Return the kernel with element-wise loops on threads, as far as that is legal."""
    for insn in kernel.assignments:
        around = results_of(kernel, insn)
        free = [i for i in kernel.inames if i in around]
        if insn.reductions or not free or any(is_parallel(kernel.tags.get(i)) for i in free):
            continue
        outermost = along_memory(kernel, insn.id, free)[0][0]
        try:
            kernel = on_groups(in_memory(kernel, [outermost]), (outermost,))
        except UserError:  # iterations need each other: it stays as it is
            continue
    return kernel


# --- neighbours are reduced


def _expected(kernel: Kernel, iname: str, sizes: Mapping[str, int]) -> int:
    return expected_extent(kernel.expanded, iname, likely_sizes(kernel) | dict(sizes))


def _along(kernel: Kernel, insn_id: str, shape: Shape, sizes: Mapping[str, int]) -> Kernel:
    extents = [extent_of(kernel, iname) for iname in shape.kept]
    results = 1
    for extent in extents:
        results *= extent or _MANY
    first = shape.reduced[0]
    kernel = prioritize_loops(kernel, [*shape.kept, *shape.reduced])
    length = extent_of(kernel, first)
    count = prod(_expected(kernel, i, sizes) for i in shape.reduced)
    is_step = bool(time_steps_of(kernel, kernel.instruction(insn_id)))
    is_short = not shape.kept and (length or (count if is_step else inf)) <= 2 * _PART
    if results >= _MANY or is_short:
        kernel, insn_id = _value_first(_narrowed(kernel, insn_id), insn_id)
        return in_lanes(on_groups(kernel, shape.kept), insn_id, shape.reduced, expected=count)
    part = _PART
    if len(shape.reduced) > 1:
        part = 1 if length is None else -(-length // _MANY)
    known = set(kernel.instructions_by_id)
    kernel, inner = _in_parts(kernel, insn_id, first, part, shape.kept, "g.0")
    (of_parts,) = set(kernel.instructions_by_id) - known
    loops = set(kernel.inames)
    kernel, of_parts = _value_first(_narrowed(kernel, of_parts), of_parts)
    inners = [inner, *(i for i in kernel.inames if i not in loops)]
    kernel = separate_full_tiles(on_groups(kernel, shape.kept, 1), inners)
    kernel = in_lanes(kernel, of_parts, (inner, *shape.reduced[1:]))
    return of_parts_in_blocks(kernel, [insn_id])


def _narrowed(kernel: Kernel, insn_id: str) -> Kernel:
    """Return the kernel with a sum in 32 bits, if these are enough."""
    try:
        return narrow_sum(kernel, insn_id)
    except NoSuchReduction:
        return kernel


def _value_first(kernel: Kernel, insn_id: str) -> tuple[Kernel, str]:
    """Return the kernel that finds a greatest value before its place, and what finds the value.

    Where two loops might find different values, the kernel is left as it is.
    """
    (node,) = set(kernel.instruction(insn_id).reductions)
    if name_of(node.operation) not in ("argmax", "argmin"):
        return kernel, insn_id
    known = set(kernel.instructions_by_id)
    try:
        kernel = split_argmax(kernel, insn_id)
    except NoSuchReduction:
        return kernel, insn_id
    return kernel, next(i for i in kernel.instructions_by_id if i not in known)


def on_groups(kernel: Kernel, inames: tuple[str, ...], first: int = 0) -> Kernel:
    """Return the kernel with loops on axes of groups, the last one on the first.

    Of loops that bound each other only the outermost: threads share a triangle by its rows.
    """
    free = [i for at, i in enumerate(inames) if not _is_bounded_by(kernel, i, inames[:at])]
    tags = dict(zip(free[::-1], map(GroupTag, range(first, 3)), strict=False))
    return tag_inames(kernel, tags)


def _is_bounded_by(kernel: Kernel, iname: str, others: Sequence[str]) -> bool:
    home = kernel.home_domains[iname]
    return any(i in home.inames or i in home.parameters for i in others)


def _in_parts(
    kernel: Kernel, insn_id: str, iname: str, length: int, kept: tuple[str, ...], tag: str
) -> tuple[Kernel, str]:
    """Reduce in parts, with loops of their own for what these come to; return what is inside."""
    inner = kernel.new_name(f"{iname}_inner")
    kernel = reduce_in_parts(kernel, iname, length, insn_id, inner_iname=inner, part_tag=tag)
    if kept:
        kernel = duplicate_inames(kernel, kept, insn_id, new_inames=_again(kernel, kept))
    return kernel, inner


def _again(kernel: Kernel, inames: tuple[str, ...]) -> list[str]:
    return [kernel.new_name(f"{iname}_of_parts") for iname in inames]


# --- results are neighbours


def _across(kernel: Kernel, insn_id: str, shape: Shape, sizes: Mapping[str, int]) -> Kernel:
    rows, columns = shape.reduced[0], shape.kept[-1]
    width, height = extent_of(kernel, columns), extent_of(kernel, rows)
    blocks = 1 if width is None else -(-width // _BLOCK)
    is_low = _expected(kernel, rows, sizes) <= 2 * _ROWS
    if is_low or (height is not None and blocks >= _MANY):
        kernel = _narrowed(kernel, insn_id)
        return _in_blocks(on_groups(kernel, shape.kept[:-1], 1), insn_id, columns, rows, _BLOCK)
    known, again = set(kernel.instructions_by_id), _again(kernel, shape.kept)
    length = _ROWS if height is None else 1 << max(5, (height.bit_length() + 1) // 2)
    if _is_alone(kernel, insn_id, columns):
        kernel, inner = _in_parts(kernel, insn_id, rows, length, shape.kept, "g.1")
        kept, own = shape.kept, again[-1]
        (of_parts,) = set(kernel.instructions_by_id) - known
    else:  # the last sums stay where others use them
        kernel, inner = _in_parts(kernel, insn_id, rows, length, (), "g.1")
        (of_parts,) = set(kernel.instructions_by_id) - known
        kernel = duplicate_inames(kernel, shape.kept, of_parts, new_inames=again)
        kept, own, columns = tuple(again), columns, again[-1]
    kernel = on_groups(kernel, kept[:-1], 2)
    (parts,) = kernel.instruction(insn_id).reduction_inames
    kernel = _narrowed(kernel, of_parts)
    if width is not None and width <= _FEW:
        kernel = separate_full_tiles(tag_inames(kernel, {columns: IlpTag()}), inner)
        return of_parts_in_blocks(sum_in_blocks(kernel, [of_parts], (inner,)), [insn_id])
    kernel = _in_blocks(kernel, of_parts, columns, inner, _BLOCK)
    return _in_blocks(kernel, insn_id, own, parts, _LAST_BLOCK)


def _around(kernel: Kernel, ids: Sequence[str], iname: str) -> list[list[str]]:
    """Return instructions ahead of a loop, which start accumulators, and those behind it.

    Parameters:
        kernel: the kernel.
        ids: the instructions; those in the loop are left out.
        iname: that of the loop.
    """
    inside = [i for i in ids if iname in kernel.instruction(i).within_inames]
    behind = [i for i in ids if any(comes_after(kernel, i, one) for one in inside)]
    ahead = [i for i in ids if i not in inside and i not in behind]
    return [some for some in (ahead, [i for i in behind if i not in inside]) if some]


def _is_alone(kernel: Kernel, insn_id: str, iname: str) -> bool:
    """Tell whether nothing else is in a loop around an instruction."""
    return all(iname not in i.within_inames for i in kernel.instructions if i.id != insn_id)


def _in_blocks(kernel: Kernel, insn_id: str, columns: str, rows: str, most: int) -> Kernel:
    """Add rows, several at once, to a block of results side by side.

    A loop over rows comes between that over blocks and that over results: what else is in the
    latter gets one of its own, and what these loops pass on has an element for each result.
    """
    width = extent_of(kernel, columns)
    block = most if width is None else -(-width // -(-width // most))
    outer, column, row, several = (
        kernel.new_name(f"{name}")
        for name in (f"{columns}_block", f"{columns}_in_block", f"{rows}_near", f"{rows}_several")
    )
    kernel = split_iname(
        kernel, columns, block, outer_iname=outer, inner_iname=column, outer_tag="g.0"
    )
    kernel = split_iname(
        kernel, rows, _AT_ONCE, outer_iname=several, inner_iname=row, inner_tag="unr"
    )
    if rounded(kernel, [insn_id], kernel.instruction(insn_id).reduction_inames):
        kernel = split_reduction_inward(kernel, row, insn_id)
    kernel = realize_reduction(kernel, insn_id)
    here = [i for i in kernel.instructions if column in i.within_inames]
    written = NO_NAMES.union(*(i.written_names for i in here))
    kept = [
        name
        for name in [t.name for t in kernel.temporaries]
        if name in written and kernel.address_space(name) is AddressSpace.PRIVATE
    ]
    kernel = privatize_temporaries_with_inames(kernel, column, kept)
    loops = [column]
    for ids in _around(kernel, [i.id for i in here], several):
        old = set(kernel.inames)
        kernel = duplicate_inames(kernel, column, " or ".join(f"id:{i}" for i in ids))
        loops += set(kernel.inames) - old
    kernel = prioritize_loops(kernel, [outer, several, column, row])
    return separate_full_tiles(separate_full_tiles(kernel, row), loops)
