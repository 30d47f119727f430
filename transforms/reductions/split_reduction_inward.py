"""`polygen.split_reduction_inward`."""

from __future__ import annotations

from collections.abc import Sequence

from polygen.analysis.access.domains import surrounding_inames
from polygen.analysis.dataflow.permitted_executions import why_none_is_permitted
from polygen.errors import InameNeeded, NoSuchReduction, ReductionNotNestable
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.verify import excerpt
from polygen.language.within import matching
from polygen.source import caller_location
from polygen.transformation import Inames, Within, to_names, transformation


@transformation
def split_reduction_inward(kernel: Kernel, inames: Inames, within: Within | None = None) -> Kernel:
    """Make a reduction two, of which the inner one runs over some of the inames.

    ``sum((i, j, k), x)`` becomes ``sum((j, k), sum(i, x))`` for ``inames="i"``.  Reductions that
    do not run over all of these inames, or over no other, are left as they are.

    Kind: order and storage.

    Requires:
        1. Some reduction runs over all of these inames, and over others.
        2. The bounds of what becomes the outer reduction do not mention the inner inames.
        3. Reductions that share loops can still do so: they are not nested against each other.
        4. The kernel permits reassociation (`set_options`), or what is added up is an integer, or
           a minimum or maximum.

    Parameters:
        inames: ``"i"``, ``"i, j"``, or a sequence.
        within: the instructions: an id, a pattern, or several of these; all if not given.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<4 }", "total[0] = sum((i,j), a[i,j])")
        >>> knl = pg.split_reduction_inward(knl, "j")
        >>> print(str(knl).splitlines()[-2])
        [] total[0] = sum(i, sum(j, a[i, j]))  {id=insn}

    Raises:
        UnknownIname, UnknownInstruction: if the kernel has no such iname or instruction.
        NoSuchReduction: if 1 does not hold.
        InameNeeded: if 2 does not hold.
        ReductionNotNestable: if 3 does not hold.
        Reassociated: if 4 does not hold.

    Source: Loo.py's transformation of this name.
    """
    return nested(kernel, to_names(inames), within, inward=True)


def nested(
    kernel: Kernel, inames: Sequence[str], within: str | Sequence[str] | None, *, inward: bool
) -> Kernel:
    """Return the kernel with reductions over all of `inames`, and over others, as two.

    Parameters:
        kernel: the kernel.
        inames: those of one of the two.
        within: the instructions.
        inward: whether it is the inner one.
    """
    chosen = frozenset(inames)

    def rule(node: Expression) -> Expression:
        if not isinstance(node, ex.Reduction) or not set() < chosen < frozenset(node.inames):
            return node
        some = tuple([i for i in node.inames if i in chosen])
        others = tuple([i for i in node.inames if i not in chosen])
        outer, inner = (others, some) if inward else (some, others)
        _check_bounds(kernel, outer, inner)
        inside = ex.Reduction(node.operation, inner, node.operand)
        return ex.Reduction(node.operation, outer, inside)

    ids = {insn.id for insn in matching(kernel, within)}
    new = kernel.copy(
        instructions=tuple(
            [
                i.map_expressions(lambda e: walk.rewrite(e, rule)) if i.id in ids else i
                for i in kernel.instructions
            ]
        )
    )
    if new is kernel:
        shown = " and ".join(inames) or "no inames"
        raise NoSuchReduction(
            f"no reduction runs over {shown}, and over something else",
            where=caller_location(),
            excerpt=excerpt(kernel, *ids),
            remedy="name some, but not all, of the inames of a reduction",
        )
    _check_nest(new)
    return new


def _check_bounds(kernel: Kernel, outer: Sequence[str], inner: Sequence[str]) -> None:
    for iname in outer:
        needed = surrounding_inames(kernel, iname).intersection(inner)
        if needed:
            raise InameNeeded(
                f"a reduction over '{iname}' cannot be outside of one over '{min(needed)}', which "
                f"the bounds of '{iname}' need",
                where=caller_location(),
                excerpt=str(kernel.home_domains[iname]),
                remedy="split the other way, inward or outward",
            )


def _check_nest(kernel: Kernel) -> None:
    why = why_none_is_permitted(kernel)
    if why is not None:
        raise ReductionNotNestable(
            f"the loops of reductions cannot be nested so: {why.what}",
            where=caller_location(),
            excerpt=why.excerpt,
            remedy="give the reduction inames of its own first (duplicate_inames)",
        )
