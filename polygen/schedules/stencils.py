"""Lets work items compute several rows of a stencil, of which they load each cell once.

    for i: for j: b[i,j] = a[i-1,j] + a[i+1,j] + a[i,j-1] + a[i,j+1]

Neighbours along ``j`` are work items side by side; each has some rows, so that what two of its
rows read is in registers.  Where arrays are aligned and rows are whole vectors, an item has four
columns, too, and loads its cells four at a time.  Of a stencil in three dimensions, it goes through
the layers: it loads a layer, computes what that was the last one for, and keeps those before.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from polygen.analysis.access.accesses import Reference
from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.typing.index_type import index_type
from polygen.analysis.typing.inference import infer_types
from polygen.ir.dtype import to_dtype
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.schedules.alignment import VECTOR, begins_with_vectors, is_whole
from polygen.schedules.nests import Extents, loops_of_plane
from polygen.schedules.own_loops import with_own_loops
from polygen.schedules.parallel_loops import may_be_on_axes, shown_parallel
from polygen.schedules.plan import Plan
from polygen.transforms.copies.add_prefetch import add_prefetch
from polygen.transforms.fusion.fuse_loops import fuse_loops
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.inames.untag_inames import untag_inames
from polygen.transforms.kernels.set_options import set_options
from polygen.transforms.rules.expand_subst import expand_subst
from polygen.transforms.splitting.split_iname import split_iname
from polygen.tuning.neighbours import order_of, shared_uses, strides_of

_LEAST_READS = 3  # of one array: with fewer, there is little to share
_ROWS, _LAYERS = 4, 8

_LONG = 64  # iterations along memory: fewer leave work items idle
_PLATE, _BLOCK, _WIDE = 512, (64, 2), 128  # work items of a group


@dataclass(frozen=True)
class Stencil:
    """An element-wise nest that reads neighbours of one array.

    Attributes:
        insn: the instruction.
        array: what it reads in several places.
        loops: the loops, outermost first, the last one along memory.
        span: how many layers lie between the first and the last one that it reads; 0 if all are
            in one, or if there are no layers.
        lanes: how many columns lie in a vector; 1 if vectors would not be aligned.
        rows: how many rows a work item has.
        axes: of the array, that along each loop.
    """

    insn: str
    array: str
    loops: tuple[str, ...]
    span: int
    lanes: int
    rows: int
    axes: tuple[int, ...]


def stencils_in_registers(plan: Plan) -> None:
    """Give several rows of a stencil to each work item."""
    shown = shown_parallel(plan.kernel)
    for insn in plan.kernel.assignments:
        if insn.id in plan.settled or not isinstance(insn, Assignment):
            continue
        found = _stencil(plan, insn, shown)
        if found is None:
            continue
        columns = f" and {found.lanes} columns" if found.lanes > 1 else ""
        why = f"'{found.array}' is read in several places, of which work items share rows"
        if not _marched(plan, found):
            plan.settle(
                [insn.id],
                f"{found.rows} rows{columns} for each work item",
                why,
                partial(in_rows, found=found),
            )


def _marched(plan: Plan, found: Stencil) -> bool:
    """Go through layers, where whole vectors and whole tiles of them are known to be there."""
    *_, deep, row, near = ("", *found.loops)
    tile = {deep: _LAYERS, row: _ROWS * _BLOCK[1], near: found.lanes * _BLOCK[0]}
    if not found.span or found.lanes == 1 or found.rows != _ROWS:
        return False
    if not all(is_whole(plan.kernel, iname, length) for iname, length in tile.items()):
        return False
    return plan.settle(
        [found.insn],
        f"layers one after the other, {_ROWS} rows and {found.lanes} columns for each work item",
        f"'{found.array}' is read in {found.span + 1} layers, of which each is loaded once",
        lambda knl: through_layers(knl, found),
    )


# --- what is a stencil


def _stencil(plan: Plan, insn: Assignment, shown: frozenset[str]) -> Stencil | None:
    kernel = plan.kernel
    free = loops_of_plane(kernel, insn)
    if free is None:
        return None
    order = order_of(kernel, [insn.id], free)
    extents = Extents(kernel, plan.request.sizes)
    per_item = extents.instances(free) // (plan.request.units * 2048)
    if order.across is not None or extents.of(order.loops[-1]) < _LONG or per_item < 2:
        return None
    around = _read_around(kernel, insn, order.loops)
    if around is None or not all(may_be_on_axes(kernel, i, shown) for i in free):
        return None
    array, spans, axes = around
    if not spans[-2]:
        return None
    deep = spans[-3] if len(spans) > 2 else 0
    rows = _ROWS if per_item >= 2 * _ROWS else 2
    lanes = _lanes(kernel, insn, array) if rows == _ROWS else 1
    return Stencil(insn.id, array, order.loops, deep, lanes, rows, axes)


def _read_around(
    kernel: Kernel, insn: Assignment, loops: tuple[str, ...]
) -> tuple[str, list[int], tuple[int, ...]] | None:
    """Return the array that is read in most places, how far apart these lie, and along which axes.

    None if there is no such array, or if its places are not a constant away from each other.
    """
    plain = kernel.expanded
    reads: dict[str, list[Reference]] = {}
    for use in shared_uses(plain, [insn.id]):
        if not use.is_write and strides_of(plain, use, loops).get(loops[-1]) == 1:
            reads.setdefault(use.name, []).append(use)
    name = max(reads, key=lambda n: len(reads[n]), default=None)
    if name is None or len(reads[name]) < _LEAST_READS:
        return None
    spans, axes = dict.fromkeys(loops, 0), dict.fromkeys(loops, 0)
    for axis, subscripts in enumerate(zip(*(use.index for use in reads[name]), strict=True)):
        forms = [form for form in map(linear_form, subscripts) if form is not None]
        apart = [form - forms[0] for form in forms]
        if len(forms) < len(subscripts) or any(form.names() for form in apart):
            return None
        for iname in forms[0].names() & spans.keys():
            places = [int(form.constant) for form in apart]
            axes[iname] = axis
            spans[iname] = max(spans[iname], max(places) - min(places))
    return name, [*spans.values()], tuple(axes.values())


def _lanes(kernel: Kernel, insn: Assignment, array: str) -> int:
    """Return how many columns lie in a vector; 1 if vectors would not be aligned."""
    names = {array, *insn.written_names}
    if not all(begins_with_vectors(kernel, name, 2) for name in names):
        return 1
    typed = infer_types(kernel, index_type(kernel))
    sizes = {to_dtype(typed.array(name).dtype).itemsize for name in names}
    lanes = VECTOR // max(sizes)
    if len(sizes) != 1 or lanes < 2:
        return 1
    return lanes if all(begins_with_vectors(kernel, name, lanes) for name in names) else 1


# --- the steps


def _prepared(kernel: Kernel, found: Stencil) -> tuple[Kernel, list[str]]:
    kernel, names = with_own_loops(kernel, found.insn, found.loops)
    if kernel.substitutions:
        kernel = expand_subst(kernel, f"id:{found.insn}")
    return kernel, [names[iname] for iname in found.loops]


def in_rows(kernel: Kernel, found: Stencil) -> Kernel:
    """Return the kernel with some rows of a stencil for each work item.

    Parameters:
        kernel: the kernel; types are known.
        found: the stencil.

    Raises:
        IllegalStep, CannotProve, ...: if a step is illegal.
    """
    kernel, (*outer, row, near) = _prepared(kernel, found)
    has_vectors = found.lanes > 1
    kernel, own, rows = _in_tiles(kernel, found, row, near, _PLATE if has_vectors else _WIDE)
    kernel = tag_inames(kernel, {rows: "g.1"})
    if outer:
        kernel = tag_inames(kernel, {outer[-1]: "g.2"})
    if has_vectors:
        kernel, _ = _with_own_cells(kernel, found, own)
    return _with_registers(kernel) if has_vectors and not outer else kernel


def through_layers(kernel: Kernel, found: Stencil) -> Kernel:
    """Return the kernel with work items that go through the layers of a stencil.

    Parameters and errors are those of `in_rows`.
    """
    kernel, (*_, deep, row, near) = _prepared(kernel, found)
    across, down = _BLOCK
    kernel, own, rows = _in_tiles(kernel, found, row, near, across)
    names = [kernel.new_name(f"{rows}_{part}") for part in ("group", "item")]
    kernel = split_iname(
        kernel,
        rows,
        down,
        outer_iname=names[0],
        inner_iname=names[1],
        outer_tag="g.1",
        inner_tag="l.1",
    )
    several, layer = (kernel.new_name(f"{deep}_{part}") for part in ("group", "layer"))
    kernel = split_iname(kernel, deep, _LAYERS, outer_iname=several, inner_iname=layer)
    kernel, (load, *others) = _with_own_cells(kernel, found, [layer, *own])
    kernel = untag_inames(kernel, [load, *others])
    for other in others:
        kernel = fuse_loops(kernel, load, other)
    kernel = fuse_loops(kernel, load, layer, found.span)
    return tag_inames(kernel, {load: "unr", several: "g.2"})


def _in_tiles(
    kernel: Kernel, found: Stencil, row: str, near: str, across: int
) -> tuple[Kernel, list[str], str]:
    """Return the kernel with columns and rows for each item, their loops, and the one over rows."""

    def split(iname: str, length: int, inner: str, *tags: str | None) -> tuple[str, str]:
        nonlocal kernel
        names = kernel.new_name(f"{iname}_group"), kernel.new_name(f"{iname}_{inner}")
        kernel = split_iname(
            kernel,
            iname,
            length,
            outer_iname=names[0],
            inner_iname=names[1],
            outer_tag=tags[0],
            inner_tag=tags[1],
        )
        return names

    own: list[str] = []
    if found.lanes > 1:
        _, inside = split(near, found.lanes * across, "inside", "g.0", None)
        _, lane = split(inside, found.lanes, "lane", "l.0", "vec")
        own = [lane]
    else:
        split(near, across, "item", "g.0", "l.0")
    rows, each = split(row, found.rows, "own", None, "unr")
    return kernel, [each, *own], rows


def _with_own_cells(kernel: Kernel, found: Stencil, swept: list[str]) -> tuple[Kernel, list[str]]:
    """Return the kernel with cells in registers, and the loops that load along the first loop."""
    array = kernel.array(found.array)
    names: list[str] = []
    for axis in range(len(array.shape or ())):
        names.append(kernel.new_name(f"{found.array}_{axis}", names))
    known = set(kernel.inames)
    kernel = add_prefetch(
        kernel,
        found.array,
        swept,
        dim_arg_names=names,
        temporary_name=kernel.new_name(f"{found.array}_own"),
        temporary_address_space="private",
        default_tag="unr",
        fetch_bounding_box=True,
        within=f"id:{found.insn}",
        vector_width=found.lanes,
    )
    deep = names[found.axes[max(0, len(found.axes) - 3)]]
    return kernel, [i for i in kernel.inames if i not in known and i in {deep, f"{deep}_rim"}]


def _with_registers(kernel: Kernel) -> Kernel:
    """Return the kernel with registers for two groups on a unit, if all of it is the stencil's."""
    is_alone = all(kernel.tags.get(i) for insn in kernel.instructions for i in insn.within_inames)
    return set_options(kernel, resident_groups=2) if is_alone else kernel
