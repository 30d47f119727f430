"""Comments in a kernel's text on sums in which many numbers are added up in a row."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import islpy as isl

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.tags import ForTag

_MANY = 1 << 16  # numbers: as many roundings may be half a percent of a sum in 32 bits
_FEW_BITS = {("f", 2), ("f", 4), ("c", 8)}  # kinds and sizes of what is added up in 32 bits


def show_long_sums(kernel: Kernel, insn: Instruction) -> Iterator[str]:
    """Yield comments on the sums of an instruction that are known to lose digits.

    Nothing is told of sums whose length sizes decide.
    """
    for node in dict.fromkeys(insn.reductions):
        if str(node.operation) != "sum" or not _in_few_bits(kernel, node.operand):
            continue
        count = prod(_count(kernel, iname) for iname in node.inames)
        if count >= _MANY:
            inames = ", ".join(node.inames)
            yield (
                f"# sum over {inames}: {count} numbers of 32 bits, one after the other, lose "
                "digits; optimize_reductions adds up blocks"
            )


def _in_few_bits(kernel: Kernel, operand: ex.Expression) -> bool:
    read = [n for n in walk.subexpressions(operand) if isinstance(n, ex.Subscript)]
    arrays = [kernel.variables.get(ex.name_of(node)) for node in read]
    dtypes = [getattr(array, "dtype", None) for array in arrays]
    return bool(dtypes) and all(
        dtype is not None and (dtype.kind, dtype.itemsize) in _FEW_BITS for dtype in dtypes
    )


def _count(kernel: Kernel, iname: str) -> int:
    """Return how many values an iname has in a row; 1 if that is not a number."""
    home = kernel.home_domains.get(iname)
    if home is None or kernel.tags.get(iname, ForTag()) != ForTag():
        return 1
    place = home.set.find_dim_by_name(isl.dim_type.set, iname)
    ends = [home.set.dim_min_val(place), home.set.dim_max_val(place)]
    if not all(end.is_int() for end in ends):
        return 1
    return int(ends[1].to_python() - ends[0].to_python()) + 1
