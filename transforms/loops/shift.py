"""`polygen.shift`."""

from __future__ import annotations

from typing import Annotated, Any

from polygen.analysis.integers.affine_forms import linear_form
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.language.parser import parse_expression
from polygen.proof import Rearranged
from polygen.transformation import Iname, Kind, transformation
from polygen.transforms.loops.iname_equations import map_to
from polygen.transforms.loops.map_domain import mapped


def _is_offset(kernel: Kernel, value: Any) -> bool:
    if isinstance(value, str):
        return linear_form(parse_expression(value), kernel.parameters) is not None
    return isinstance(value, int) and not isinstance(value, bool)


Offset = Annotated[
    int | str, Kind("an integer, or an affine expression of scalar arguments", _is_offset)
]


@transformation
def shift(kernel: Kernel, iname: Iname, by: Offset) -> Rearranged:
    """Add a number to all values of an iname, which keeps its name.

    What an iteration does, and when, stays the same: two loops that are to be fused may get the
    same values, or values that make the fusion legal.

    Kind: order and storage.

    Requires:
        1. The iname is not tagged, or tagged ``for``.

    Parameters:
        iname: the iname of the loop.
        by: what is added: an integer, or an affine expression of scalar arguments as a text.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 1<=i<=n }", "b[i-1] = 2*a[i-1]", name="twice")
        >>> knl = pg.add_dtypes(knl, {"a": "float32"})
        >>> print(pg.generate_code(pg.shift(knl, "i", -1), "c"))
        void twice(float const *restrict a, float *restrict b, int const n)
        {
            for (int i = 0; i < n; ++i)
                b[i] = 2.0f * a[i];
        }

    Raises:
        UnknownIname: if the kernel has no such iname.
        InvalidArgument, MalformedExpression: if `by` is something else.
        TagConflict: if 1 does not hold.

    Source: Darte, Huard, Loop shifting for loop compaction, 2000.
    """
    added: Expression = parse_expression(by) if isinstance(by, str) else by
    return mapped(kernel, map_to([iname], {iname: ex.sum_of(ex.Variable(iname), added)}))
