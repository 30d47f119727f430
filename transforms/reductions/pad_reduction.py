"""`polygen.pad_reduction`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.integers.isl_affine import set_condition
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.typing.expression_types import reduction_types
from polygen.analysis.typing.inference import infer_types, kinds
from polygen.errors import NotPaddable
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import Domain, project_out, unflatten
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import identity_of, name_of
from polygen.language.kernel_assembly import check_made
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Iname, Inames, to_names, transformation
from polygen.transforms.rules.expand_subst import expand_subst


@transformation
def pad_reduction(kernel: Kernel, iname: Iname, inames: Inames) -> Rearranged:
    r"""Let the bounds of a reduction not depend on some loops around.

    It runs over all values that it has for any of these, with the operation's identity for those
    that are not there.  So several reductions whose bounds differ a little, those of the rows of a
    triangle, say, can be one loop.  Substitution rules are expanded.

    Kind: order and storage.

    Requires:
        1. What is in the iname's loop are sums alone, or reductions by ``product``, each over one
           operand.
        2. The loop still ends: its values have bounds without the inames.

    Parameters:
        iname: the iname that is reduced over.
        inames: those that its bounds shall not mention: ``"i"``, ``"i, j"``, or a sequence.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     ["{ [i]: 0<=i<n }", "{ [k]: i<=k<n }"], "c[i] = sum(k, a[k,i]*b[k])", name="rows"
        ... )
        >>> knl = pg.split_iname(pg.add_dtypes(knl, {"a, b": "float32"}), "i", 4)
        >>> knl = pg.pad_reduction(knl, "k", "i_inner")
        >>> print(knl.home_domains["k"])
        [n, i_outer] -> { [k] : 4i_outer <= k < n }
        >>> print(knl.instruction("insn").expression)
        sum(k, a[k, 4*i_outer + i_inner]*b[k] if 4*i_outer + i_inner <= k else 0)

    Raises:
        UnknownIname: if the kernel has no such iname.
        NotPaddable: if 1 or 2 does not hold.

    Source: padding of tiles, as in libraries of matrix products.
    """
    kernel = expand_subst(kernel)
    names = frozenset(to_names(inames))
    if names.isdisjoint((*kernel.home_domains[iname].parameters, *_beside(kernel, iname))):
        return Rearranged(kernel)
    kernel = _apart(kernel, iname)
    home = kernel.home_domains[iname]
    padded = _padded(kernel, home, names)
    _check_uses(kernel, home)
    around = with_surrounding(kernel, home.inames)
    known = domain_of(kernel, around - frozenset(home.inames)).intersect(known_parameters(kernel))
    missing = home.flat.gist(padded.flat.intersect(known))
    there = set_condition(missing)
    new = kernel.copy(
        domains=tuple([padded if d is home else d for d in kernel.domains]),
        instructions=tuple(
            [_with_identity(kernel, insn, home.inames, there) for insn in kernel.instructions]
        ),
    )
    check_made(new)
    # Identities change nothing, wherever they stand among what is reduced.
    return Rearranged(new, restated=new)


def _beside(kernel: Kernel, iname: str) -> tuple[str, ...]:
    """Return the other inames of a domain."""
    return tuple([other for other in kernel.home_domains[iname].inames if other != iname])


def _apart(kernel: Kernel, iname: str) -> Kernel:
    """Return the kernel with a domain for an iname alone, whose bounds mention the others."""
    others = _beside(kernel, iname)
    if not others:
        return kernel
    home = kernel.home_domains[iname]
    rest = Domain(unflatten(project_out(home.flat, [iname]), others))
    own = Domain(unflatten(home.flat.gist(rest.flat), [iname]).drop_unused_params())
    domains = [new for d in kernel.domains for new in ((rest, own) if d is home else (d,))]
    return kernel.copy(domains=tuple(domains))


def _padded(kernel: Kernel, home: Domain, names: frozenset[str]) -> Domain:
    """Return a domain with the values that it has for any values of some names."""
    around = with_surrounding(kernel, home.inames)
    points = domain_of(kernel, around | names)
    others = [i for i in kernel.inames if i in names or i not in {*home.parameters, *home.inames}]
    values = project_out(points, others).coalesce()
    outside = domain_of(kernel, around.difference(home.inames, names))
    flat = values.simple_hull().remove_divs().to_set().gist(outside)
    if not unflatten(flat, home.inames).is_bounded():
        raise _refusal(home, f"without {', '.join(sorted(names))} it has no bounds")
    return Domain(unflatten(flat, home.inames).drop_unused_params())


def _check_uses(kernel: Kernel, home: Domain) -> None:
    """Check that reductions alone are in the loops of a domain, and that they have an identity."""
    own = frozenset(home.inames)
    for insn in kernel.instructions:
        if not own.isdisjoint(insn.within_inames):
            raise _refusal(home, f"'{insn.id}' is in its loop, and no reduction of it")
        for node in insn.reductions:
            if not own.isdisjoint(node.inames) and name_of(node.operation) not in _SIMPLE:
                raise _refusal(home, f"'{insn.id}' reduces by {name_of(node.operation)}")
    if any(not own.isdisjoint(domain.parameters) for domain in kernel.domains):
        raise _refusal(home, "other loops end with it")


_SIMPLE = frozenset(("sum", "product"))


def _with_identity(
    kernel: Kernel, insn: Instruction, inames: Sequence[str], there: Expression
) -> Instruction:
    """Return an instruction whose reductions have the identity for values that are added."""
    if insn.reduction_inames.isdisjoint(inames) or there is True:
        return insn
    known = kinds(infer_types(kernel, complete=False))

    def padded(node: Expression) -> Expression:
        if not isinstance(node, ex.Reduction) or set(node.inames).isdisjoint(inames):
            return node
        (identity,) = identity_of(node.operation, reduction_types(node, known))
        return replace(node, operand=ex.If(there, node.operand, identity))

    return insn.map_expressions(lambda e: walk.rewrite(e, padded))


def _refusal(home: Domain, why: str) -> NotPaddable:
    return NotPaddable(
        f"the reduction over '{home.inames[0]}' cannot have further values: {why}",
        where=caller_location(),
        excerpt=home.text,
        remedy="s[i] = sum(k, ...), whose bounds depend on i",
    )
