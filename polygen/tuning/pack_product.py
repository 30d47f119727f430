"""`polygen.pack_product`."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from pathlib import Path

from polygen.analysis.access.strides import Address
from polygen.analysis.integers.integer_parameters import integer_parameters
from polygen.analysis.typing.expression_types import reduction_types, type_of
from polygen.analysis.typing.inference import infer_types, kinds
from polygen.errors import NoSuchReduction, NotAProduct
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.dtype import DType, to_dtype
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.ir.layout import has_vectors
from polygen.ir.public import public
from polygen.ir.reduction import name_of
from polygen.ir.verify import excerpt
from polygen.language.within import one_id
from polygen.source import caller_location
from polygen.transforms.reductions.pair_factors import pair_factors
from polygen.transforms.reductions.split_complex_sum import split_complex_sum
from polygen.tuning.blocked_sums import extent_of
from polygen.tuning.packed_tiles import Blocks, Product, packed

_FEW = 4  # products that each iteration of a sum adds up
_USUAL, _LARGE = 32, 64  # bytes of vectors: with AVX2, with AVX-512


@public
def pack_product(kernel: Kernel, insn: str, *, vector_bytes: int | None = None) -> Kernel:
    """Multiply matrices on a processor as libraries do: tiles in registers, operands packed.

    For ``c[i,j] = sum(k, a[i,k]*b[k,j])``: a thread takes a block of rows and columns of ``c``, and
    a block of ``k`` after the other.  It copies what it needs of ``a`` and ``b`` to arrays of its
    own, in the order in which they are used, filled up with zeros to whole tiles; for each tile of
    a few rows and some vectors of columns, the sums stay in registers.  Sizes may be any, symbolic
    or numbers; ``a`` and ``b`` may lie in memory in any order, and what is done with the sum is
    free (``alpha*sum(...) + beta*c[i,j]``).  Of a triangle (``j <= i``), a band, or any other set
    of elements, tiles that have one are computed as a whole, and no others (`pad_tiles`).

    All these are ordinary steps, proved one by one, and in the kernel's history.

    Parameters:
        kernel: the kernel; the types of its inputs are known.
        insn: the instruction, an assignment to one element for each row and column.
        vector_bytes: how large vectors are; those of this machine if not given: 64 with AVX-512,
            else 32.

    Raises:
        UnknownInstruction, NothingMatches: if the kernel has no such instruction.
        NotAProduct: if it does not have one sum of products of two factors, one of which depends on
            one loop around, the other one on another, and both on the loop of the sum; if there is
            a condition on it; or if the factors and the sum are not of one type, which is complex
            or one that vectors may have.
        TypeNotFound: if the type of an input is not known.
        Reassociated, NotTheSame: if the kernel does not permit that sums are reordered.
        NotPaddable: if one of the loops over rows and columns ends with others of its domain that
            are none of these, or at several places.

    >>> import polygen as pg
    >>> knl = pg.make_kernel(
    ...     "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<l }", "c[i,j] = sum(k, a[k,i]*b[k,j])  {id=c}"
    ... )
    >>> knl = pg.pack_product(pg.add_dtypes(knl, {"a, b": "float64"}), "c", vector_bytes=64)
    >>> [(t.name, t.shape[-1]) for t in knl.temporaries if "left" in t.name or "right" in t.name]
    [('left_0', 12), ('right_0', 16)]

    Source: Goto, van de Geijn, Anatomy of high-performance matrix multiplication, TOMS 2008; Van
    Zee, van de Geijn, BLIS, TOMS 2015.
    """
    insn = one_id(kernel, insn)
    kernel = with_pairs(kernel, insn)
    product, dtype = _product(kernel, insn)
    size = vector_bytes or kernel_vector_bytes(kernel)
    if dtype.kind != "c":
        terms = prod(extent_of(kernel, iname) or 1 for iname in product.by)
        return packed(kernel, product, Blocks.of(dtype, size, terms=terms))
    new = split_complex_sum(kernel, insn)
    (sums,) = new.instructions_by_id.keys() - kernel.instructions_by_id
    (node,) = new.instruction(sums).reductions
    (part,) = new.instruction(sums).within_inames - kernel.instruction(insn).within_inames
    product = replace(product, sums=sums, part=part, by=(*product.by, node.inames[-1]))
    part_type = to_dtype(f"float{4 * dtype.itemsize}")
    return packed(new, product, Blocks.of(part_type, size, parts=2))


def with_pairs(kernel: Kernel, insn_id: str) -> Kernel:
    """Return the kernel with two factors in each product of a sum, if they can be had so.

    Parameters:
        kernel: the kernel.
        insn_id: the instruction with the sum.

    Raises:
        Reassociated: if the kernel does not permit another order of factors.
    """
    insn = kernel.expanded.instruction(insn_id)
    nodes = dict.fromkeys(insn.reductions)
    if len(nodes) != 1:
        return kernel
    (node,) = nodes
    if not isinstance(node.operand, ex.Product | ex.Sum) or _has_two(node.operand):
        return kernel
    accesses = [walk.free_variables(a) & insn.within_inames for a in walk.accesses(node.operand)]
    rows = next((sorted(loops) for loops in accesses if loops), None)
    if rows is None:
        return kernel
    try:
        return pair_factors(kernel, insn_id, rows)
    except NoSuchReduction:
        return kernel


def _is_short(kernel: Kernel, iname: str) -> bool:
    """Tell whether a loop of a sum is one over a few terms, which are written out."""
    extent = extent_of(kernel, iname)
    return extent is not None and extent <= _FEW


def _has_two(operand: ex.Expression) -> bool:
    return isinstance(operand, ex.Product) and len(operand.children) == 2


def machine_vector_bytes() -> int:
    """Return how large this machine's vectors are."""
    described = Path("/proc/cpuinfo")
    has_large = described.exists() and "avx512f" in described.read_text(encoding="utf-8")
    return _LARGE if has_large else _USUAL


def kernel_vector_bytes(kernel: Kernel) -> int:
    """Return how large vectors of a kernel's code are: AVX-512 comes with fused operations.

    Code without them is compiled without AVX-512, too (`targets/texts/c.h`).
    """
    return machine_vector_bytes() if kernel.options.contract == "fast" else _USUAL


def _product(kernel: Kernel, insn_id: str) -> tuple[Product, DType]:
    """Return the loops of a product, and the type of its elements.

    Raises:
        NotAProduct: if it is none.
    """

    def refused(why: str) -> NotAProduct:
        return NotAProduct(
            f"pack_product: '{insn_id}' {why}",
            where=caller_location(),
            excerpt=excerpt(kernel, insn_id),
            remedy="c[i,j] = sum(k, a[i,k]*b[k,j]); order_sums takes all sums",
        )

    insn = kernel.expanded.instruction(insn_id)
    nodes = dict.fromkeys(insn.reductions)
    if not isinstance(insn, Assignment) or len(nodes) != 1:
        raise refused("has not one sum")
    (node,) = nodes
    if insn.predicates or any(
        isinstance(part, ex.If) and walk.reductions(part)
        for part in walk.subexpressions(insn.expression)
    ):
        raise refused("has a condition on its sum")
    depth, *terms = node.inames
    if name_of(node.operation) != "sum" or any(not _is_short(kernel, i) for i in terms):
        raise refused("has no sum over one iname")
    factors = node.operand.children if isinstance(node.operand, ex.Product) else ()
    if len(factors) != 2:
        raise refused("adds up something else than products of two factors")
    around = [walk.free_variables(f) & insn.within_inames for f in factors]
    if not all(depth in walk.free_variables(f) for f in factors) or not all(
        len(inames) == 1 for inames in around
    ):
        raise refused(
            f"has factors that do not both depend on '{depth}', and each on one loop around"
        )
    (first,), (second,) = around
    if first == second or insn.within_inames != frozenset((first, second)):
        raise refused("is not within the loops of rows and columns alone")
    if any(kernel.tags.get(iname) for iname in (first, second, depth)):
        raise refused("is in loops that are tagged")
    known = kinds(infer_types(kernel, complete=False))
    (dtype,) = reduction_types(node, known)
    if any(type_of(f, known) != dtype for f in factors) or not (
        has_vectors(dtype) or dtype.kind == "c"
    ):
        raise refused("has factors and a sum that are not of one type, which vectors may have")
    columns = second if _stride(kernel, insn.assignee, second) == 1 else first
    rows = first if columns == second else second
    is_swapped = rows == second
    left = factors[is_swapped]
    strides = [_stride(kernel, access, rows) for access in walk.accesses(left)]
    is_transposed = 1 in strides
    by = tuple(terms)
    return Product(insn_id, rows, columns, depth, is_swapped, is_transposed, insn_id, by=by), dtype


def _stride(kernel: Kernel, node: ex.Expression, iname: str) -> ex.Expression | None:
    """Return how far apart neighbours along an iname are in an array; None if it is unknown."""
    if not isinstance(node, ex.Subscript) or iname not in walk.free_variables(node):
        return None
    names = {*kernel.inames, *integer_parameters(kernel)}
    return Address(kernel.array(ex.name_of(node)), ex.index_tuple(node), names).stride(iname)
