"""Lets groups of work items compute contractions in register tiles (`register_tiles`).

Where there are too few tiles for the units of a device, sums are divided in parts, which are tiles
of their own, and added up afterwards.
"""

from __future__ import annotations

from math import ceil, prod

from polygen.errors import NotAProduct
from polygen.ir.kernel import Kernel
from polygen.ir.target_facts import facts_of
from polygen.schedules.contractions import Contraction, contraction_of
from polygen.schedules.nests import Extents
from polygen.schedules.plan import Plan
from polygen.schedules.register_tiles import in_register_tiles
from polygen.schedules.tile_shapes import Extent, Tiles, best_tiles
from polygen.transforms.reductions.reduce_in_parts import reduce_in_parts

_LEAST = 16  # rows or columns: with fewer, most of a tile lies beyond the end
_WORTH_IT = 1 << 18  # multiplications
_LOCAL = 48 * 1024  # bytes of local memory of a group, of which OpenCL's devices have as many


def products_in_tiles(plan: Plan) -> None:
    """Compute contractions in register tiles, where these are large enough."""
    for insn in plan.kernel.assignments:
        if not insn.reductions:
            continue
        try:
            found = contraction_of(plan.kernel, insn.id, _extents(plan))
        except NotAProduct:
            continue
        extent = _extent(plan, found)
        if min(extent.rows, extent.columns) < _LEAST or _products(extent) < _WORTH_IT:
            continue
        _tile(plan, found, extent)


def _tile(plan: Plan, found: Contraction, extent: Extent) -> None:
    limits = plan.request.limits
    has_room = facts_of(plan.kernel.target).has_clusters
    local = limits.local_bytes if has_room else _LOCAL
    tiles = best_tiles(extent, limits, plan.request.units, local)
    shape = tiles.shape
    across, down, blocks = shape.items
    per_item = shape.rows * shape.columns // shape.threads
    parts = f", sums in {tiles.parts} parts" if tiles.parts > 1 else ""
    is_taken = plan.settle(
        [found.insn],
        f"tiles of {shape.rows} x {shape.columns} in registers, {across * down * blocks} work "
        f"items a group{parts}",
        f"{tiles.groups * tiles.parts} groups for {plan.request.units} units; each number that is "
        f"read of local memory is used again, {per_item} sums an item",
        lambda knl: _tiled(knl, found, extent, tiles, plan),
    )
    if is_taken and tiles.parts > 1:
        plan.settled.remove(found.insn)  # it adds up the parts: a reduction as others


def _tiled(kernel: Kernel, found: Contraction, extent: Extent, tiles: Tiles, plan: Plan) -> Kernel:
    """Return the kernel with a contraction in tiles, its sums in parts if there are several."""
    if tiles.parts == 1:
        return in_register_tiles(kernel, found, tiles.shape)
    known = kernel.instructions_by_id
    step = tiles.shape.depth
    length = ceil(ceil(extent.depth / tiles.parts) / step) * step
    kernel = reduce_in_parts(kernel, found.depth, length, f"id:{found.insn}")
    (name,) = [i for i in kernel.instructions_by_id if i not in known]
    partial = contraction_of(kernel, name, Extents(kernel, plan.request.sizes))
    return in_register_tiles(kernel, partial, tiles.shape)


def _extents(plan: Plan) -> Extents:
    return Extents(plan.kernel, plan.request.sizes)


def _extent(plan: Plan, found: Contraction) -> Extent:
    extents = _extents(plan)
    return Extent(
        extents.of(found.rows),
        extents.of(found.columns),
        extents.of(found.depth),
        extents.instances(found.batch),
        found.dtype.itemsize,
    )


def _products(extent: Extent) -> int:
    return prod((extent.rows, extent.columns, extent.depth, extent.batch))
