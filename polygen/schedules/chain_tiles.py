"""Tiles loops of which each iteration waits for the one before, in rows and in columns.

    for i: for j: a[i,j] = (a[i-1,j] + a[i,j-1] + ...)/4

Each element waits for the one to its left.  In a tile of 8 x 8 that compilers write out, elements
of other rows are computed meanwhile: a processor looks some hundred operations ahead.
"""

from __future__ import annotations

from functools import partial

from polygen.analysis.dataflow.nest_parallelism import is_plainly_parallel
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.instruction import Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag
from polygen.schedules.nests import Extents, Nest, all_nests, nests_of
from polygen.schedules.plan import Plan
from polygen.transforms.splitting.separate_full_tiles import separate_full_tiles
from polygen.transforms.splitting.tile import tile

_SIDES = 8, 4, 16  # iterations of both loops; the first is the usual number
_LEAST = 64  # iterations of each loop
_MOST_NODES = 80  # of an expression: a tile of larger ones is not looked through ahead


def chains_in_tiles(plan: Plan) -> None:
    """Tile the two innermost loops of nests in which both carry a dependence."""
    for nest in list(all_nests(nests_of(plan.kernel))):
        if not _is_chain(plan, nest):
            continue
        labels = *(f"{side} x {side}" for side in _SIDES), "none"
        work = Extents(plan.kernel, plan.request.sizes).work(nest)
        picked = plan.pick(f"small tiles of {', '.join(nest.ids)}", labels, work)
        if picked == len(_SIDES):
            continue
        side, (rows, columns) = _SIDES[picked], nest.loops[-2:]
        plan.take(
            nest.ids,
            f"tiles of {side} iterations of '{rows}' and {side} of '{columns}'",
            "each iteration waits for the one before: those of other rows go on meanwhile",
            partial(_tiled, rows=rows, columns=columns, side=side),
        )


def _tiled(kernel: Kernel, rows: str, columns: str, side: int) -> Kernel:
    known = set(kernel.inames)
    new = tile(kernel, {rows: side, columns: side})
    points = [i for i in new.inames if i not in known and i.endswith("_inner")]
    return separate_full_tiles(new, points)


def _is_chain(plan: Plan, nest: Nest) -> bool:
    """Tell whether both of the innermost loops have to be executed in order."""
    kernel = plan.kernel
    if len(nest.loops) < 2 or not nest.is_perfect or len(nest.ids) != 1:
        return False
    pair = nest.loops[-2:]
    if any(i in kernel.tags or i not in plan.given.inames for i in pair):
        return False
    (insn,) = nest.instructions
    if not _is_plain(insn) or insn.id in plan.settled or not _reads_what_it_writes(insn):
        return False
    extents = Extents(kernel, plan.request.sizes)
    if min(map(extents.of, pair)) < _LEAST:
        return False
    return not any(is_plainly_parallel(kernel, iname, GroupTag(0)) for iname in pair)


def _is_plain(insn: Instruction) -> bool:
    return (
        isinstance(insn, Assignment)
        and not insn.predicates
        and not insn.reductions
        and insn.atomicity is None
        and not walk.classes(insn.expression) & {ex.Call, ex.FloorDiv, ex.Remainder}
        and sum(1 for _ in walk.subexpressions(insn.expression)) <= _MOST_NODES
    )


def _reads_what_it_writes(insn: Instruction) -> bool:
    return not insn.read_names.isdisjoint(insn.written_names)
