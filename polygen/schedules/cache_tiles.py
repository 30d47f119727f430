"""Tiles loops of processors where arrays have their rows along different loops.

    for i: for j:                        for i in steps of 64: for j in steps of 8:
        b[i, j] = 2*a[j, i]      ->          for i in 64: for j in 8:
                                                 b[i, j] = 2*a[j, i]

Whichever loop is innermost, one array jumps from row to row.  In a tile, the lines of memory that
it jumps over are needed again soon: 8 of them at once, whose rows are gone along for 64 elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from polygen.ir.kernel import Kernel
from polygen.schedules.nests import Extents, Nest, all_nests, nests_of
from polygen.schedules.plan import Plan
from polygen.transforms.inames.prioritize_loops import prioritize_loops
from polygen.transforms.splitting.separate_full_tiles import separate_full_tiles
from polygen.transforms.splitting.split_iname import split_iname
from polygen.tuning.neighbours import shared_uses, strides_of

_NEAR, _ACROSS = 8, 64  # iterations of a tile: along what is written, and along what is read
_WORTH_IT = 1 << 15  # elements: fewer stay in the cache of a core
_LABELS = "of 8 x 64", "of 16 x 64", "of 8 x 128", "none"
_SHAPES = (_NEAR, _ACROSS), (16, _ACROSS), (_NEAR, 128)


def rows_in_tiles(plan: Plan) -> None:
    """Tile the loops of nests of which no one goes along the rows of all arrays."""
    for nest in list(all_nests(nests_of(plan.kernel))):
        pair = _pair(plan, nest)
        if pair is None:
            continue
        near, across = pair
        work = Extents(plan.kernel, plan.request.sizes).work(nest)
        picked = plan.pick(f"tiles of {', '.join(nest.ids)}", _LABELS, work)
        if picked == len(_SHAPES):
            continue
        width, height = _SHAPES[picked]
        plan.take(
            nest.ids,
            f"tiles of {height} iterations of '{across}' and {width} of '{near}'",
            "some arrays have their rows along one of them, some along the other",
            partial(_tiled, loops=nest.loops, near=near, across=across, width=width, height=height),
        )


def _tiled(
    kernel: Kernel, loops: Sequence[str], near: str, across: str, width: int, height: int
) -> Kernel:
    others = [iname for iname in loops if iname not in {near, across}]
    inner = [kernel.new_name(f"{iname}_in_tile") for iname in (across, near)]
    outer = [kernel.new_name(f"{iname}_tile") for iname in (across, near)]
    for iname, length, points, tiles in zip(
        (across, near), (height, width), inner, outer, strict=True
    ):
        kernel = split_iname(kernel, iname, length, inner_iname=points, outer_iname=tiles)
    kernel = prioritize_loops(kernel, [*others, *outer, *inner])
    return separate_full_tiles(kernel, inner)


def _pair(plan: Plan, nest: Nest) -> tuple[str, str] | None:
    """Return the loop along which rows are written, and the one along which others are read."""
    kernel, loops = plan.kernel, nest.loops
    if len(loops) < 2 or not nest.is_perfect:
        return None
    if any(insn.reductions or insn.id in plan.settled for insn in nest.instructions):
        return None
    if any(i in kernel.tags or i not in plan.given.inames for i in nest.inames):
        return None
    plain = kernel.expanded
    uses = shared_uses(plain, nest.ids)
    strides = [strides_of(plain, use, loops) for use in uses]
    rows = [along for use, along in zip(uses, strides, strict=True) if use.is_write]
    written = [iname for iname in loops if any(along.get(iname) == 1 for along in rows)]
    if not written:
        return None
    near = max(written, key=lambda iname: sum(along.get(iname) == 1 for along in strides))
    columns = [along for along in strides if along.get(near, 1) > _NEAR]  # these jump along it
    others = [iname for iname in loops if any(along.get(iname) == 1 for along in columns)]
    if not others:
        return None
    across = max(others, key=lambda iname: sum(along.get(iname) == 1 for along in columns))
    extents = Extents(kernel, plan.request.sizes)
    if min(extents.of(near), extents.of(across)) < _ACROSS:
        return None
    return (near, across) if extents.instances([near, across]) >= _WORTH_IT else None
