"""`polygen.split_complex_sum`."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polygen.analysis.typing.expression_types import reduction_types, type_of
from polygen.analysis.typing.inference import infer_types, kinds
from polygen.errors import NoSuchReduction, Reassociated
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import Domain
from polygen.ir.dtype import DType, to_dtype
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import name_of
from polygen.ir.revision import Revision
from polygen.ir.verify import excerpt
from polygen.language.kernel_assembly import check_made
from polygen.language.priorities import with_priority
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import InsnId, to_id, transformation
from polygen.transforms.rules.expand_subst import expand_subst

_PARTS = {"complex64": "float32", "complex128": "float64"}


@transformation
def split_complex_sum(kernel: Kernel, insn: InsnId) -> Rearranged:
    """Write a sum of products of complex numbers as a sum of products of their parts.

    Two more loops, of two iterations each, choose the part of the result and that of the second
    factor.  Real numbers may be in vectors; complex numbers may not.  Substitution rules are
    expanded.

    Kind: expression rewrite.

    Requires:
        1. The instruction assigns to one variable, and its expression has one sum, of products of
           two complex factors.
        2. The kernel permits reassociation: each part adds up twice as many products.

    Parameters:
        insn: the id of the instruction.  What assigns the result keeps it; the sum is in
            ``<id>_parts``.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [k]: 0<=k<n }", "s[0] = 2*sum(k, a[k]*b[k])  {id=dot}")
        >>> knl = pg.split_complex_sum(pg.add_dtypes(knl, {"a, b": "complex64"}), "dot")
        >>> for insn in knl.assignments:
        ...     print(*insn.assignees, "=", *insn.values)
        parts[part] = sum((k, by), (real(a[k]) if part == by else (imag(a[k]) if part == 1 else (-1)*imag(a[k])))*(real(b[k]) if by == 0 else imag(b[k])))
        s[0] = 2*(parts[0] + 1j*parts[1])

    Raises:
        UnknownInstruction: if the kernel has no such instruction.
        NoSuchReduction: if 1 does not hold.
        Reassociated: if 2 does not hold.
        TypeNotFound: if the type of a factor is not known.
    """  # noqa: E501  (what is printed is one line)
    insn = to_id(kernel, insn)
    kernel = expand_subst(kernel)
    new = _ComplexSum.of(kernel, insn).kernel_after()
    # That is what products of complex numbers mean; what is left to see is that it has one result.
    check_made(new)
    return Rearranged(new, restated=new)


@dataclass(frozen=True)
class _ComplexSum:
    """A sum of products of complex numbers.

    Attributes:
        kernel: the kernel.
        insn: the instruction.
        node: the sum.
        dtype: the type of the parts of the result.
    """

    kernel: Kernel
    insn: Assignment
    node: ex.Reduction
    dtype: DType

    @classmethod
    def of(cls, kernel: Kernel, insn_id: str) -> _ComplexSum:
        """Return the sum of an instruction.

        Raises:
            NoSuchReduction: if it has another one.
            Reassociated: if numbers may not be added up in another order.
        """
        insn = kernel.instructions_by_id[insn_id]
        nodes = dict.fromkeys(insn.reductions)
        node = next(iter(nodes), None)
        if (
            not isinstance(insn, Assignment)
            or node is None
            or len(nodes) > 1
            or name_of(node.operation) != "sum"
            or not isinstance(node.operand, ex.Product)
            or len(node.operand.children) != 2
        ):
            raise _refused(kernel, insn_id, "has not one sum of products of two factors")
        known = kinds(infer_types(kernel, complete=False))
        (dtype,) = reduction_types(node, known)
        if dtype.name not in _PARTS or any(
            str(type_of(factor, known)) not in _PARTS for factor in node.operand.children
        ):
            raise _refused(kernel, insn_id, "has factors that are not complex numbers")
        if not kernel.options.allow_reassociation:
            raise Reassociated(
                f"split_complex_sum would round the sum of '{insn_id}' otherwise, which kernel "
                f"'{kernel.name}' does not permit (allow_reassociation is False)",
                where=caller_location(),
                excerpt=excerpt(kernel, insn_id),
                remedy="permit it: set_options(kernel, allow_reassociation=True)",
            )
        return cls(kernel, insn, node, to_dtype(_PARTS[dtype.name]))

    def kernel_after(self) -> Kernel:
        """Return the kernel with a sum of products of parts."""
        revision, insn, node = Revision(self.kernel), self.insn, self.node
        parts = revision.temporary("parts", self.dtype, (2,))
        part, by = (revision.name(like) for like in ("part", "by"))
        new = [Domain(isl.Set(f"{{ [{name}] : 0 <= {name} <= 1 }}")) for name in (part, by)]
        assert isinstance(node.operand, ex.Product)
        value = ex.Reduction(
            node.operation, (*node.inames, by), _product_of_parts(node.operand, part, by)
        )
        stage = revision.stage(
            insn,
            "parts",
            [ex.Subscript(parts, ex.Variable(part))],
            [value],
            within_inames=insn.within_inames | {part},
            happens_after=insn.happens_after,
            tags=insn.tags,
        )
        first, second = (ex.Subscript(parts, number) for number in (0, 1))
        whole = ex.Sum((first, ex.Product((1j, second))))
        last = insn.map_expressions(lambda e: walk.rewrite(e, lambda x: whole if x == node else x))
        last = last.copy(depends_on=insn.depends_on | {stage.id})
        revision.domains = (*revision.domains, *new)
        kernel = revision.with_stages({insn.id: [stage, last]})
        return with_priority(kernel, (part, *node.inames, by))


def _product_of_parts(product: ex.Product, part: str, by: str) -> Expression:
    """Return the product of a part of each factor that goes into a part of the result."""
    left, right = product.children
    first, second = ex.Variable(part), ex.Variable(by)
    imaginary = _call("imag", left)
    crossed = ex.If(ex.Comparison(first, "==", 1), imaginary, ex.Product((-1, imaginary)))
    of_left = ex.If(ex.Comparison(first, "==", second), _call("real", left), crossed)
    of_right = ex.If(ex.Comparison(second, "==", 0), _call("real", right), _call("imag", right))
    return ex.Product((of_left, of_right))


def _call(function: str, argument: Expression) -> ex.Call:
    return ex.Call(ex.Variable(function), (argument,))


def _refused(kernel: Kernel, insn_id: str, why: str) -> NoSuchReduction:
    return NoSuchReduction(
        f"split_complex_sum: '{insn_id}' {why}",
        where=caller_location(),
        excerpt=excerpt(kernel, insn_id),
        remedy="s[i] = sum(k, a[i,k]*b[k]), of complex64 or complex128",
    )
