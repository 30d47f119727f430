"""`polygen.peel`."""

from __future__ import annotations

from typing import Annotated

from polygen.errors import InvalidArgument
from polygen.ir.kernel import Kernel
from polygen.source import caller_location
from polygen.transformation import Iname, Kind, transformation
from polygen.transforms.splitting.separation_conditions import with_ends_apart

Count = Annotated[
    int,
    Kind(
        "a number of iterations",
        lambda _, v: isinstance(v, int) and not isinstance(v, bool) and v >= 0,
    ),
]


@transformation
def peel(kernel: Kernel, iname: Iname, first: Count = 1, last: Count = 0) -> Kernel:
    """Write the first iterations of a loop, or the last ones, apart from the others.

    It is `index_set_split` at these iterations: a hint for the code, which leaves what is executed
    as it is.

    Kind: order and storage.

    Requires:
        1. The loop begins and ends at affine functions of the loops around it, of scalar arguments,
           and of scalars that are computed before it; or at the largest, or the least, of several;
           as far as iterations are to be peeled there.
        2. An iteration is to be peeled at all.

    Parameters:
        iname: the iname of the loop.
        first: how many of the first iterations are written apart.
        last: how many of the last ones are.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i]: 0<=i<n }",
        ...     ["b[i] = a[i]  {if=i == 0}", "b[i] = a[i] - a[i-1]  {if=i > 0}"], name="steps",
        ... )
        >>> knl = pg.add_dtypes(knl, {"a": "float32"})
        >>> print(pg.generate_code(pg.peel(knl, "i"), "c"))
        void steps(float const *restrict a, float *restrict b, int const n)
        {
            if (n >= 1)
                b[0] = a[0];
            for (int i = 1; i < n; ++i)
                b[i] = a[i] - a[i - 1];
        }

    Raises:
        UnknownIname: if the kernel has no such iname.
        NotSeparable: if 1 does not hold.
        InvalidArgument: if 2 does not hold, or if `first` or `last` is no such number.

    Source: Lin, Lee, Kennedy: Allen, Kennedy, Optimizing compilers for modern architectures, 2001.
    """
    if not first and not last:
        raise InvalidArgument(
            f"peel: no iteration of '{iname}' is to be peeled",
            where=caller_location(),
            remedy="say how many: first=1, last=1",
        )
    return with_ends_apart(kernel, iname, first, last)
