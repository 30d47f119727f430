"""`polygen.overlap_time_tiles`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, cast

from polygen.ir.kernel import Kernel
from polygen.language.kernel_assembly import check_made
from polygen.proof import Rearranged
from polygen.transformation import Iname, PositiveInt, transformation
from polygen.transformation.argument_kinds import Kind, is_positive
from polygen.transforms.splitting.overlapped_boxes import box_of, with_tiles
from polygen.transforms.splitting.time_sweeps import refuse, sweeps_of


def _are_positive(kernel: Kernel, value: Any) -> bool:
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        return False
    return all(is_positive(kernel, each) for each in cast("Sequence[object]", value))


Points = Annotated[Sequence[int], Kind("a positive number for each axis", _are_positive)]


@transformation
def overlap_time_tiles(
    kernel: Kernel, iname: Iname, steps: PositiveInt, points: Points
) -> Rearranged:
    """Let tiles of arrays go through several steps of time in local memory, with an overlap.

    A tile loads a box of each array, goes through the steps, and stores what is right in the end:
    at the rim of the box, neighbours are missing, and what they are needed for is left to other
    tiles.  So tiles compute more than they store, move less, and do not need each other: each reads
    the arrays of one step, and writes copies of them.  Two loops over tiles take turns, one to the
    copies, one back; behind them, a loop over the steps that are left, at least one, is as it was.

    Kind: order and storage.

    Requires:
        1. The iname is that of an outermost loop, whose bounds are affine, on no axis of the
           hardware.
        2. In it are plain assignments alone, each in a nest of loops of its own, which write
           arrays in global memory with the same number of axes; each subscript of what is written
           is a loop and a constant, or a constant.
        3. Bounds and conditions are affine, the same in each step of time, and say a convex set.
        4. What is read of these arrays lies at a constant distance from what is written; of the
           array that is written, it is the same element, or one that the statement never writes.
           No subscript is read from them: at the rims are values that the loop never computes.
        5. An iteration needs what earlier ones wrote.
        6. A box is large enough that something is right in the end.

    Parameters:
        iname: the iname of the loop of time.
        steps: how many steps a tile goes through.
        points: how many elements it computes in each of them, along each axis of the arrays.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [t,i,p]: 0<=t<T and 1<=i,p<n-1 }",
        ...     '''
        ...     for t
        ...         b[i] = (a[i-1] + a[i+1])/2
        ...         a[p] = b[p]
        ...     end
        ...     ''',
        ...     [pg.GlobalArg("a, b", "float64", "n"), "..."], name="heat", seq_dependencies=True,
        ... )
        >>> new = pg.overlap_time_tiles(knl, "t", 4, [64])
        >>> code = str(pg.generate_code(new, "c")).partition("++t_turn")[2]
        >>> for line in code.partition("i_tile_0")[0].splitlines():
        ...     if line.endswith(";") or "t_step" in line:
        ...         print(line.strip())
        a_tile[i_load] = a[58 * i_tile + i_load - 4];
        for (int t_step = 0; t_step < 4; ++t_step) {
        b_tile[i_in + 1] = (a_tile[i_in] + a_tile[i_in + 2]) / 2.0;
        a_tile[i_in_0 + 1] = b_tile[i_in_0 + 1];
        a_next[58 * i_tile + i_store] = a_tile[i_store + 4];

    Raises:
        UnknownIname: if the kernel has no such iname.
        NoOverlappedTiles: if 1 to 6 do not hold.
        UninitializedRead: if the rim of a temporary array is not written before the loop.

    Source: Krishnamoorthy et al., Effective automatic parallelization of stencil computations,
    PLDI 2007; Holewinski, Pouchet, Sadayappan, High-performance code generation for stencil
    computations on GPU architectures, ICS 2012.
    """
    found = sweeps_of(kernel, iname)
    if len(points) != len(found.names):
        raise refuse(
            kernel,
            iname,
            f"points={list(points)} are not one number for each of {len(found.names)} axes",
            "say how many elements a tile computes along each axis of the arrays",
        )
    box = box_of(found, steps, points)
    if min(box.stored) < 1:
        raise refuse(
            kernel,
            iname,
            f"of a box of {' x '.join(map(str, box.extents))} elements, none is right after "
            f"{steps} steps",
            "take fewer steps, or more points",
        )
    new = with_tiles(kernel, found, box)
    check_made(new)
    # Each element is computed as it was, of copies of what it was computed of: see above.
    return Rearranged(new, restated=new)
