"""`polygen.narrow_sum`."""

from __future__ import annotations

from math import prod

import numpy as np

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.integers.moving_box import tile_axis
from polygen.analysis.typing.expression_types import reduction_types, type_of
from polygen.analysis.typing.inference import infer_types, kinds
from polygen.errors import NoSuchReduction
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import project_out, unflatten
from polygen.ir.dtype import DType, integer_limits, is_integer
from polygen.ir.kernel import Kernel
from polygen.ir.operation import Special
from polygen.ir.reduction import name_of
from polygen.ir.substitution import expand
from polygen.ir.verify import excerpt
from polygen.language.kernel_assembly import check_made
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import InsnId, to_id, transformation

_NARROW = np.dtype(np.int32)
_WIDE = 8  # bytes of what sums of integers have where nothing else is said


@transformation
def narrow_sum(kernel: Kernel, insn: InsnId) -> Rearranged:
    """Add up small integers in 32 bits, where their number shows that no sum is too large.

    Sums of integers have 64 bits, as NumPy's.  In 32, vectors have twice as many lanes, and small
    integers take fewer steps to become as wide.  The result is converted, and so has the type that
    it had.

    Kind: expression rewrite.

    Requires:
        1. The instruction has one sum, of integers of 8 or 16 bits or of truth values, which is
           computed in 64.
        2. It has at most so many terms, by bounds that are numbers, that none of their sums is
           beyond 32 bits: 65535 of ``int16``, 16777215 of ``int8``.

    Parameters:
        insn: the id of the instruction.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [j]: 0<=j<4096 }", "s[0] = sum(j, a[j])  {id=s}")
        >>> knl = pg.narrow_sum(pg.add_dtypes(knl, {"a": "int8"}), "s")
        >>> print(knl.instruction("s").expression)
        int64(sum<int32>(j, a[j]))

    Raises:
        UnknownInstruction: if the kernel has no such instruction.
        NoSuchReduction: if 1 or 2 does not hold.
        TypeNotFound: if the type of what is added up is not known.
    """
    insn = to_id(kernel, insn)
    node, wide = _sum(kernel, insn)
    narrow = ex.Reduction(Special("sum", _NARROW), node.inames, node.operand)
    value = ex.Call(ex.Variable(wide.name), (narrow,))
    instruction = kernel.assignment(insn).map_expressions(
        lambda e: walk.rewrite(e, lambda part: value if part == node else part)
    )
    new = kernel.copy(
        instructions=tuple([instruction if i.id == insn else i for i in kernel.instructions])
    )
    # No sum of these terms is beyond 32 bits, however they are grouped: so both are exact.
    check_made(new)
    return Rearranged(new, restated=new)


def _sum(kernel: Kernel, insn_id: str) -> tuple[ex.Reduction, DType]:
    """Return the sum of an instruction, and its type.

    Raises:
        NoSuchReduction: if there is none, or it is not certain to fit.
    """
    insn = kernel.assignment(insn_id)

    def refused(why: str, remedy: str) -> NoSuchReduction:
        return NoSuchReduction(
            f"narrow_sum: '{insn_id}' {why}",
            where=caller_location(),
            excerpt=excerpt(kernel, insn_id),
            remedy=remedy,
        )

    nodes = set(insn.reductions)
    node = next(iter(nodes), None)
    if node is None or len(nodes) > 1 or name_of(node.operation) != "sum":
        raise refused("has not one sum, and nothing else that it reduces", "s[0] = sum(j, a[j])")
    operand = expand(node.operand, kernel.rules)
    known = kinds(infer_types(kernel, complete=False))
    plain = ex.Reduction(node.operation, node.inames, operand)
    (wide,), term = reduction_types(plain, known), type_of(operand, known)
    if not is_integer(wide) or wide.itemsize < _WIDE or not _is_small(term):
        raise refused("adds up no integers of 8 or 16 bits in 64", "leave it as it is")
    count = _terms(kernel, node)
    if count is None or count * _largest(np.dtype(term)) > integer_limits(_NARROW)[1]:
        raise refused(
            "may have more terms than 32 bits are enough for",
            "reduce in parts whose length is a number: reduce_in_parts",
        )
    return node, wide


def _is_small(term: object) -> bool:
    return isinstance(term, np.dtype) and term.kind in "biu" and term.itemsize < _NARROW.itemsize


def _largest(dtype: DType) -> int:
    """Return the magnitude of the largest number of a type."""
    return max(map(abs, integer_limits(dtype)))


def _terms(kernel: Kernel, node: ex.Reduction) -> int | None:
    """Return how many terms a sum has at most; None if that is no number."""
    extents: list[int] = []
    for iname in node.inames:
        around = with_surrounding(kernel, [iname])
        values = project_out(domain_of(kernel, around), around.intersection(node.inames) - {iname})
        axis = tile_axis(unflatten(values, (iname,)))
        if axis is None:
            return None
        extents.append(axis.extent)
    return prod(extents)
