"""`polygen.pair_factors`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import islpy as isl

from polygen.analysis.typing.expression_types import type_of
from polygen.analysis.typing.inference import infer_types, kinds
from polygen.errors import NoSuchReduction, Reassociated
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import Domain
from polygen.ir.dtype import to_dtype
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import name_of
from polygen.ir.revision import Revision
from polygen.ir.verify import excerpt
from polygen.language.kernel_assembly import check_made
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Inames, InsnId, to_id, to_names, transformation
from polygen.transforms.rules.expand_subst import expand_subst


@transformation
def pair_factors(kernel: Kernel, insn: InsnId, inames: Inames) -> Rearranged:
    r"""Write a sum of products of several factors as a sum of products of two.

    The first factor has all that depends on some loops, the second one has what depends on others.
    What depends on no loop around goes where it stands: to its neighbours.  Of several products,
    each is what one iteration of a further loop adds.  So products of matrices in any form are in
    the form that libraries have.  Substitution rules are expanded.

    Kind: expression rewrite: results are the same but for rounding.

    Requires:
        1. The instruction assigns to one variable, and its expression has one sum, of a product or
           of several, each with factors that depend on the inames and others that do not; no
           factor depends on these and on other loops around.
        2. Factors that are no numbers are of floating-point or complex types, which are known.
        3. The kernel permits reassociation (`set_options`), unless there is one product of two.

    Parameters:
        insn: the id of the instruction.
        inames: the loops of the first factor: ``"i"``, ``"i, j"``, or a sequence.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j,k]: 0<=i,j<n and 0<=k<m }",
        ...     "c[i,j] = c[i,j] + sum(k, x*a[i,k]*b[j,k] + b[i,k]*a[j,k]*x)  {id=c}",
        ... )
        >>> knl = pg.pair_factors(pg.add_dtypes(knl, {"a, b, x": "float64"}), "c", "i")
        >>> for factor in knl.instruction("c").reductions[0].operand.children:
        ...     print(factor)
        x*a[i, k] if term == 0 else b[i, k]
        b[j, k] if term == 0 else a[j, k]*x

    Raises:
        UnknownInstruction, UnknownIname: if the kernel has no such instruction or iname.
        NoSuchReduction: if 1 or 2 does not hold.
        Reassociated: if 3 does not hold.
        TypeNotFound: if the type of a factor is not known.

    Source: bilinear forms, as in the specification of the BLAS, level 3 (syr2k, say).
    """
    insn = to_id(kernel, insn)
    kernel = expand_subst(kernel)
    found, node = _sum(kernel, insn)
    pairs = [_pair(kernel, found, term, to_names(inames)) for term in _terms(node.operand)]
    if len(pairs) == 1 and node.operand == ex.product_of(*pairs[0]):
        return Rearranged(kernel)
    _check_permitted(kernel, insn)
    new = _rewritten(kernel, found, node, pairs)
    # Each term is one of those that were added up, with its factors in another order.
    check_made(new)
    return Rearranged(new, restated=new)


def _sum(kernel: Kernel, insn_id: str) -> tuple[Assignment, ex.Reduction]:
    """Return an instruction with its sum."""
    insn = kernel.instruction(insn_id)
    nodes = list(dict.fromkeys(insn.reductions))
    if not isinstance(insn, Assignment) or len(nodes) != 1 or name_of(nodes[0].operation) != "sum":
        raise _refused(kernel, insn_id, "has not one sum")
    if walk.reductions(nodes[0].operand):
        raise _refused(kernel, insn_id, "has a sum in its sum")
    return insn, nodes[0]


def _terms(operand: Expression) -> list[Expression]:
    """Return what is added up in each iteration."""
    if not isinstance(operand, ex.Sum):
        return [operand]
    return [term for part in operand.children for term in _terms(part)]


def _factors(term: Expression) -> list[Expression]:
    """Return what is multiplied."""
    if not isinstance(term, ex.Product):
        return [term]
    return [factor for part in term.children for factor in _factors(part)]


def _pair(
    kernel: Kernel, insn: Assignment, term: Expression, inames: Sequence[str]
) -> tuple[Expression, Expression]:
    """Return the two factors of a term."""
    factors = _factors(term)
    others = insn.within_inames.difference(inames)
    sides = [_side(factor, frozenset(inames), others) for factor in factors]
    if None in sides:
        raise _refused(kernel, insn.id, "has a factor that depends on loops of both factors")
    _check_types(kernel, insn.id, factors)
    first: list[Expression] = []
    second: list[Expression] = []
    near = next((side for side in sides if side), 0)  # neutral ones go with their neighbours
    for factor, side in zip(factors, sides, strict=True):
        near = side or near
        (first if near == 1 else second).append(factor)
    if not first or not second:
        raise _refused(kernel, insn.id, "has a term without one of the two factors")
    return _product(first), _product(second)


def _side(factor: Expression, own: frozenset[str], others: frozenset[str]) -> int | None:
    """Return to which side a factor belongs, 0 if to any; None if to both."""
    used = walk.free_variables(factor)
    is_first, is_second = not used.isdisjoint(own), not used.isdisjoint(others)
    return None if is_first and is_second else 1 if is_first else 2 if is_second else 0


def _product(factors: Sequence[Expression]) -> Expression:
    return factors[0] if len(factors) == 1 else ex.product_of(*factors)


def _check_types(kernel: Kernel, insn_id: str, factors: Sequence[Expression]) -> None:
    """Check that the order in which factors are multiplied is a matter of rounding."""
    known = kinds(infer_types(kernel, complete=False))
    for factor in factors:
        if isinstance(factor, int | float | complex):
            continue
        dtype = to_dtype(type_of(factor, known))
        if dtype.kind not in "fc":
            raise _refused(kernel, insn_id, f"has a factor of type {dtype}")


def _check_permitted(kernel: Kernel, insn_id: str) -> None:
    if not kernel.options.allow_reassociation:
        raise Reassociated(
            f"pair_factors would round the sum of '{insn_id}' otherwise, which kernel "
            f"'{kernel.name}' does not permit (allow_reassociation is False)",
            where=caller_location(),
            excerpt=excerpt(kernel, insn_id),
            remedy="permit it: set_options(kernel, allow_reassociation=True)",
        )


def _rewritten(
    kernel: Kernel,
    insn: Assignment,
    node: ex.Reduction,
    pairs: Sequence[tuple[Expression, Expression]],
) -> Kernel:
    """Return the kernel with a sum of products of two factors."""
    if len(pairs) == 1:
        new = replace(node, operand=ex.product_of(*pairs[0]))
        return _with(kernel, insn, node, new)
    revision = Revision(kernel)
    term = revision.name("term")
    chosen = tuple([_chosen(term, [pair[side] for pair in pairs]) for side in (0, 1)])
    new = replace(node, inames=(*node.inames, term), operand=ex.product_of(*chosen))
    domain = Domain(isl.Set(f"{{ [{term}] : 0 <= {term} < {len(pairs)} }}"))
    return _with(kernel.copy(domains=(*kernel.domains, domain)), insn, node, new)


def _chosen(term: str, values: Sequence[Expression]) -> Expression:
    """Return the value for each iteration of the loop over terms."""
    if len(set(map(str, values))) == 1:
        return values[0]
    found = values[-1]
    for number in reversed(range(len(values) - 1)):
        found = ex.If(ex.Comparison(ex.Variable(term), "==", number), values[number], found)
    return found


def _with(kernel: Kernel, insn: Assignment, old: ex.Reduction, new: ex.Reduction) -> Kernel:
    made = insn.map_expressions(lambda e: walk.rewrite(e, lambda x: new if x == old else x))
    return kernel.copy(
        instructions=tuple([made if i.id == insn.id else i for i in kernel.instructions])
    )


def _refused(kernel: Kernel, insn_id: str, why: str) -> NoSuchReduction:
    return NoSuchReduction(
        f"pair_factors: '{insn_id}' {why}",
        where=caller_location(),
        excerpt=excerpt(kernel, insn_id),
        remedy="c[i,j] = sum(k, x*a[i,k]*b[j,k]), whose types are known",
    )
