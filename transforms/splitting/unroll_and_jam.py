"""`polygen.unroll_and_jam`."""

from __future__ import annotations

from polygen.errors import NestingNotPossible
from polygen.ir.domain import unflatten
from polygen.ir.kernel import Kernel
from polygen.ir.tags import UnrollTag
from polygen.language.priorities import with_priority
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Iname, NewName, PositiveInt, transformation
from polygen.transforms.inames.loop_position import loops_below, path_to
from polygen.transforms.splitting.split_iname import in_two


@transformation
def unroll_and_jam(
    kernel: Kernel,
    iname: Iname,
    factor: PositiveInt,
    *,
    outer_iname: NewName | None = None,
    inner_iname: NewName | None = None,
) -> Rearranged:
    """Unroll a loop by a factor, and fuse the copies of the loops inside: register tiling.

    The loop is split as `split_iname` does it; the inner part goes inside of all loops in it, and
    is unrolled.  Loops of reductions inside are not fused: each copy of an instruction has its own.
    Where copies need no order, lanes share them: ``split_iname(knl, "i", 4, inner_tag="ilp")``.

    Kind: order and storage.

    Requires:
        1. The iname is not tagged, or tagged ``for``.
        2. It is a loop, and all instructions in it are within all loops in it, the bounds of which
           do not need it in a domain of their own; but for loops of one iteration, as `fuse_loops`
           makes them.
        3. No dependence would be turned around.

    Parameters:
        iname: the iname of the loop.
        factor: how many copies there are.
        outer_iname: the name of the loop that is left; ``<iname>_outer`` if not given.
        inner_iname: the name of the one that is unrolled; ``<iname>_inner`` if not given.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j]: 0<=i<8 and 0<=j<n }", "b[i] = b[i] + a[i,j]*x[j]",
        ...     name="prod", loop_priority="i, j",
        ... )
        >>> knl = pg.unroll_and_jam(pg.add_dtypes(knl, {"a,b,x": "float32"}), "i", 2)
        >>> print(pg.generate_code(knl, "c"))
        void prod(float const *restrict a, float *restrict b, int const n, float const *restrict x)
        {
            for (int i_outer = 0; i_outer < 4; ++i_outer) {
                for (int j = 0; j < n; ++j) {
                    b[2 * i_outer] += a[2 * i_outer * n + j] * x[j];
                    b[2 * i_outer + 1] += a[(2 * i_outer + 1) * n + j] * x[j];
                }
            }
        }

    Raises:
        UnknownIname: if the kernel has no such iname.
        TagConflict: if 1 does not hold.
        NestingNotPossible: if 2 does not hold.
        IllegalStep: if 3 does not hold.
        NameTaken, ReservedName, InvalidArgument: if another argument will not do.

    Source: Callahan, Cocke, Kennedy, Estimating interlock and improving balance for pipelined
    architectures, 1988.
    """
    path = path_to(kernel, iname)
    if not path:
        raise NestingNotPossible(
            f"'{iname}' is no loop: no instruction is within it, or it is an axis of the hardware",
            where=caller_location(),
            remedy="name a loop around others; split_iname splits what is reduced over",
        )
    below = [i for i in loops_below(kernel, path) if not _is_once(kernel, i)]
    outer = outer_iname or kernel.new_name(f"{iname}_outer")
    inner = inner_iname or kernel.new_name(f"{iname}_inner")
    new, value = in_two(kernel, iname, factor, outer, inner)
    new = with_priority(new, (*path[:-1], outer, *below, inner))
    found = path_to(new, inner)
    if not {outer, *below} <= set(found[:-1]):
        raise NestingNotPossible(
            f"'{inner}' cannot be inside of all the loops in '{iname}': {', '.join(below)}",
            where=caller_location(),
            remedy="give instructions that are not within all of these loops loops of their own "
            "(duplicate_inames); make one domain of those of the loops",
        )
    return Rearranged(new.copy(tags={**new.tags, inner: UnrollTag()}), {iname: value})


def _is_once(kernel: Kernel, iname: str) -> bool:
    """Tell whether a loop has one iteration, or none."""
    return bool(unflatten(kernel.home_domains[iname].flat, [iname]).is_singleton())
