"""`polygen.skew`."""

from __future__ import annotations

from typing import Annotated

from polygen.errors import InvalidArgument
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Iname, Kind, transformation
from polygen.transforms.loops.iname_equations import map_to
from polygen.transforms.loops.map_domain import mapped

Factor = Annotated[
    int, Kind("an integer", lambda _, v: isinstance(v, int) and not isinstance(v, bool))
]


@transformation
def skew(kernel: Kernel, outer: Iname, inner: Iname, factor: Factor) -> Rearranged:
    """Let a loop start later by `factor` in each iteration of another: ``inner + factor*outer``.

    Both inames keep their names.  The order of the instances stays the same; the loops may then
    be interchanged, tiled or made parallel where they could not be before.

    Kind: order and storage.

    Requires:
        1. The inames are two.
        2. Each instruction and each reduction that is within `inner` is within `outer`, too.
        3. If the two are in different domains, neither is empty where the other one matters alone.
        4. `inner` is not tagged, or tagged ``for``.

    Parameters:
        outer: the iname that stays what it is.
        inner: the iname of the loop that is skewed.
        factor: how much later it starts each time; it may be negative.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [t,i]: 0<=t<n and 1<=i<7 }", "a[t+1,i] = a[t,i-1] + a[t,i+1]",
        ...     [pg.GlobalArg("a", "float32", ("n + 1", 8)), "..."],
        ...     name="steps", loop_priority="t, i",
        ... )
        >>> print(pg.generate_code(pg.skew(knl, "t", "i", 1), "c"))
        void steps(float *restrict a, int const n)
        {
            for (int t = 0; t < n; ++t) {
                for (int i = t + 1; i < t + 7; ++i)
                    a[7 * t + i + 8] = a[7 * t + i - 1] + a[7 * t + i + 1];
            }
        }

    Raises:
        UnknownIname: if the kernel has no such iname.
        InvalidArgument: if 1 does not hold, or if `factor` is no integer.
        MapMixesInames: if 2 does not hold.
        MapLosesInstances: if 3 does not hold.
        TagConflict: if 4 does not hold.

    Source: Wolfe, Loop skewing: the wavefront method revisited, 1986.
    """
    if outer == inner:
        raise InvalidArgument(
            f"skew: '{outer}' is named twice",
            where=caller_location(),
            remedy="name the loop that stays, and the one that is skewed by it",
        )
    later = ex.sum_of(ex.Variable(inner), ex.product_of(factor, ex.Variable(outer)))
    return mapped(kernel, map_to([outer, inner], {outer: ex.Variable(outer), inner: later}))
