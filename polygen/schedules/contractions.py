"""Recognises contractions: sums of products of two factors, one for rows, the other for columns.

    c[e,i,j] = alpha*sum(k, f(a[e,i,k])*b[k,j]) + beta*c[e,i,j]

One factor varies with ``i`` and ``k``, the other one with ``j`` and ``k``; loops that neither of
them has for its own, as ``e``, are those of a batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from polygen.analysis.access.strides import Address
from polygen.analysis.integers.integer_parameters import integer_parameters
from polygen.analysis.typing.expression_types import reduction_types, type_of
from polygen.analysis.typing.inference import infer_types, kinds
from polygen.errors import NotAProduct
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import Array
from polygen.ir.dtype import DType, is_short_float
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.ir.layout import has_vectors
from polygen.ir.reduction import name_of
from polygen.ir.substitution import expand
from polygen.ir.verify import excerpt
from polygen.schedules.nests import Extents
from polygen.schedules.parallel_loops import may_be_on_axes
from polygen.source import caller_location


@dataclass(frozen=True)
class Contraction:
    """A sum of products of two factors.

    Attributes:
        insn: the instruction.
        rows: the loop that the left factor alone depends on.
        columns: the loop that the right factor alone depends on.
        depth: the loop of the sum; of several, the longest.
        also: the other loops of the sum.
        batch: the other parallel loops around.
        steps: the other loops around, whose iterations need each other.
        is_swapped: whether the left factor stands second.
        dtype: the type of the factors and of the sum.
        factors: the type that the factors have in memory: of 16 bits, if both are elements of such
            arrays, which are computed with as float32; else that of the sum.
    """

    insn: str
    rows: str
    columns: str
    depth: str
    also: tuple[str, ...]
    batch: tuple[str, ...]
    steps: tuple[str, ...]
    is_swapped: bool
    dtype: DType
    factors: DType


def contraction_of(kernel: Kernel, insn_id: str, extents: Extents) -> Contraction:
    """Return what a contraction runs over.

    Parameters:
        kernel: the kernel; types are known.
        insn_id: the instruction.
        extents: of the loops.  Where several could be the rows, the longest one is.

    Raises:
        NotAProduct: if the instruction is none.
    """

    def refused(why: str) -> NotAProduct:
        return NotAProduct(
            f"'{insn_id}' {why}",
            where=caller_location(),
            excerpt=excerpt(kernel, insn_id),
            remedy="c[i,j] = sum(k, a[i,k]*b[k,j])",
        )

    insn = kernel.instruction(insn_id)
    nodes = dict.fromkeys(insn.reductions)
    if not isinstance(insn, Assignment) or len(nodes) != 1:
        raise refused("has not one sum")
    (node,) = nodes
    if insn.predicates or _is_chosen(insn.expression):
        raise refused("has a condition on its sum")
    if name_of(node.operation) != "sum":
        raise refused("has no sum")
    operand = expand(node.operand, kernel.rules)
    factors = operand.children if isinstance(operand, ex.Product) else ()
    if len(factors) != 2 or walk.reductions(operand):
        raise refused("adds up something else than products of two factors")
    used = [walk.free_variables(f) for f in factors]
    loops = insn.within_inames
    both = [iname for iname in node.inames if all(iname in names for names in used)]
    depth = _longest(both, extents)
    own = [_longest((a - b) & loops, extents) for a, b in ((used[0], used[1]), (used[1], used[0]))]
    if not all(own) or not depth:
        raise refused(
            f"has factors that do not both depend on '{node.inames[0]}', and each on a loop of its "
            "own"
        )
    if any(kernel.tags.get(iname) for iname in (*loops, *node.inames)):
        raise refused("is in loops that are tagged")
    known = kinds(infer_types(kernel, complete=False))
    (dtype,) = reduction_types(node, known)
    if any(type_of(f, known) != dtype for f in factors) or not has_vectors(dtype):
        raise refused("has factors and a sum that are not of one type, which vectors may have")
    is_swapped = _stride(kernel, insn.assignee, own[0]) == 1
    rows, columns = reversed(own) if is_swapped else own
    parallel = [i for i in _in_order(kernel, loops) if may_be_on_axes(kernel, i)]
    if rows not in parallel or columns not in parallel:
        raise refused(f"needs the iterations of '{rows}' and '{columns}' in an order")
    rest = [i for i in _in_order(kernel, loops) if i not in {rows, columns}]
    return Contraction(
        insn_id,
        rows,
        columns,
        depth,
        tuple([iname for iname in node.inames if iname != depth]),
        tuple([i for i in rest if i in parallel]),
        tuple([i for i in rest if i not in parallel]),
        is_swapped,
        dtype,
        _stored_type(kernel, factors) or dtype,
    )


def _stored_type(kernel: Kernel, factors: Sequence[Expression]) -> DType | None:
    """Return the type of 16 bits that all factors have in memory; None if they have none."""
    found: set[DType | None] = set()
    for factor in factors:
        node = factor
        if isinstance(node, ex.Call) and len(node.parameters) == 1:
            node = node.parameters[0]
        dtype = kernel.array(ex.name_of(node)).dtype if isinstance(node, ex.Subscript) else None
        found.add(dtype if dtype is not None and is_short_float(dtype) else None)
    return found.pop() if len(found) == 1 else None


def _is_chosen(value: Expression) -> bool:
    """Tell whether a condition decides if a sum is needed."""
    return any(
        isinstance(part, ex.If) and walk.reductions(part) for part in walk.subexpressions(value)
    )


def _longest(inames: Iterable[str], extents: Extents) -> str:
    return max(sorted(inames), key=extents.of, default="")


def _in_order(kernel: Kernel, inames: Iterable[str]) -> list[str]:
    named = frozenset(inames)
    return [iname for iname in kernel.inames if iname in named]


def _stride(kernel: Kernel, node: Expression, iname: str) -> Expression | None:
    """Return how far apart neighbours along an iname are in an array; None if it is unknown."""
    if not isinstance(node, ex.Subscript) or iname not in walk.free_variables(node):
        return None
    return stride_along(kernel, kernel.array(ex.name_of(node)), ex.index_tuple(node), iname)


def stride_along(
    kernel: Kernel, array: Array, index: tuple[Expression, ...], iname: str
) -> Expression | None:
    """Return how far apart neighbours along a name are in an array; None if it is unknown.

    Parameters:
        kernel: the kernel.
        array: the array.
        index: subscripts; names in them that are none of the kernel's count as inames.
        iname: an iname, or such a name.
    """
    mentioned = {name for part in index for name in walk.free_variables(part)}
    names = {*kernel.inames, *integer_parameters(kernel), *(mentioned - kernel.variables.keys())}
    return Address(array, index, names).stride(iname)
