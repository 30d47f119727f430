"""Measures a reduction: how much it reads, and how it walks through memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import SupportsIndex

from polygen.analysis.access.accesses import Reference, references
from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.access.strides import Address
from polygen.analysis.typing.functions import conversion_type
from polygen.analysis.typing.index_type import index_type
from polygen.analysis.typing.inference import infer_types
from polygen.errors import NotCountable
from polygen.inspection.counts.count import count_of
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg, TemporaryVariable
from polygen.ir.domain import flat_names, project_out
from polygen.ir.dtype import to_dtype
from polygen.ir.empty import NO_NAMES
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import facts_of
from polygen.ir.remembered import by_parts
from polygen.tuning.time_steps import is_time_step

_FUNCTION, _DIVISION = 20, 8  # operations: those of `exp`, say, and of a quotient
_ROUNDING = 4  # to a half and back: units have few conversions at once
_SIMPLE = frozenset(("fabs", "abs", "fmin", "fmax", "min", "max"))


@dataclass(frozen=True)
class Work:
    """The work of one reduction, or of several that share their loops.

    Attributes:
        results: how many values there are of the inames around it.
        length: how many elements each result is made of, on the average.
        read: how many bytes are read from global memory, each element once.
        width: how many bytes of these each element of the reduction needs.
        along: whether neighbours in memory belong to one result (all- and x-reduce), not to
            neighbouring results (y-reduce).
        values: of how many values each result consists: two for `argmax`.
        operations: how many operations what is reduced takes, for each element.
    """

    results: int
    length: int
    read: int
    width: int
    along: bool
    values: int = 1
    operations: int = 0


def work_of(
    kernel: Kernel,
    insns: Sequence[Instruction],
    reduced: Sequence[str],
    sizes: Mapping[str, SupportsIndex],
) -> Work:
    """Return what there is to do.

    Parameters:
        kernel: the kernel, rules expanded.
        insns: instructions within the same inames.
        reduced: the inames that their reductions run over.
        sizes: the value of each size.

    Raises:
        MissingArgument: if a size is missing.
        NotCountable: if data decides how much there is to do.
    """
    around = insns[0].within_inames
    counted: dict[frozenset[str], int] = {}

    def count(inames: frozenset[str]) -> int:
        if inames not in counted:
            counted[inames] = points(kernel, inames, sizes)
        return counted[inames]

    everything = around.union(reduced)
    results = max(1, count(around)) if around else 1
    total = max(1, count(everything))
    read = {_what(r): r for insn in insns for r in references(insn) if _is_read(kernel, r)}
    typed = infer_types(kernel, index_type(kernel))
    moved = width = 0
    for reference in read.values():
        size = to_dtype(typed.array(reference.name).dtype).itemsize
        moved += size * count(_inames(reference, everything))
        width += size if not _inames(reference, everything).isdisjoint(reduced) else 0
    along = _is_along(kernel, list(read.values()), everything, reduced)
    values = max(facts_of(node.operation).width for insn in insns for node in insn.reductions)
    operations = sum(operations_in(node.operand) for insn in insns for node in insn.reductions)
    return Work(results, -(-total // results), moved, max(width, 1), along, values, operations)


def points(kernel: Kernel, inames: frozenset[str], sizes: Mapping[str, SupportsIndex]) -> int:
    """Return how many values inames have together, in one iteration of steps of time.

    Raises:
        MissingArgument: if a size is missing.
        NotCountable: if data decides.
    """
    inames = frozenset([i for i in inames if not is_time_step(kernel, i)])
    if not inames:
        return 1
    around = with_surrounding(kernel, inames)
    flat = project_out(domain_of(kernel, around), around - inames)
    data = set(flat_names(flat)).difference(kernel.parameters, inames)
    if data:
        raise NotCountable(
            f"iterations of kernel '{kernel.name}' cannot be counted: data decides '{min(data)}', "
            f"which bounds {', '.join(sorted(inames))}",
            where=kernel.location,
            remedy="share it by steps of your own",
        )
    values = frozenset((name, size.__index__()) for name, size in sizes.items())
    parts = (points, flat.to_str(), inames, values, kernel.assumptions)
    return by_parts(
        kernel, parts, lambda: count_of(kernel, flat, inames, "iterations").at(dict(values))
    )


def operations_in(operand: ex.Expression) -> int:
    """Return about how many operations an operand takes, in numbers of single width.

    Not those that find an element in memory.
    """
    found, pending = 0, [operand]
    while pending:
        node = pending.pop()
        if isinstance(node, ex.Subscript):
            continue
        pending += walk.parts(node)
        if isinstance(node, ex.Sum | ex.Product | ex.Min | ex.Max):
            found += sum(1 for child in node.children if child != -1) - 1  # signs cost nothing
        elif isinstance(node, ex.Comparison | ex.If):
            found += 1
        elif isinstance(node, ex.Quotient):
            found += _DIVISION
        elif isinstance(node, ex.Call):
            found += _of_call(ex.name_of(node.function))
    return found


def _of_call(name: str) -> int:
    """Return about how many operations a function takes."""
    dtype = conversion_type(name)
    if dtype is not None:
        return _ROUNDING if dtype.itemsize == 2 and dtype.kind == "f" else 1
    return 1 if name in _SIMPLE else _FUNCTION


def _what(reference: Reference) -> tuple[object, ...]:
    return reference.name, reference.index


def _is_read(kernel: Kernel, reference: Reference) -> bool:
    array = kernel.variables.get(reference.name)
    is_array = isinstance(array, GlobalArg | TemporaryVariable) and bool(reference.index)
    return is_array and not reference.is_write


def _inames(reference: Reference, inames: frozenset[str]) -> frozenset[str]:
    return inames & NO_NAMES.union(*map(walk.free_variables, reference.index))


def _is_along(
    kernel: Kernel, read: Sequence[Reference], inames: frozenset[str], reduced: Sequence[str]
) -> bool:
    """Tell whether the smallest stride of what is read most belongs to what is reduced."""
    votes = 0
    for reference in read:
        address = Address(
            kernel.array(reference.name), reference.index, (*inames, *kernel.parameters)
        )
        strides = {iname: address.stride_in_runs(iname) for iname in _inames(reference, inames)}
        near = [iname for iname, stride in strides.items() if stride in (1, -1)]
        votes += sum(1 if iname in reduced else -1 for iname in near)
    return votes >= 0
