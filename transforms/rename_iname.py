"""`polygen.rename_iname`."""

from __future__ import annotations

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import Domain, rename_dimension
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.proof import Rearranged
from polygen.transformation import Iname, NewName, transformation


@transformation
def rename_iname(kernel: Kernel, old_iname: Iname, new_iname: NewName) -> Rearranged:
    """Give an iname another name, everywhere.

    Kind: order and storage.

    Requires:
        1. The new name is not used yet.

    Parameters:
        old_iname: the iname; it is gone afterwards.
        new_iname: what it is called from now on.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
        >>> knl = pg.add_dtypes(knl, {"a": "float32"})
        >>> print(pg.generate_code(pg.rename_iname(knl, "i", "row"), "c"))
        void polygen_kernel(float const *restrict a, int const n, float *restrict out)
        {
            for (int row = 0; row < n; ++row)
                out[row] = 2.0f * a[row];
        }

    Raises:
        UnknownIname: if the kernel has no such iname.
        NameTaken, ReservedName: if 1 does not hold.
    """
    new = {old_iname: new_iname}

    def names(inames: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(new.get(i, i) for i in inames)

    def bound(node: Expression) -> Expression:
        if isinstance(node, ex.Reduction) and old_iname in node.inames:
            operand = walk.substitute(node.operand, {old_iname: ex.Variable(new_iname)})
            return ex.Reduction(node.operation, names(node.inames), operand)
        return node

    def rewrite(node: Expression) -> Expression:
        return walk.substitute(walk.rewrite(node, bound), {old_iname: ex.Variable(new_iname)})

    result = kernel.copy(
        domains=tuple(
            Domain(rename_dimension(d.set, old_iname, new_iname))
            if old_iname in d.inames or old_iname in d.parameters
            else d
            for d in kernel.domains
        ),
        instructions=tuple(
            insn.map_expressions(rewrite).copy(
                within_inames=frozenset(new.get(i, i) for i in insn.within_inames)
            )
            for insn in kernel.instructions
        ),
        tags={new.get(i, i): tag for i, tag in kernel.tags.items()},
        priorities=tuple(names(p) for p in kernel.priorities),
    )
    return Rearranged(result, {old_iname: ex.Variable(new_iname)})
