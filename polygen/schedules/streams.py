"""Gives several elements of element-wise nests to each work item, where sizes are not known.

    for i: b[i] = 2*a[i]

More bytes are on their way then: four neighbours as a vector, where arrays begin with one and rows
are whole vectors; else some elements that are as far apart as a group is wide, so that work items
side by side touch neighbours.  Nests whose sizes are numbers, and short ones, are left to
`loops_on_axes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from polygen.analysis.typing.index_type import index_type
from polygen.analysis.typing.inference import infer_types
from polygen.ir.dtype import to_dtype
from polygen.ir.instruction import Assigning
from polygen.ir.kernel import Kernel
from polygen.schedules.alignment import VECTOR, begins_with_vectors, is_whole
from polygen.schedules.nests import Extents, Nest, all_nests, nests_of
from polygen.schedules.parallel_loops import may_be_on_axes, shown_parallel
from polygen.schedules.plan import Plan
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.splitting.split_iname import split_iname
from polygen.tuning.neighbours import order_of, shared_uses, strides_of
from polygen.tuning.time_steps import results_of

_ITEMS, _EACH = 256, 4
_AXES = 3
_IDLE = 1.25  # work items for each that has something to do, at most
_BUSY = 2048  # work items of a unit
_READS = 8  # elements of an iteration: with more of them, enough bytes are on their way


@dataclass(frozen=True)
class Stream:
    """An element-wise nest that goes through memory.

    Attributes:
        ids: its instructions.
        loops: the loops, outermost first, the last one along memory.
        lanes: how many neighbours are a vector; 1 if vectors would not begin where memory's do.
    """

    ids: tuple[str, ...]
    loops: tuple[str, ...]
    lanes: int


def streams_at_once(plan: Plan) -> None:
    """Give several elements to each work item, where there is much to do."""
    shown = shown_parallel(plan.kernel)
    for nest in list(all_nests(nests_of(plan.kernel))):
        found = _stream(plan, nest, shown)
        if found is None:
            continue
        how = f"{found.lanes} as a vector" if found.lanes > 1 else f"{_EACH}, {_ITEMS} apart"
        plan.settle(
            found.ids,
            f"several elements along '{found.loops[-1]}' for each work item, {how}",
            "as many bytes are on their way as the bandwidth needs",
            partial(at_once, found=found),
        )


def _stream(plan: Plan, nest: Nest, shown: frozenset[str]) -> Stream | None:
    """Return what is element-wise in a nest of its own, and large; None if it is not."""
    kernel = plan.kernel
    if not plan.settled.isdisjoint(nest.ids) or not _is_element_wise(kernel, nest):
        return None
    extents = Extents(kernel, plan.request.sizes)
    order = order_of(kernel, nest.ids, nest.loops)
    near = order.loops[-1]
    if order.across is not None or not _fills_groups(extents.of(near)):
        return None
    if extents.instances(nest.loops) < _EACH * _BUSY * plan.request.units:
        return None
    if len(shared_uses(kernel.expanded, nest.ids)) > _READS:
        return None
    if not all(may_be_on_axes(kernel, i, shown) for i in nest.loops):
        return None
    return Stream(nest.ids, order.loops, _lanes(kernel, nest.ids, near))


def _fills_groups(extent: int) -> bool:
    """Tell whether few work items of the last group along a loop are idle."""
    length = _ITEMS * _EACH
    return extent >= length and -(-extent // length) * length <= _IDLE * extent


def _is_element_wise(kernel: Kernel, nest: Nest) -> bool:
    """Tell whether a nest of loops, on no axis, of which sizes decide the ends, reduces nothing."""
    if not nest.is_perfect or len(nest.loops) > _AXES or any(map(kernel.tags.get, nest.loops)):
        return False
    if not set(nest.loops) <= kernel.home_domains.keys():  # loops of a kernel that is called
        return False
    for insn in nest.instructions:
        if not isinstance(insn, Assigning) or insn.reductions:
            return False
        if frozenset(nest.loops) != results_of(kernel, insn):
            return False
    return any(kernel.home_domains[iname].parameters for iname in nest.loops)


def _lanes(kernel: Kernel, ids: Sequence[str], near: str) -> int:
    """Return how many elements a vector of all arrays has; 1 if they do not begin with one."""
    plain = kernel.expanded
    names: set[str] = set()
    for use in shared_uses(plain, ids):
        stride = strides_of(plain, use, [near]).get(near, 0)
        if stride not in {0, 1}:
            return 1
        names |= {use.name} if stride else set()
    if not all(begins_with_vectors(kernel, name, 2) for name in names):
        return 1
    typed = infer_types(kernel, index_type(kernel))
    sizes = {to_dtype(typed.array(name).dtype).itemsize for name in names}
    lanes = VECTOR // max(sizes, default=VECTOR)
    if len(sizes) != 1 or lanes == 1 or not is_whole(kernel, near, lanes):
        return 1
    return lanes if all(begins_with_vectors(kernel, name, lanes) for name in names) else 1


def at_once(kernel: Kernel, found: Stream) -> Kernel:
    """Return the kernel with several elements of a nest for each work item.

    Parameters:
        kernel: the kernel.
        found: the nest.

    Raises:
        IllegalStep, CannotProve: if a step is illegal.
    """
    (*outer, near) = found.loops
    within = " or ".join(f"id:{name}" for name in found.ids)
    rest, own, item, group = (
        kernel.new_name(f"{near}_{part}") for part in ("rest", "own", "item", "group")
    )
    if found.lanes > 1:
        kernel = split_iname(
            kernel,
            near,
            found.lanes,
            outer_iname=rest,
            inner_iname=own,
            inner_tag="vec",
            within=within,
        )
        steps = [(rest, _ITEMS, group, item, "l.0")]
    else:
        steps = [(near, _ITEMS, rest, item, "l.0"), (rest, _EACH, group, own, "unr")]
    for iname, length, first, second, tag in steps:
        kernel = split_iname(
            kernel,
            iname,
            length,
            outer_iname=first,
            inner_iname=second,
            inner_tag=tag,
            within=within,
        )
    axes = zip(reversed(outer), ("g.1", "g.2"), strict=False)
    return tag_inames(kernel, {group: "g.0", **dict(axes)})
