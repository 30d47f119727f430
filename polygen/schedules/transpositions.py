"""Lets groups go through tiles in local memory where arrays have their rows along different loops.

    for i: for j: b[j,i] = 2*a[i,j]

Neighbours of ``b`` lie along ``i``, those of ``a`` along ``j``.  A group reads a tile of ``a`` row
by row, and writes one of ``b`` row by row: only in local memory it goes along columns, where its
rows are a little longer, so that elements of a column are in different banks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from polygen.analysis.access.accesses import Reference
from polygen.analysis.typing.index_type import index_type
from polygen.analysis.typing.inference import infer_types
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.dtype import to_dtype
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.schedules.contractions import stride_along
from polygen.schedules.nests import Extents, loops_of_plane
from polygen.schedules.own_loops import with_own_loops
from polygen.schedules.parallel_loops import may_be_on_axes, shown_parallel
from polygen.schedules.plan import Plan
from polygen.transforms.arrays.add_bank_padding import add_bank_padding
from polygen.transforms.copies.precompute import precompute
from polygen.transforms.inames.prioritize_loops import prioritize_loops
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.rules.expand_subst import expand_subst
from polygen.transforms.rules.extract_subst import extract_subst
from polygen.transforms.splitting.split_iname import split_iname
from polygen.tuning.neighbours import order_of, shared_uses, strides_of

_ACROSS, _DOWN = 32, 8  # work items of a group
_TILE_BYTES = 256  # of a row of a tile
_WORTH_IT = 1 << 18  # elements
_MOST_TILES = 2  # arrays that have their rows along another loop: local memory is short


@dataclass(frozen=True)
class Transposition:
    """An element-wise nest whose arrays have their rows along different loops.

    Attributes:
        insn: the instruction.
        near: the loop along which it writes neighbours.
        across: the loop along which some arrays that it reads have theirs.
        others: the other loops, outermost first.
        turned: what is read along the second loop.
        tile: how many iterations of both loops a group has.
    """

    insn: str
    near: str
    across: str
    others: tuple[str, ...]
    turned: tuple[Reference, ...]
    tile: int


def transposed_in_tiles(plan: Plan) -> None:
    """Read through tiles in local memory what lies across what is written."""
    shown = shown_parallel(plan.kernel)
    for insn in plan.kernel.assignments:
        if insn.id in plan.settled or not isinstance(insn, Assignment):
            continue
        found = _transposition(plan, insn, shown)
        if found is None:
            continue
        arrays = ", ".join(f"'{use.name}'" for use in found.turned)
        plan.settle(
            [insn.id],
            f"tiles of {found.tile} x {found.tile} of {arrays} in local memory",
            f"neighbours lie along '{found.across}', and what is written along '{found.near}'",
            partial(in_tiles, found=found),
        )


def _transposition(plan: Plan, insn: Assignment, shown: frozenset[str]) -> Transposition | None:
    """Return what is in the way of reading and writing rows; None if nothing is."""
    kernel = plan.kernel
    free = loops_of_plane(kernel, insn)
    if free is None:
        return None
    order = order_of(kernel, [insn.id], free)
    extents = Extents(kernel, plan.request.sizes)
    if order.across is None or extents.instances(free) < _WORTH_IT:
        return None
    near, across = order.loops[-1], order.across
    if min(extents.of(near), extents.of(across)) < _ACROSS:
        return None
    plain = kernel.expanded
    turned = [
        use
        for use in shared_uses(plain, [insn.id])
        if not use.is_write and strides_of(plain, use, [across]).get(across) == 1
        if strides_of(plain, use, [near]).get(near, 1) != 1
    ]
    if not 0 < len(turned) <= _MOST_TILES:
        return None
    if not all(may_be_on_axes(kernel, iname, shown) for iname in free):
        return None
    others = tuple([iname for iname in order.loops if iname not in {near, across}])
    tile = _tile(kernel, turned) if min(extents.of(near), extents.of(across)) > _ACROSS else _ACROSS
    return Transposition(insn.id, near, across, others, tuple(turned), tile)


def _tile(kernel: Kernel, turned: Sequence[Reference]) -> int:
    """Return how long tiles are: two lines of memory, as far as whole groups have them."""
    typed = infer_types(kernel, index_type(kernel))
    largest = max(to_dtype(typed.array(use.name).dtype).itemsize for use in turned)
    return max(_ACROSS, _TILE_BYTES // largest // _ACROSS * _ACROSS // len(turned))


def in_tiles(kernel: Kernel, found: Transposition) -> Kernel:
    """Return the kernel with tiles in local memory for a transposition.

    Parameters:
        kernel: the kernel; types are known.
        found: what lies across.

    Raises:
        IllegalStep, CannotProve, FootprintNotAffine, ...: if a step is illegal.
    """
    loops = [*found.others, found.across, found.near]
    kernel, names = with_own_loops(kernel, found.insn, loops)
    near, across = names[found.near], names[found.across]
    others = [names[iname] for iname in found.others]
    kernel = expand_subst(kernel, f"id:{found.insn}") if kernel.substitutions else kernel
    kernel, groups_near, tile_near = _split(kernel, near, found.tile, "group", "tile", "g.0", None)
    kernel, groups_across, tile_across = _split(
        kernel, across, found.tile, "group", "tile", "g.1", None
    )
    if others:
        kernel = tag_inames(kernel, {others[0]: "g.2"})
    kernel, rules = _with_rules(kernel, found, tile_near, tile_across)
    kernel, rest_near, item_near = _split(kernel, tile_near, _ACROSS, "rest", "item", None, "l.0")
    kernel, rest_across, item_across = _split(
        kernel, tile_across, _DOWN, "rest", "item", None, "l.1"
    )
    outside = [*others, groups_across, groups_near]
    kernel = prioritize_loops(kernel, [*outside, item_across, item_near, rest_across, rest_near])
    kernel = tag_inames(kernel, {rest_near: "unr_hint", rest_across: "unr_hint"})
    for rule, row, column in rules:
        tile = kernel.new_name(f"{rule}_tile")
        kernel = precompute(
            kernel,
            rule,
            [rest_near, item_near, rest_across, item_across],
            storage_axes=[row, column],
            precompute_inames=[row, column],
            precompute_outer_inames=outside,
            default_tag=None,
            temporary_name=tile,
            temporary_address_space="local",
        )
        for iname, length, tag in ((column, _ACROSS, "l.0"), (row, _DOWN, "l.1")):
            kernel, rest, _ = _split(kernel, iname, length, "rest", "item", None, tag)
            kernel = tag_inames(kernel, {rest: "unr_hint"})
        kernel = add_bank_padding(kernel, tile)
    return kernel


def _split(
    kernel: Kernel,
    iname: str,
    length: int,
    outer: str,
    inner: str,
    outer_tag: str | None,
    inner_tag: str | None,
) -> tuple[Kernel, str, str]:
    """Return the kernel with a divided loop, and both parts."""
    first, second = kernel.new_name(f"{iname}_{outer}"), kernel.new_name(f"{iname}_{inner}")
    kernel = split_iname(
        kernel,
        iname,
        length,
        outer_iname=first,
        inner_iname=second,
        outer_tag=outer_tag,
        inner_tag=inner_tag,
    )
    return kernel, first, second


def _with_rules(
    kernel: Kernel, found: Transposition, near: str, across: str
) -> tuple[Kernel, list[tuple[str, str, str]]]:
    """Return the kernel with rules for what tiles have, and their names and arguments.

    Parameters:
        kernel: the kernel; its loops are divided into those of groups and of tiles.
        found: the transposition.
        near: the loop of a tile along what is written.
        across: the other one.
    """
    (value,) = kernel.assignment(found.insn).values
    nodes = [n for n in walk.subexpressions(value) if isinstance(n, ex.Subscript)]
    rules: list[tuple[str, str, str]] = []
    for node in dict.fromkeys(n for n in nodes if _is_turned(kernel, n, near, across)):
        name = ex.name_of(node)
        row = kernel.new_name(f"{name}_row")
        column = kernel.new_name(f"{name}_column", (row,))
        new = {near: ex.Variable(row), across: ex.Variable(column)}
        template = walk.substitute(node, new)
        assert isinstance(template, ex.ExpressionNode)
        rule = kernel.new_name(f"{name}_turned", (row, column))
        kernel = extract_subst(kernel, rule, template, [row, column], f"id:{found.insn}")
        rules.append((rule, row, column))
    return kernel, rules


def _is_turned(kernel: Kernel, node: ex.Subscript, near: str, across: str) -> bool:
    """Tell whether an array has its rows along another loop than what is written."""
    if not {near, across} <= walk.free_variables(node):
        return False
    array, index = kernel.array(ex.name_of(node)), ex.index_tuple(node)
    return stride_along(kernel, array, index, across) == 1
