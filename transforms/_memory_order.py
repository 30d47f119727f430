"""In which order loops are to be nested so that the innermost one walks through memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import islpy as isl

from polygen.analysis.access import Reference, references
from polygen.analysis.affine import linear_form
from polygen.analysis.domains import domain_of, with_surrounding
from polygen.analysis.integers import integer_parameters
from polygen.analysis.strides import Address
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, GlobalArg, TemporaryVariable
from polygen.ir.domain import unflatten
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel

_LIKELY = 1024  # what a size counts as of which nothing is known; only the order depends on it

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
        if runs and walks and _follows(walks[0], runs[-1][-1], iname, _extent(kernel, iname)):
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
    extents = {i: _extent(kernel, i) for r in touched for i in _mentioned(kernel, r)}

    def weight(reference: Reference) -> tuple[bool, float]:
        size = 1.0
        for iname in _mentioned(kernel, reference):
            size *= extents[iname]
        return reference.is_write, -size

    return [_strides(kernel, r, inames) for r in sorted(touched, key=weight)]


def _is_in_memory(kernel: Kernel, reference: Reference) -> bool:
    array = kernel.variables.get(reference.name)
    if not isinstance(array, GlobalArg | TemporaryVariable):
        return False
    return kernel.address_space(reference.name) is not AddressSpace.PRIVATE


def _mentioned(kernel: Kernel, reference: Reference) -> Iterator[str]:
    names = NO_NAMES.union(*map(walk.free_variables, reference.index))
    return (i for i in kernel.inames if i in names)


def _strides(kernel: Kernel, reference: Reference, inames: Sequence[str]) -> _Strides:
    array = kernel.array(reference.name)
    address = Address(array, reference.index, reference.inames | integer_parameters(kernel))
    return {iname: _size(address.stride(iname)) for iname in inames}


def _size(stride: Expression | None) -> float:
    """Return how large a stride is likely to be."""
    value = float("inf") if stride is None else abs(_likely(stride))
    return value or float("inf")


def _likely(node: Expression) -> float:
    """Return a polynomial in sizes where each size is one that is likely."""
    if isinstance(node, int):
        return node
    if isinstance(node, ex.Sum):
        return sum(map(_likely, node.children))
    if isinstance(node, ex.Product):
        value = 1.0
        for child in node.children:
            value *= _likely(child)
        return value
    form = linear_form(node)
    return _LIKELY if form is None else form.constant + _LIKELY * sum(form.terms.values())


def _extent(kernel: Kernel, iname: str) -> float:
    """Return how many values an iname is likely to have."""
    values = domain_of(kernel, with_surrounding(kernel, [iname])).intersect(kernel.assumptions.flat)
    axis = unflatten(values, [iname])
    if axis.is_empty():
        return 0.0
    spread = isl.Set.from_pw_aff(axis.dim_max(0).sub(axis.dim_min(0))).dim_max_val(0)
    return spread.to_python() + 1 if spread.is_int() else _LIKELY
