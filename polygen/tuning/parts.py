"""Long reductions, beside which something is done for each element: both in parts, in one pass.

    s = sum(i, f(x[i]))            [p] part[p] = sum(q, f(x[1024*p + q]))
    y[i] = g(x[i])          ->     [p, q] y[1024*p + q] = g(x[1024*p + q])
                                   s = sum(p, part[p])

Parts are rows, which are read once for all of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import SupportsIndex

from polygen.errors import NotCountable, UserError
from polygen.ir.instruction import Assigning
from polygen.ir.kernel import Kernel
from polygen.ir.tags import is_parallel
from polygen.transforms.fusion.loop_sharing import in_one_loop
from polygen.transforms.loops.size_estimates import likely_extent
from polygen.transforms.reductions.coalesce_reduction import coalesce_reduction
from polygen.transforms.reductions.reduce_in_parts import reduce_in_parts
from polygen.transforms.splitting.join_inames import join_inames
from polygen.transforms.splitting.split_iname import split_iname
from polygen.tuning.neighbours import shared_uses, strides_of
from polygen.tuning.nests import families, names_of, reduced_by
from polygen.tuning.prepared import in_loops_of_its_own, writes_along
from polygen.tuning.work import points, work_of

_MANY = 1 << 17  # elements
_LEAST, _MOST = 256, 8192  # elements of a part, if it is a row of an array
_USUAL = (2048, 1024, 1000, 512, 500)  # and if it is not


@dataclass(frozen=True)
class _Whole:
    """A reduction to one result.

    Attributes:
        ids: those of the instructions that share its loop.
        inames: what it runs over, in the order of memory.
        length: of a part.
    """

    ids: tuple[str, ...]
    inames: tuple[str, ...]
    length: int


def in_parts(kernel: Kernel, sizes: Mapping[str, SupportsIndex], units: int) -> Kernel:
    """Return the kernel with long reductions in parts, where that saves reading twice.

    Parameters:
        kernel: the kernel.
        sizes: what to expect of sizes that are not numbers.
        units: how many compute units the device has.
    """
    for family in families(kernel):
        whole = _whole(kernel, names_of(family), sizes, units) if len(family) == 1 else None
        if whole is None:
            continue
        try:
            kernel = _divided(kernel, whole)
        except UserError:  # sums in another order, say
            continue
    return kernel


def _whole(
    kernel: Kernel, ids: Sequence[str], sizes: Mapping[str, SupportsIndex], units: int
) -> _Whole | None:
    plain = kernel.expanded
    insn = plain.instruction(ids[0])
    if insn.within_inames or any(is_parallel(kernel.tags.get(i)) for i in insn.reduction_inames):
        return None
    try:
        work = work_of(plain, [plain.instruction(name) for name in ids], reduced_by(insn), sizes)
    except NotCountable:
        return None
    domains = [d for d in kernel.domains if not insn.reduction_inames.isdisjoint(d.inames)]
    if work.length < _MANY or any(domain.parameters for domain in domains):
        return None
    order = _in_memory(plain, ids, list(reduced_by(insn)))
    if order is None:
        return None
    lengths = _USUAL if len(order) == 1 else (likely_extent(kernel, order[-1]),)
    fit = [n for n in lengths if _LEAST <= n <= _MOST and work.length % n == 0]
    fit = [n for n in fit if work.length // n >= units]
    return _Whole(tuple(ids), order, fit[0]) if fit else None


def _in_memory(kernel: Kernel, ids: Sequence[str], inames: list[str]) -> tuple[str, ...] | None:
    """Return loops in the order in which all arrays with all of them lie; None if they differ."""
    orders: set[tuple[str, ...]] = set()
    for use in shared_uses(kernel, ids):
        along = strides_of(kernel, use, inames)
        if len(along) == len(inames) and not use.is_write:
            order = tuple(sorted(inames, key=lambda iname: -along[iname]))
            orders.add(order if along[order[-1]] == 1 else ())
    return orders.pop() or None if len(orders) == 1 else None


def _divided(kernel: Kernel, whole: _Whole) -> Kernel:
    """Return the kernel with a reduction in parts, and what belongs to it; else as it is."""
    beside = [insn.id for insn in kernel.assignments if _is_beside(kernel, insn, whole)]
    if not beside:
        return kernel
    new = kernel
    if len(whole.inames) > 1:
        for name in whole.ids:
            new = coalesce_reduction(new, name)
    (iname,) = new.expanded.instruction(whole.ids[0]).reduction_inames
    part = new.new_name(f"{iname}_part")
    within = " or ".join(f"id:{name}" for name in whole.ids)
    new = reduce_in_parts(new, iname, whole.length, within, part_iname=part)
    joined = False
    for name in beside:
        if part not in new.instruction(name).within_inames:
            try:
                new = _with_parts(new, name, part, whole.length)
            except UserError:  # it needs the result, say
                continue
        joined = True
    return new if joined else kernel


def _is_beside(kernel: Kernel, insn: Assigning, whole: _Whole) -> bool:
    """Tell whether an instruction does something for each element of what is reduced."""
    loops = insn.within_inames
    if insn.reductions or len(loops) != len(whole.inames):
        return False
    plain = kernel.expanded
    read = {use.name for use in shared_uses(plain, whole.ids) if len(use.index) == len(loops)}
    order = _in_memory(plain, [insn.id], sorted(loops))
    if (
        order is None
        or read.isdisjoint(insn.read_names)
        or not writes_along(plain, insn, order[-1])
    ):
        return False
    return all(
        points(plain, frozenset((a,)), {}) == points(plain, frozenset((b,)), {})
        for a, b in zip(whole.inames, order, strict=True)
    )


def _with_parts(kernel: Kernel, name: str, part: str, length: int) -> Kernel:
    """Return the kernel with an element-wise nest in the loop over parts."""
    kernel, _ = in_loops_of_its_own(kernel, name)
    order = _in_memory(kernel.expanded, [name], sorted(kernel.instruction(name).within_inames))
    assert order is not None
    (*rest, near) = order
    within = f"id:{name}"
    if not rest:
        outer = kernel.new_name(f"{near}_part")
        kernel = split_iname(kernel, near, length, outer_iname=outer, within=within)
    elif len(rest) == 1:
        (outer,) = rest
    else:
        outer = kernel.new_name("_".join(rest))
        kernel = join_inames(kernel, rest, new_iname=outer, within=within)
    return in_one_loop(kernel, part, outer)
