"""Axes for inames tagged ``l.auto``: who executes which part of a copy that a group makes.

For each instruction, the iname along which it reads neighbours gets axis 0 of the group, so that
the loads of neighbouring work items are coalesced; then the others, by their strides.  An iname
with more values than the group has work items along the axis is split; an iname that no axis is
left for becomes a loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from polygen.analysis.access import Reference, references
from polygen.analysis.affine import linear_form
from polygen.analysis.domains import domain_of, with_surrounding
from polygen.analysis.proving import without_proofs
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, GlobalArg, TemporaryVariable
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.ir.tags import AutoLocalTag, LocalTag
from polygen.lower.bounds import constant_bounds
from polygen.transforms.prioritize_loops import prioritize_loops
from polygen.transforms.split_iname import split_iname
from polygen.transforms.tag_inames import tag_inames


def assign_axes(kernel: Kernel) -> Kernel:
    """Return the kernel with an axis, or a loop, for each iname tagged ``l.auto``.

    The number of work items along an axis is that of the other instructions that use the variable
    which the instruction writes.
    """
    # Nothing is left to prove: that these inames are parallel was, and `verify` has seen that no
    # work item keeps for itself what the instruction writes, or reads what another one kept.
    with without_proofs():
        while (insn := _first(kernel)) is not None:
            kernel = _assigned(kernel, insn)
    return kernel


def _first(kernel: Kernel) -> Assignment | None:
    """Return an instruction with an iname that has no axis yet."""
    return next((insn for insn in kernel.assignments if _automatic(kernel, insn)), None)


def _automatic(kernel: Kernel, insn: Assignment) -> list[str]:
    inames = insn.within_inames | insn.reduction_inames
    return [i for i in kernel.inames if i in inames and _is_automatic(kernel, i)]


def _is_automatic(kernel: Kernel, iname: str) -> bool:
    return isinstance(kernel.tags.get(iname), AutoLocalTag)


def _assigned(kernel: Kernel, insn: Assignment) -> Kernel:
    inames = sorted(_automatic(kernel, insn), key=lambda i: _strides(kernel, insn, i))
    kernel = tag_inames(kernel, dict.fromkeys(inames, "for"), force=True)
    taken = {kernel.tags.get(i) for i in insn.within_inames}
    sizes = [(tag, size) for tag, size in _group(kernel, insn) if tag not in taken]
    loops = inames[len(sizes) :]
    for iname, (tag, size) in zip(inames, sizes, strict=False):
        count = _count(kernel, iname)
        if count is not None and count <= size:
            kernel = tag_inames(kernel, {iname: tag}, force=True)
        else:
            outer = kernel.new_name(f"{iname}_outer")
            kernel = split_iname(kernel, iname, size, outer_iname=outer, inner_tag=tag)
            loops.append(outer)
    return _nested(kernel, insn, loops)


def _nested(kernel: Kernel, insn: Assignment, loops: Sequence[str]) -> Kernel:
    """Return the kernel with the loops that are left in the order of what they store."""
    if len(loops) < 2:
        return kernel
    (written,) = kernel.instruction(insn.id).assignees
    names = [n.name for n in walk.subexpressions(written) if isinstance(n, ex.Variable)]
    return prioritize_loops(kernel, sorted(loops, key=names.index))


def _group(kernel: Kernel, insn: Assignment) -> Iterator[tuple[LocalTag, int]]:
    """Yield the axes of the group that executes an instruction, and their sizes."""
    others = [o for o in kernel.assignments if insn.written in {*o.read_names, o.written}]
    inames = frozenset[str]().union(*(o.within_inames for o in others))
    for axis in range(3):
        tag = LocalTag(axis)
        counts = [
            _count(kernel, i) for i in kernel.inames if i in inames and kernel.tags.get(i) == tag
        ]
        known = [count for count in counts if count is not None]
        if known:
            yield tag, max(known)


def _count(kernel: Kernel, iname: str) -> int | None:
    """Return how many values an iname has at most, or None if that is not a constant."""
    values = domain_of(kernel, with_surrounding(kernel, (iname,)))
    bounds = constant_bounds(iname, values)
    return None if bounds is None or bounds.constant is None else len(bounds.constant)


# --- strides

_LARGE = 1024  # what an unknown extent is taken for


def _strides(kernel: Kernel, insn: Assignment, iname: str) -> tuple[float, float]:
    """Return how far apart two neighbouring values of `iname` load, and how far they store."""
    *loads, store = references(insn)
    distances = [_stride(kernel, r, iname) for r in loads if _is_global(kernel, r.name)]
    return min((d for d in distances if d), default=inf), _stride(kernel, store, iname) or inf


def _is_global(kernel: Kernel, name: str) -> bool:
    variable = kernel.variables.get(name)
    return isinstance(variable, GlobalArg) or (
        isinstance(variable, TemporaryVariable) and variable.address_space is AddressSpace.GLOBAL
    )


def _stride(kernel: Kernel, reference: Reference, iname: str) -> float:
    """Return the distance, in elements, of what is touched for neighbouring values of `iname`."""
    array = kernel.array(reference.name)
    declared = array.strides if isinstance(array, GlobalArg) else None
    total, stride = 0, 1
    for axis in reversed(range(len(reference.index))):
        if declared is not None:
            stride = _estimate(declared[axis])
        form = linear_form(reference.index[axis])
        total += stride * (0 if form is None else form.terms.get(iname, 0))
        stride *= _estimate((array.shape or ())[axis])
    return abs(total)


def _estimate(extent: ex.Expression) -> int:
    form = linear_form(extent)
    return _LARGE if form is None else form.evaluate(dict.fromkeys(form.names(), _LARGE))
