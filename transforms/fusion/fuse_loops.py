"""`polygen.fuse_loops`."""

from __future__ import annotations

from typing import Annotated

import islpy as isl

from polygen.analysis.access.domains import surrounding_inames
from polygen.analysis.rearrangement.same_instances import iname_groups
from polygen.errors import IllegalStep, InvalidArgument, NotFusible
from polygen.ir.domain import rename_dimension, unflatten
from polygen.ir.kernel import Kernel
from polygen.language.priorities import with_priority
from polygen.source import caller_location
from polygen.transformation import Iname, Kind, transformation
from polygen.transforms.fusion._fusible_loops import check_two_loops, differ
from polygen.transforms.fusion.rename_iname import rename_iname
from polygen.transforms.fusion.widened_loops import outer_of_domain, values_of, widen
from polygen.transforms.inames.prioritize_loops import prioritize_loops
from polygen.transforms.loops.shift import shift

Shift = Annotated[
    int, Kind("an integer", lambda _, v: isinstance(v, int) and not isinstance(v, bool))
]

SHIFTS = (0, 1, -1, 2, -2, 3, -3, 4, -4)  # that are tried


@transformation
def fuse_loops(kernel: Kernel, first: Iname, second: Iname, by: Shift | None = None) -> Kernel:
    """Make one loop of two, the second shifted against the first if that makes it legal.

    Iteration ``j`` of the second loop is done in iteration ``j + by`` of the first.  The loop
    runs over the values of both; where one of them has fewer, its instructions are guarded: by an
    iname of their own, that has one value where they are executed.  A loop around one of the two
    alone comes inside of the fused one.

    Kind: order and storage.

    Requires:
        1. The inames are two, they are tagged alike, no instruction and no reduction is within
           both, and the bounds of neither need the other.
        2. One loop can hold the instructions of both, as `rename_iname` requires it.
        3. With that shift, and with the loops that come inside, no dependence is turned around.

    Parameters:
        first: the iname that stays.
        second: the iname that becomes the first one.
        by: by how many iterations the second loop is later; the one of 0, 1, -1, ..., 4, -4 that
            is legal first, if not given.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j]: 0<=i<n and 0<=j<n-1 }", ["b[i] = 2*a[i]", "c[j] = b[j+1] - b[j]"],
        ...     name="twice", assumptions="n >= 1",
        ... )
        >>> knl = pg.fuse_loops(pg.add_dtypes(knl, {"a": "float32"}), "i", "j")
        >>> print(pg.generate_code(knl, "c"))
        void twice(float const *restrict a, float *restrict b, float *restrict c, int const n)
        {
            for (int i = 0; i < n; ++i) {
                b[i] = 2.0f * a[i];
                if (i >= 1)
                    c[i - 1] = b[i] - b[i - 1];
            }
        }

    Raises:
        UnknownIname: if the kernel has no such iname.
        InvalidArgument, TagConflict, LoopsOfOneInstruction, DomainsDiffer: if 1 does not hold.
        NotFusible: if 2 does not hold.
        IllegalStep: if 3 does not hold.

    Source: Kennedy, McKinley, Maximizing loop parallelism and improving data locality via loop
    fusion and distribution, LCPC 1993; Darte, Huard, Loop shifting for loop compaction, 2000.
    """
    if first == second:
        raise InvalidArgument(
            f"fuse_loops: '{first}' is named twice",
            where=caller_location(),
            remedy="name the loop that stays, and the one that becomes a part of it",
        )
    check_two_loops(kernel, second, first)
    kernel = _turned_outwards(kernel, first, second)
    shifts = SHIFTS if by is None else (by,)
    for candidate in shifts[:-1]:
        try:
            return _fused(kernel, first, second, candidate)
        except IllegalStep:
            continue
    return _fused(kernel, first, second, shifts[-1])


def _turned_outwards(kernel: Kernel, first: str, second: str) -> Kernel:
    """Put loops that only one of the two is in inside of it, where they can be once it is fused."""
    both = {first, second}
    around = [g for i in kernel.expanded.instructions for g in iname_groups(i) if g & both]
    if not around:
        return kernel
    shared = frozenset(kernel.inames).intersection(*around)
    for iname in (first, second):
        outer = [i for i in outer_of_domain(kernel, iname) if i not in shared]
        turned = with_priority(kernel, (iname, *outer)) if outer else kernel
        needed = {*outer_of_domain(turned, iname), *surrounding_inames(kernel, iname)} - shared
        if needed:
            raise NotFusible(
                f"'{first}' cannot be fused with '{second}': '{min(needed)}' has to be around "
                f"'{iname}', and is not around all instructions of the other loop",
                where=caller_location(),
                excerpt=kernel.home_domains[iname].text,
                remedy="fuse the loops around them first; or keep them apart",
            )
        if outer:
            kernel = prioritize_loops(kernel, (iname, *outer))
    return kernel


def _fused(kernel: Kernel, first: str, second: str, by: int) -> Kernel:
    """Fuse two loops with a certain shift."""
    if by:
        kernel = shift(kernel, second, by)
    olds = {iname: values_of(kernel, iname) for iname in (first, second)}
    olds[second] = rename_dimension(olds[second], second, first)
    context = kernel.assumptions.flat
    if not olds[first].intersect(context).is_equal(olds[second].intersect(context)):
        if kernel.home_domains[first] is kernel.home_domains[second]:
            raise differ(kernel, second, first, "and one domain has both")
        values = _hull(first, olds[first].union(olds[second]).coalesce())
        for iname, old in olds.items():
            if not old.intersect(context).is_equal(values.intersect(context)):
                own = values if iname == first else rename_dimension(values, first, second)
                kernel = widen(kernel, iname, own)
    return rename_iname(kernel, second, first, existing_ok=True)


def _hull(iname: str, values: isl.Set) -> isl.Set:
    """Return a convex set around the values, if there is a simple one; else these."""
    hull = values.simple_hull().to_set()
    return hull if unflatten(hull, [iname]).is_bounded() else values
