"""`polygen.interchange`."""

from __future__ import annotations

from polygen.errors import NestingNotPossible
from polygen.ir.kernel import Kernel
from polygen.language.priorities import with_priority
from polygen.source import caller_location
from polygen.transformation import Iname, transformation
from polygen.transforms.inames.loop_position import loops_below, path_to


@transformation
def interchange(kernel: Kernel, first: Iname, second: Iname) -> Kernel:
    """Let two nested loops change places; the loops between them stay where they are.

    Which of the two is outside now does not matter.  The new nesting is asked for as
    `prioritize_loops` does it.

    Kind: order and storage.

    Requires:
        1. One of the loops is within the other one.
        2. They may be nested the other way: no bounds in a domain of their own need the iname that
           is to be inside, and no instruction is within the loop that is to be outside alone.
        3. No dependence would be turned around.

    Parameters:
        first: the iname of one loop.
        second: the iname of the other one.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j]: 0<=i<n and 0<=j<m }", "b[j,i] = 2*a[j,i]", name="twice",
        ...     loop_priority="i, j",
        ... )
        >>> knl = pg.interchange(pg.add_dtypes(knl, {"a": "float32"}), "i", "j")
        >>> print(pg.generate_code(knl, "c"))
        void twice(float const *restrict a, float *restrict b, int const m, int const n)
        {
            for (int j = 0; j < m; ++j) {
                for (int i = 0; i < n; ++i)
                    b[j * n + i] = 2.0f * a[j * n + i];
            }
        }

    Raises:
        UnknownIname: if the kernel has no such iname.
        NestingNotPossible: if 1 or 2 does not hold.
        IllegalStep: if 3 does not hold.

    Source: Allen, Kennedy, Automatic loop interchange, 1984.
    """
    nest = max(path_to(kernel, first), path_to(kernel, second), key=len)
    if first == second or not {first, second} <= set(nest):
        raise NestingNotPossible(
            f"'{first}' and '{second}' are not nested in one another",
            where=caller_location(),
            remedy="name two loops that an instruction is within",
        )
    places = {first: second, second: first}
    asked = [*(places.get(i, i) for i in nest), *loops_below(kernel, nest)]
    new = with_priority(kernel, tuple(asked))
    outer, inner = sorted((first, second), key=nest.index, reverse=True)
    if outer not in path_to(new, inner):
        raise NestingNotPossible(
            f"the loop of '{outer}' cannot be outside of that of '{inner}': the kernel's structure "
            f"puts '{inner}' outside",
            where=caller_location(),
            remedy="make one domain of those of both; give instructions that are within one only "
            "loops of their own (duplicate_inames)",
        )
    return new
