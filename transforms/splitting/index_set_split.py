"""`polygen.index_set_split`."""

from __future__ import annotations

from typing import Annotated, Any

from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.language.parser import parse_expression
from polygen.transformation import Kind, transformation
from polygen.transforms.splitting.separation_conditions import separated


def _is_condition(_kernel: Kernel, value: Any) -> bool:
    return isinstance(value, str | ex.ExpressionNode)


Condition = Annotated[
    str | ex.ExpressionNode, Kind("a condition on inames: 'i < m'", _is_condition)
]


@transformation
def index_set_split(kernel: Kernel, condition: Condition) -> Kernel:
    """Cut a loop where a condition begins or ceases to hold: separate code for both.

    The innermost of the loops that a comparison mentions becomes two loops in a row, one in whose
    iterations it holds, and one where it does not; with two, as in ``1 <= i and i < m``, three.  A
    comparison that mentions no loop, but axes of the hardware, makes two versions of all code.

    What is executed, and in which order, stays as it is: it is a hint, and later steps see the
    kernel as it was.  Guards, and conditions of instructions, that always hold in one of the parts
    are gone there.

    A separation that is not possible any more when code is generated (it says where work items
    differ, around a barrier; a scalar in it is computed later than it would be asked, for loops are
    on axes of the hardware; or later steps made it something else than comparisons of affine
    expressions) is left out, with the warning `SeparationIgnored`.

    Kind: order and storage.

    Requires:
        1. The condition is a comparison of affine expressions of inames, scalar arguments, and
           scalars that are computed before these loops and bound them, or several, joined by
           ``and``.
        2. An instruction is within all of the inames.

    Parameters:
        condition: a text such as ``"i < m"``, or an expression.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i]: 0<=i<n }",
        ...     ["b[i] = a[i]  {if=i < m}", "b[i] = -a[i]  {if=i >= m}"], name="flip",
        ... )
        >>> knl = pg.add_dtypes(knl, {"a": "float32", "m": "int32"})
        >>> knl = pg.assume(knl, "0 <= m <= n")
        >>> print(pg.generate_code(pg.index_set_split(knl, "i < m"), "c"))
        void flip(float const *restrict a, float *restrict b, int const m, int const n)
        {
            for (int i = 0; i < m; ++i)
                b[i] = a[i];
            for (int i = m; i < n; ++i)
                b[i] = -a[i];
        }

    Raises:
        NotSeparable: if 1 or 2 does not hold.
        MalformedExpression: if `condition` is no expression.

    Source: Griebl, Feautrier, Lengauer, Index set splitting, 2000.
    """
    asked = parse_expression(condition) if isinstance(condition, str) else condition
    return separated(kernel, asked)
