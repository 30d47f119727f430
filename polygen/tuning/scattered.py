"""Schedules updates whose place is data: histograms, sums by labels, scatter-adds.

- In C, parts of the updates go to threads; each part has a copy, and these are combined in order.
- On a GPU, groups have copies in local memory if these fit, and if a group makes more updates than
  a copy has elements; else the updates go to the array itself.
- Where the order counts (floating-point numbers, and the option ``deterministic``), copies are in
  global memory, and each is updated by one work item after another.

Work items side by side take labels side by side, or, if a label stands for a row, its elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import SupportsIndex

from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.typing.inference import infer_types
from polygen.errors import MissingArgument, NotCountable, UserError
from polygen.inspection.devices.limits import Limits
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.atomicity import update_of
from polygen.ir.dtype import is_exact, to_dtype
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.ir.tags import is_parallel
from polygen.runtime.arrays.expression_values import value_of
from polygen.source import caller_location
from polygen.transforms.arrays.tag_array_axes import tag_array_axes
from polygen.transforms.atomics.privatize_atomics import privatize_atomics
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.splitting.separate_full_tiles import separate_full_tiles
from polygen.transforms.splitting.split_iname import split_iname
from polygen.tuning.on_processors import on_processors
from polygen.tuning.work import points

_PART, _PARTS = 1 << 14, 64  # updates that are worth a thread; parts that are enough for all
_FOR_EACH = 4  # updates for each element of a copy that is worth one
_THREADS = 256
_MOST_ACROSS = 128  # elements of a row that a group updates
_STEPS = 4  # updates of a work item, at least
_ROWS = 16  # groups of a unit that have copies of rows


@dataclass(frozen=True)
class Scatter:
    """Atomic updates of elements that data names.

    Attributes:
        insn_id: the instruction.
        array: what it updates.
        labels: the outermost loop along which data names elements.
        near: the loop along which neighbours are updated; None if there is none.
        count: how many labels there are.
        row: how many values `near` has; 1 if there is none.
        inner: how many updates there are for each label and each value of `near`.
        elements: how many the array has.
        itemsize: the size of one in bytes.
        is_exact: whether the result is the same in any order.
        is_fixed: whether it is a number how many elements data may name.
    """

    insn_id: str
    array: str
    labels: str
    near: str | None
    count: int
    row: int
    inner: int
    elements: int
    itemsize: int
    is_exact: bool
    is_fixed: bool


def scattering(kernel: Kernel) -> Iterator[Assignment]:
    """Yield the atomic updates of elements that data names, in loops that are not parallel."""
    for insn in kernel.expanded.assignments:
        if isinstance(insn, Assignment) and insn.update is not None and not insn.reductions:
            data = any(_is_data(kernel, index) for index in ex.index_of(insn.assignee))
            if data and not any(is_parallel(kernel.tags.get(i)) for i in insn.within_inames):
                yield insn


def unsaid(kernel: Kernel) -> Iterator[Assignment]:
    """Yield what updates elements that data names, and does not say that any order will do."""
    for insn in kernel.expanded.assignments:
        if isinstance(insn, Assignment) and insn.atomicity is None and insn.within_inames:
            data = any(_is_data(kernel, index) for index in ex.index_of(insn.assignee))
            if data and update_of(insn.assignee, insn.expression) is not None:
                yield insn


def scatter_of(kernel: Kernel, insn: Assignment, sizes: Mapping[str, SupportsIndex]) -> Scatter:
    """Return what there is to do for such an instruction.

    Raises:
        MissingArgument: if a size is missing.
        NotCountable: if data decides how much there is to do, or no loop can be shared.
    """
    index = ex.index_of(insn.assignee)
    named = NO_NAMES.union(*(walk.free_variables(i) for i in index if not _is_data(kernel, i)))
    order = [iname for iname in kernel.inames if iname in insn.within_inames]
    labels = [iname for iname in order if iname not in named]
    if not labels:
        raise NotCountable(
            f"each iteration of all loops around '{insn.id}' updates a place of its own",
            where=insn.location,
            remedy="share it by steps of your own",
        )
    near = next((iname for iname in order if index[-1] == ex.Variable(iname)), None)
    count = points(kernel, frozenset(labels[:1]), sizes)
    row = 1 if near is None else points(kernel, frozenset((near,)), sizes)
    whole = points(kernel, insn.within_inames, sizes)
    array = infer_types(kernel).array(ex.name_of(insn.assignee))
    dtype = to_dtype(array.dtype)
    elements = prod(_size(kernel, extent, sizes) for extent in array.shape or ())
    inner = max(1, whole // max(1, count * row))
    extents = zip(array.shape or (), index, strict=False)
    by_data = [extent for extent, i in extents if _is_data(kernel, i)]
    return Scatter(
        insn.id,
        array.name,
        labels[0],
        near,
        count,
        row,
        inner,
        elements,
        dtype.itemsize,
        is_exact(dtype),
        all(isinstance(extent, int) for extent in by_data),
    )


def _is_data(kernel: Kernel, index: Expression) -> bool:
    return linear_form(index, {*kernel.inames, *kernel.parameters}) is None


def _size(kernel: Kernel, extent: Expression, sizes: Mapping[str, SupportsIndex]) -> int:
    given = {name: int(value) for name, value in sizes.items()}
    for name in walk.free_variables(extent).difference(given):
        raise MissingArgument(
            f"how large arrays of kernel '{kernel.name}' are depends on '{name}'",
            where=caller_location(),
            remedy=f"pass a value to expect: sizes={{'{name}': ...}}",
        )
    return value_of(extent, given)


def on_threads(kernel: Kernel, one: Scatter) -> Kernel:
    """Return the kernel with a copy for each part of the updates, which are in order in each."""
    worth = max(_PART, _FOR_EACH * one.elements)
    length = max(1, worth // (one.row * one.inner), -(-one.count // _PARTS))
    if one.count < 2 * length:
        return kernel
    part, inner = (kernel.new_name(f"{one.labels}_{kind}") for kind in ("part", "inner"))
    kernel = split_iname(
        kernel, one.labels, length, outer_iname=part, inner_iname=inner, outer_tag="g.0"
    )
    known = set(kernel.instructions_by_id)
    kernel = separate_full_tiles(_in_order(kernel, one, [part]), inner)
    (last,) = [i.id for i in kernel.assignments if i.id not in known and i.reductions]
    try:
        return on_processors(kernel, last)
    except UserError:  # one thread adds up copies, which takes less than to make them
        return kernel


def _in_order(kernel: Kernel, one: Scatter, loops: list[str]) -> Kernel:
    return privatize_atomics(kernel, one.array, loops, one.insn_id, temporary_scope="global")


def on_device(kernel: Kernel, one: Scatter, limits: Limits) -> Kernel:
    """Return the kernel with its updates on work items."""
    if kernel.options.deterministic and not one.is_exact:
        return _one_after_the_other(kernel, one, limits)
    across = _across(one)
    copy = one.elements // one.row * across
    rows = _THREADS // across
    columns = -(-one.row // across)
    fit = max(1, limits.local_bytes // (copy * one.itemsize))
    groups = (limits.compute_units or 1) * min(fit, limits.items_per_unit // _THREADS)
    each = max(_STEPS * rows, -(-one.count * columns // groups))
    each = -(-each // rows) * rows
    is_small = one.is_fixed and copy * one.itemsize <= limits.local_bytes
    if is_small and copy <= each * across * one.inner:
        kernel, loops = _in_groups(kernel, one, each, across)
        return privatize_atomics(kernel, one.array, loops, one.insn_id)
    return _in_groups(kernel, one, _STEPS * rows, across)[0]


def _across(one: Scatter) -> int:
    """Return how many elements of a row a group updates: a power of two."""
    return min(_MOST_ACROSS, 1 << (one.row - 1).bit_length())


def _in_groups(kernel: Kernel, one: Scatter, length: int, across: int) -> tuple[Kernel, list[str]]:
    """Return the kernel with so many labels for a group, and the loops of groups."""
    outer, inner, step, item = (
        kernel.new_name(f"{one.labels}_{kind}") for kind in ("group", "inner", "step", "item")
    )
    kernel = split_iname(
        kernel, one.labels, length, outer_iname=outer, inner_iname=inner, outer_tag="g.0"
    )
    axis = "l.0" if one.near is None else "l.1"
    kernel = split_iname(
        kernel, inner, _THREADS // across, outer_iname=step, inner_iname=item, inner_tag=axis
    )
    if one.near is None:
        return kernel, [outer]
    column = kernel.new_name(f"{one.near}_group")
    kernel = split_iname(
        kernel, one.near, across, outer_iname=column, outer_tag="g.1", inner_tag="l.0"
    )
    return kernel, [outer, column]


def _one_after_the_other(kernel: Kernel, one: Scatter, limits: Limits) -> Kernel:
    """Return the kernel with copies in global memory, each with an order of its own.

    Elements of a row are apart, so that work items have these; else each has a copy, and copies
    are interleaved, for neighbours to read and write what is side by side.
    """
    units = limits.compute_units or 1
    worth = one.count * one.row * one.inner // (_FOR_EACH * one.elements)
    if one.near is not None:
        length = -(-one.count // max(1, min(units * _ROWS, worth)))
        part = kernel.new_name(f"{one.labels}_part")
        kernel = split_iname(kernel, one.labels, length, outer_iname=part, outer_tag="g.0")
        kernel = split_iname(kernel, one.near, _across(one), outer_tag="g.1", inner_tag="l.0")
        return _in_order(kernel, one, [part])
    groups = min(units * limits.items_per_unit, worth) // _THREADS
    if groups < 2:
        raise NotCountable(
            f"'{one.insn_id}' updates floating-point numbers, the option deterministic asks for "
            f"an order, and there are too few updates for copies of '{one.array}'",
            where=caller_location(),
            remedy="sort by the labels, and reduce in rows; or leave out the option",
        )
    step, part, group, item = (
        kernel.new_name(f"{one.labels}_{kind}") for kind in ("step", "part", "group", "item")
    )
    kernel = split_iname(kernel, one.labels, groups * _THREADS, outer_iname=step, inner_iname=part)
    kernel = split_iname(kernel, part, _THREADS, outer_iname=group, inner_iname=item)
    kernel = tag_inames(kernel, {group: "g.0", item: "l.0"})
    before = {array.name for array in kernel.temporaries}
    kernel = _in_order(kernel, one, [group, item])
    (copy,) = [array for array in kernel.temporaries if array.name not in before]
    rest = len(copy.shape or ()) - 2
    tags = [f"N{1 + rest}", "N0", *(f"N{rest - axis}" for axis in range(rest))]
    return tag_array_axes(kernel, copy.name, ", ".join(tags))
