"""In which order loops are to be nested so that the innermost one walks through memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from polygen.analysis.access.accesses import Reference, references
from polygen.analysis.access.strides import Address
from polygen.analysis.integers.integer_parameters import integer_parameters
from polygen.ir import walk
from polygen.ir.array import AddressSpace, GlobalArg, TemporaryVariable
from polygen.ir.empty import NO_NAMES
from polygen.ir.kernel import Kernel
from polygen.transforms.loops.size_estimates import (
    likely,
    likely_extent,
    likely_instances,
    likely_sizes,
)

_Strides: TypeAlias = dict[str, float]


def along_memory(
    kernel: Kernel, insn_id: str, inames: Sequence[str]
) -> tuple[tuple[str, ...], ...]:
    """Return inames in the order in which their loops are to be nested, outermost first, in runs.

    The order is that of the strides of the array of which the instruction reads most, the largest
    first.  Inames that make no difference there come outside of it, by the strides of the next
    array, so that the first is walked through as a whole each time; then those of what is written
    count.  The loops of a run walk through that array without a gap.

    Parameters:
        kernel: the kernel.
        insn_id: the instruction.
        inames: some that it is within, or reduces over.
    """
    walks = _walks(kernel, insn_id, inames)
    order = sorted(inames, key=lambda iname: tuple([-strides[iname] for strides in walks]))
    runs: list[tuple[str, ...]] = []
    for iname in order:
        if runs and walks and _follows(walks[0], runs[-1][-1], iname, likely_extent(kernel, iname)):
            runs[-1] = (*runs[-1], iname)
        else:
            runs.append((iname,))
    return tuple(runs)


def _follows(strides: _Strides, outer: str, inner: str, extent: float) -> bool:
    return strides[inner] < float("inf") and strides[outer] == extent * strides[inner]


def _walks(kernel: Kernel, insn_id: str, inames: Sequence[str]) -> list[_Strides]:
    """Return the strides of what an instruction reads and writes in memory, most important first.

    A stride is infinite where there is none: along inames that make no difference, or where data
    decides.
    """
    insn = kernel.expanded.instruction(insn_id)
    touched = [r for r in references(insn) if _is_in_memory(kernel, r)]

    def weight(reference: Reference) -> tuple[bool, int]:
        return reference.is_write, -likely_instances(kernel, _mentioned(kernel, reference))

    return [likely_strides(kernel, r, inames) for r in sorted(touched, key=weight)]


def _is_in_memory(kernel: Kernel, reference: Reference) -> bool:
    array = kernel.variables.get(reference.name)
    if not isinstance(array, GlobalArg | TemporaryVariable):
        return False
    if len(reference.index) != len(array.shape or ()):  # verbatim code touches it somewhere
        return False
    return kernel.address_space(reference.name) is not AddressSpace.PRIVATE


def _mentioned(kernel: Kernel, reference: Reference) -> Iterator[str]:
    names = NO_NAMES.union(*map(walk.free_variables, reference.index))
    return (i for i in kernel.inames if i in names)


def likely_strides(kernel: Kernel, reference: Reference, inames: Sequence[str]) -> _Strides:
    """Return how far apart neighbours along inames are likely to be, in elements.

    It is infinite along inames that make no difference, or where data decides.
    """
    array = kernel.array(reference.name)
    address = Address(array, reference.index, reference.inames | integer_parameters(kernel))
    strides = {iname: address.stride(iname) for iname in inames}
    sizes = likely_sizes(kernel)
    likely_ones = {i: 0 if s is None else abs(likely(s, sizes)) for i, s in strides.items()}
    return {iname: stride or float("inf") for iname, stride in likely_ones.items()}
