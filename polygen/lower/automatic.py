"""Axes for inames tagged ``l.auto``: who executes which part of a copy that a group makes.

For each instruction, the iname along which it reads neighbours gets axis 0 of the group, so that
the loads of neighbouring work items are coalesced; then the others, by their strides.  An iname
with more values than the group has work items along the axis is split; an iname that no axis is
left for becomes a loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from polygen.analysis.access.accesses import Reference, references
from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.integers.proving import without_proofs
from polygen.analysis.pairs.automatic_spaces import with_spaces
from polygen.analysis.pairs.constant_distances import width_of
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, GlobalArg, TemporaryVariable
from polygen.ir.empty import NO_NAMES
from polygen.ir.instruction import Assigning
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Auto, element_strides
from polygen.ir.remembered import per_kernel
from polygen.ir.tags import AutoLocalTag, ForTag, LocalTag
from polygen.ir.verify import verify
from polygen.language.priorities import circle, with_priority
from polygen.lower.bounds import constant_bounds
from polygen.transforms.splitting.split_iname import split_iname


def assign_axes(kernel: Kernel) -> Kernel:
    """Return the kernel with an axis, or a loop, for each iname tagged ``l.auto``.

    The number of work items along an axis is that of the other instructions that use the variable
    which the instruction writes.
    """
    axes: dict[str, tuple[LocalTag, int]] = {}  # with their sizes
    nests = [_assign(kernel, insn, axes) for insn in kernel.assignments if _inames(kernel, insn)]
    if not nests:
        return kernel
    inames = dict.fromkeys(i for nest in nests for i in nest)
    longer = [i for i in axes if not _fits(kernel, i, axes[i][1])]
    # Nothing is left to prove: that these inames are parallel was, and `verify` has seen that no
    # work item keeps for itself what the instruction writes, or reads what another one kept.
    tags = {i: axes[i][0] if i in axes and i not in longer else ForTag() for i in inames}
    kernel = kernel.copy(tags={**kernel.tags, **tags})
    outer = {i: i for i in inames if i not in axes}
    with without_proofs():
        for iname in longer:
            outer[iname] = kernel.new_name(f"{iname}_outer")
            tag, size = axes[iname]
            kernel = split_iname(kernel, iname, size, outer_iname=outer[iname], inner_tag=tag)
    for nest in nests:
        loops = tuple([outer[i] for i in nest if i in outer])
        asked_otherwise = circle((*kernel.priorities, loops))
        if len(loops) > 1 and not asked_otherwise:
            kernel = with_priority(kernel, loops)
    verify(kernel)
    return kernel


def _inames(kernel: Kernel, insn: Assigning) -> list[str]:
    """Return the inames of an instruction that have no axis yet."""
    inames = insn.within_inames | insn.reduction_inames
    return [
        i for i in kernel.inames if i in inames and isinstance(kernel.tags.get(i), AutoLocalTag)
    ]


def _assign(
    kernel: Kernel, insn: Assigning, axes: dict[str, tuple[LocalTag, int]]
) -> Sequence[str]:
    """Assign axes to the inames of an instruction; return these in the order of what it writes."""
    inames = _inames(kernel, insn)
    taken = {kernel.tags.get(i) for i in insn.within_inames}
    taken |= {axes[i][0] for i in inames if i in axes}
    free = [(tag, size) for tag, size in _group(kernel, insn) if tag not in taken]
    new = sorted((i for i in inames if i not in axes), key=lambda i: _strides(kernel, insn, i))
    axes |= _dealt(kernel, new, free)
    written = [n for assignee in insn.assignees for n in walk.subexpressions(assignee)]
    names = [n.name for n in written if isinstance(n, ex.Variable)]
    return sorted(inames, key=lambda i: names.index(i) if i in names else -1)


def _dealt(
    kernel: Kernel, inames: list[str], free: list[tuple[LocalTag, int]]
) -> dict[str, tuple[LocalTag, int]]:
    """Return which inames get which axes, those with the smallest strides first.

    Where not all get one, an iname that leaves nearly all of an axis idle makes way for one that
    does not: of a box of (128, 3) elements, 128 work items get a row each, and not 3 a column.
    """
    found: dict[str, tuple[LocalTag, int]] = {}
    left = list(inames)
    for tag, size in free:
        if not left:
            break
        busy = {i: min(size, _count(kernel, i) or size) for i in left}
        spare = len(left) > len(free) - len(found)
        least = max(busy.values()) / _IDLE if spare else 0
        chosen = next(i for i in left if busy[i] > least)
        found[chosen] = tag, size
        left.remove(chosen)
    return found


def _fits(kernel: Kernel, iname: str, size: int) -> bool:
    count = _count(kernel, iname)
    return count is not None and count <= size


def _group(kernel: Kernel, insn: Assigning) -> Iterator[tuple[LocalTag, int]]:
    """Yield the axes of the group that executes an instruction, and their sizes.

    They are those of what uses the variable that it writes; or, where that has none, the local
    variables that it reads.
    """
    read = [n for n in insn.read_names if kernel.variables.get(n) and _is_local(kernel, n)]
    for names in frozenset(insn.written_names), frozenset(read):
        if found := _axes_of_users(kernel, names):
            yield from found
            return


def _axes_of_users(kernel: Kernel, names: frozenset[str]) -> list[tuple[LocalTag, int]]:
    others = [
        o for o in kernel.assignments if not names.isdisjoint({*o.read_names, *o.written_names})
    ]
    inames = NO_NAMES.union(*(o.within_inames for o in others))
    sizes: dict[LocalTag, int] = {}
    for iname, tag in kernel.tags.items():
        if iname in inames and isinstance(tag, LocalTag):
            count = _count(kernel, iname)
            if count is not None:
                sizes[tag] = max(count, sizes.get(tag, count))
    return sorted(sizes.items(), key=lambda found: found[0].axis)


def _is_local(kernel: Kernel, name: str) -> bool:
    return kernel.address_space(name) is AddressSpace.LOCAL


@per_kernel
def _count(kernel: Kernel, iname: str) -> int | None:
    """Return how many values an iname has at most, or None if that is not a constant."""
    values = domain_of(kernel, with_surrounding(kernel, (iname,)))
    if not values.involves_locals() and (width := width_of(kernel, iname)) is not None:
        return width + 1  # there are no strides
    bounds = constant_bounds(iname, values)
    return None if bounds is None or bounds.constant is None else len(bounds.constant)


# --- strides

_IDLE = 8  # so many times as many work items are worth a larger stride
_LARGE = 1024  # what an unknown extent is taken for


def _strides(kernel: Kernel, insn: Assigning, iname: str) -> tuple[float, float]:
    """Return how far apart two neighbouring values of `iname` load, and how far they store."""
    found = references(insn)
    loads = [r for r in found if not r.is_write and _is_global(kernel, r.name)]
    stores = [r for r in found if r.is_write]
    distances = [[_stride(kernel, r, iname) for r in refs] for refs in (loads, stores)]
    first, second = (min((d for d in ds if d), default=inf) for ds in distances)
    return first, second


def _is_global(kernel: Kernel, name: str) -> bool:
    variable = kernel.variables.get(name)
    is_array = isinstance(variable, GlobalArg | TemporaryVariable)
    return is_array and kernel.address_space(name) is AddressSpace.GLOBAL


def _stride(kernel: Kernel, reference: Reference, iname: str) -> float:
    """Return the distance, in elements, of what is touched for neighbouring values of `iname`."""
    array = kernel.array(reference.name)
    declared = element_strides(array)
    total, stride = 0, 1
    for axis in reversed(range(len(reference.index))):
        if declared is not None:
            stride = _estimate(declared[axis])
        form = linear_form(reference.index[axis])
        total += stride * (0 if form is None else form.terms.get(iname, 0))
        stride *= _estimate((array.shape or ())[axis])
    return abs(total)


def _estimate(extent: ex.Expression | Auto | None) -> int:
    form = None if extent is None or isinstance(extent, Auto) else linear_form(extent)
    return _LARGE if form is None else form.evaluate(dict.fromkeys(form.names(), _LARGE))


def on_axes(kernel: Kernel) -> Kernel:
    """Return what `Kernel.on_axes` does, of a kernel without rules and calls."""
    return assign_axes(with_spaces(kernel))
