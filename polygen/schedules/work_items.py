"""Gives whole nests to work items, where what is inside of them cannot be shared.

Rows of a sparse matrix, pixels of the Mandelbrot set, systems of equations side by side: loops
whose iterations need no other ones go to axes, and each work item does all that is inside, loops
whose iterations need each other and private values included.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from polygen.errors import UserError
from polygen.ir.instruction import Assigning
from polygen.ir.kernel import Kernel
from polygen.schedules.nests import Extents, Nest, is_mapped, nests_of
from polygen.schedules.parallel_loops import shown_parallel, with_own_scalars
from polygen.schedules.plan import Plan
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.loops.memory_order import along_memory
from polygen.transforms.splitting.split_iname import split_iname

_ITEMS, _AXES = 256, 3
_FEW = 64  # iterations: inside, there may be more of them


def nests_to_work_items(plan: Plan) -> None:
    """Give parallel loops around what is no element-wise statement to axes."""
    shown = shown_parallel(plan.kernel)
    for nest in list(_candidates(plan, nests_of(plan.kernel), shown)):
        loops = _parallel(plan.kernel, nest)
        if not loops or _is_elementwise(nest, loops):
            continue
        order = _along_memory(plan.kernel, nest, loops)
        plan.settle(
            nest.ids,
            f"a work item for each iteration of {', '.join(map(repr, order))}",
            "no iteration needs another one",
            partial(_on_axes, nest=nest, order=order),
        )


def _candidates(plan: Plan, nests: Sequence[Nest], shown: frozenset[str]) -> Iterator[Nest]:
    """Yield outermost nests with parallel loops that have enough iterations.

    Those that are known to be element-wise, and parallel, are left out.
    """
    extents = Extents(plan.kernel, plan.request.sizes)
    for nest in nests:
        if is_mapped(plan.kernel, nest) or shown.issuperset(nest.loops):
            continue
        if extents.instances(_parallel(plan.kernel, nest)) >= _FEW:
            yield nest
        else:
            yield from _candidates(plan, nest.inner, shown)


def _parallel(kernel: Kernel, nest: Nest) -> tuple[str, ...]:
    """Return loops that can be on axes at the same time: the one along memory, then outer ones."""
    kernel = with_own_scalars(kernel, nest.ids)
    known = [iname for iname in nest.loops if iname in kernel.inames]  # not those of functions
    near = _along_memory(kernel, nest, known)[-1:]
    found: dict[str, str] = {}
    for iname in sorted(known, key=lambda iname: iname not in near):
        if kernel.tags.get(iname) is not None or len(found) == _AXES:
            continue
        trial = {**found, iname: f"g.{len(found)}"}
        try:
            tag_inames(kernel, trial)
        except UserError:  # iterations need each other
            continue
        found = trial
    return tuple([iname for iname in nest.loops if iname in found])


def _along_memory(kernel: Kernel, nest: Nest, loops: Sequence[str]) -> list[str]:
    """Return loops of a nest, those whose iterations are neighbours in memory last."""
    return [i for run in along_memory(kernel, _leading(nest), loops) for i in run]


def _is_elementwise(nest: Nest, loops: Sequence[str]) -> bool:
    """Tell whether statements without reductions are in the loops, which are all parallel."""
    if nest.inner or set(loops) < set(nest.loops):
        return False
    return all(isinstance(i, Assigning) and not i.reductions for i in nest.instructions)


def _leading(nest: Nest) -> str:
    """Return the instruction that is executed most often: the one that is in most loops."""
    return max(nest.instructions, key=lambda i: len(i.within_inames | i.reduction_inames)).id


def _on_axes(kernel: Kernel, nest: Nest, order: Sequence[str]) -> Kernel:
    """Return the kernel with loops on axes, the last one on work items side by side."""
    (*outer, near) = order
    kernel = with_own_scalars(kernel, nest.ids)
    groups, items = kernel.new_name(f"{near}_group"), kernel.new_name(f"{near}_item")
    kernel = split_iname(
        kernel,
        near,
        _ITEMS,
        outer_iname=groups,
        inner_iname=items,
        outer_tag="g.0",
        inner_tag="l.0",
        within=" or ".join(f"id:{name}" for name in nest.ids),
    )
    tags = {iname: f"g.{axis}" for axis, iname in enumerate(reversed(outer), 1)}
    return tag_inames(kernel, tags) if tags else kernel
