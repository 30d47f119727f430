"""`polygen.reverse`."""

from __future__ import annotations

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.integers.isl_affine import pw_aff_expression
from polygen.ir import expression as ex
from polygen.ir.domain import project_out, unflatten
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.proof import Rearranged
from polygen.transformation import Iname, transformation
from polygen.transforms.loops.iname_equations import map_to
from polygen.transforms.loops.map_domain import mapped


@transformation
def reverse(kernel: Kernel, iname: Iname) -> Rearranged:
    """Run a loop from its last iteration to its first.

    The iname keeps its name and, where its least and its greatest value are affine in the scalar
    arguments, its range: ``i`` becomes ``least + greatest - i``.  Otherwise it becomes ``-i``.

    Kind: order and storage.

    Requires:
        1. No iteration depends on an earlier one.
        2. The iname is not tagged, or tagged ``for``.

    Parameters:
        iname: the iname of the loop.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 1<=i<n }", "b[i] = a[i] - a[i-1]", name="steps")
        >>> knl = pg.add_dtypes(knl, {"a": "float32"})
        >>> print(pg.generate_code(pg.reverse(knl, "i"), "c"))
        void steps(float const *restrict a, float *restrict b, int const n)
        {
            for (int i = 1; i < n; ++i)
                b[n - i] = a[n - i] - a[n - 1 - i];
        }

    Raises:
        UnknownIname: if the kernel has no such iname.
        IllegalStep: if 1 does not hold.
        TagConflict: if 2 does not hold.

    Source: Wolf, Lam, A loop transformation theory and an algorithm to maximize parallelism, 1991.
    """
    mirrored = ex.sum_of(least_and_greatest(kernel, iname), ex.product_of(-1, ex.Variable(iname)))
    return mapped(kernel, map_to([iname], {iname: mirrored}))


def least_and_greatest(kernel: Kernel, iname: str) -> Expression:
    """Return the sum of both; 0 if it is not affine in the scalar arguments."""
    around = with_surrounding(kernel, [iname])
    points = domain_of(kernel, around).intersect(kernel.assumptions.flat)
    if points.is_empty():
        return 0
    values = unflatten(project_out(points, around - {iname}), [iname])
    found = pw_aff_expression(values.dim_min(0).add(values.dim_max(0)))
    return 0 if linear_form(found, kernel.parameters) is None else found
