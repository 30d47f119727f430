"""Lets groups of work items compute contractions in register tiles (`register_tiles`).

Where there are too few tiles for the units of a device, sums are divided in parts, which are tiles
of their own, and added up afterwards.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, prod

from polygen.errors import NotAProduct, Reassociated
from polygen.ir.kernel import Kernel
from polygen.ir.target_facts import facts_of
from polygen.schedules.contractions import Contraction, contraction_of
from polygen.schedules.nests import Extents
from polygen.schedules.plan import Plan
from polygen.schedules.product_forms import as_product, may_be_product
from polygen.schedules.register_tiles import in_register_tiles
from polygen.schedules.tile_shapes import Extent, Tiles, best_tiles
from polygen.schedules.warp_tiles import in_warp_tiles
from polygen.transforms.reductions.reduce_in_parts import reduce_in_parts
from polygen.tuning.product_domains import is_part

_LEAST = 16  # rows or columns: with fewer, most of a tile lies beyond the end
_WORTH_IT = 1 << 18  # multiplications
_LOCAL = 48 * 1024  # bytes of local memory of a group, of which OpenCL's devices have as many


def products_in_tiles(plan: Plan) -> None:
    """Compute contractions in register tiles, where these are large enough."""
    for insn in plan.kernel.expanded.assignments:
        kernel = plan.kernel
        if not may_be_product(insn) or insn.id not in kernel.instructions_by_id:
            continue
        extents = Extents(kernel, plan.request.sizes)
        if extents.instances(insn.within_inames | insn.reduction_inames) < _WORTH_IT:
            continue
        try:
            formed, name = as_product(kernel, insn.id)
            found = contraction_of(formed, name, Extents(formed, plan.request.sizes))
        except (NotAProduct, Reassociated):
            continue
        extent = _extent(plan, formed, found)
        if min(extent.rows, extent.columns) < _LEAST or _products(extent) < _WORTH_IT:
            continue
        _tile(plan, formed, found, extent)


def _tile(plan: Plan, formed: Kernel, found: Contraction, extent: Extent) -> None:
    """Compute a contraction in tiles.

    Parameters:
        plan: the plan.
        formed: its kernel, with the contraction as one.
        found: the contraction.
        extent: how large it is.
    """
    limits = plan.request.limits
    has_room = facts_of(plan.kernel.target).has_clusters
    local = limits.local_bytes if has_room else _LOCAL
    is_divisible = not found.also and not is_part(formed, found.rows, found.columns, found.depth)
    tiles = best_tiles(extent, limits, plan.request.units, local, is_divisible=is_divisible)
    kind = _kind(plan, found)
    if kind:
        itemsize = found.factors.itemsize
        on_cores = replace(extent, kind=kind, itemsize=itemsize)
        other = best_tiles(on_cores, limits, plan.request.units, local, is_divisible=is_divisible)
        has_tile = extent.depth >= other.shape.depth  # or there are loops alone
        if has_tile and other.seconds < tiles.seconds and _take(plan, formed, found, extent, other):
            return
    _take(plan, formed, found, extent, tiles)


def _kind(plan: Plan, found: Contraction) -> str:
    """Return what tensor cores multiply of a contraction; nothing if they cannot, or may not."""
    options, rates = plan.kernel.options, plan.request.limits.tensor_operations_per_second
    if not facts_of(plan.kernel.target).has_tensor_cores or options.clusters:
        return ""
    if not options.allow_reassociation or options.contract == "off":
        return ""
    kind = found.factors.name
    if kind == "float32" and options.allow_tf32:
        kind = "tf32"
    is_summed = found.dtype.name == ("float64" if kind == "float64" else "float32")
    return kind if kind in rates and is_summed else ""


def _take(plan: Plan, formed: Kernel, found: Contraction, extent: Extent, tiles: Tiles) -> bool:
    """Compute a contraction in tiles of a shape; tell whether there is code for that."""
    shape = tiles.shape
    per_item = shape.rows * shape.columns // shape.threads
    parts = f", sums in {tiles.parts} parts" if tiles.parts > 1 else ""
    where = "on tensor cores" if shape.in_warps else "in registers"
    is_taken = plan.settle(
        [found.insn],
        f"tiles of {shape.rows} x {shape.columns} {where}, {shape.threads} work "
        f"items a group{parts}",
        f"{tiles.groups * tiles.parts} groups for {plan.request.units} units; each number that is "
        f"read of local memory is used again, {per_item} sums an item",
        lambda _: _tiled(formed, found, extent, tiles, plan),
    )
    if is_taken and tiles.parts > 1:
        plan.settled.remove(found.insn)  # it adds up the parts: a reduction as others
    return is_taken


def _tiled(kernel: Kernel, found: Contraction, extent: Extent, tiles: Tiles, plan: Plan) -> Kernel:
    """Return the kernel with a contraction in tiles, its sums in parts if there are several."""
    in_tiles = in_warp_tiles if tiles.shape.in_warps else in_register_tiles
    if tiles.parts == 1:
        return in_tiles(kernel, found, tiles.shape)
    known = kernel.instructions_by_id
    step = tiles.shape.depth
    length = ceil(ceil(extent.depth / tiles.parts) / step) * step
    kernel = reduce_in_parts(kernel, found.depth, length, f"id:{found.insn}")
    (name,) = [i for i in kernel.instructions_by_id if i not in known]
    partial = contraction_of(kernel, name, Extents(kernel, plan.request.sizes))
    return in_tiles(kernel, partial, tiles.shape)


def _extent(plan: Plan, kernel: Kernel, found: Contraction) -> Extent:
    extents = Extents(kernel, plan.request.sizes)
    return Extent(
        extents.of(found.rows),
        extents.of(found.columns),
        extents.of(found.depth) * extents.instances(found.also),
        extents.instances(found.batch),
        found.dtype.itemsize,
    )


def _products(extent: Extent) -> int:
    return prod((extent.rows, extent.columns, extent.depth, extent.batch))
