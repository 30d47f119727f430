"""`polygen.wavefront`."""

from __future__ import annotations

from polygen.errors import IllegalStep, InvalidArgument, NestingNotPossible
from polygen.ir.kernel import Kernel
from polygen.source import caller_location
from polygen.transformation import Iname, PositiveInt, transformation
from polygen.transforms.inames.loop_position import path_to
from polygen.transforms.inames.tag_arguments import AnyTag, Given
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.loops.interchange import interchange
from polygen.transforms.loops.skew import skew

MOST = 4  # factors that are tried


@transformation
def wavefront(
    kernel: Kernel,
    outer: Iname,
    inner: Iname,
    tag: AnyTag = "g.0",
    factor: PositiveInt | None = None,
) -> Kernel:
    r"""Let two loops run in waves, each of which is parallel: in-place sweeps such as Gauss-Seidel.

    The inner loop is skewed by the outer one, ``inner + factor*outer``, and goes outside: its
    iterations are the waves.  The outer one goes inside, and gets the tag.  It is `skew`,
    `interchange` and `tag_inames`, each proved.

    Kind: order and storage.

    Requires:
        1. The loop of `outer` is around that of `inner`, both are not tagged, or tagged ``for``,
           and they may be nested the other way.
        2. With that factor, no instance depends on another one in its wave.

    Parameters:
        outer: the iname of the outer loop, which becomes parallel.
        inner: the iname of the inner one, which becomes the number of a wave.
        tag: the tag of the parallel loop.
        factor: how much later the inner loop starts in each iteration of the outer one; the least
            that is legal, up to 4, if not given.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j]: 1<=i<n and 1<=j<9 }", "a[i,j] = a[i-1,j] + a[i,j-1]",
        ...     [pg.GlobalArg("a", "float32", "n, 9"), "..."], name="sweep", loop_priority="i, j",
        ... )
        >>> print(str(pg.generate_code(pg.wavefront(knl, "i", "j"), "c")).rpartition("\n\n")[2])
        void sweep(float *restrict a, int const n)
        {
            int pg_team[17] = {0}; // who has come, and how often all have
            #pragma omp parallel if(n - 1 >= 4096)
            {
                for (int j = 2; j < n + 8; ++j) {
                    #pragma omp for nowait
                    for (int i = 1; i < n; ++i) {
                        if (j <= i + 8 && i < j)
                            a[8 * i + j] = a[8 * i + j - 9] + a[8 * i + j - 1];
                    }
                    pg_wait_for_team(pg_team);
                }
            }
        }

    Raises:
        UnknownIname: if the kernel has no such iname.
        InvalidArgument, NestingNotPossible, MapMixesInames, MapLosesInstances, TagConflict: if 1
            does not hold.
        IllegalStep: if 2 does not hold.

    Source: Lamport, The parallel execution of DO loops, 1974; Wolfe, Loop skewing: the wavefront
    method revisited, 1986.
    """
    if outer == inner:
        raise InvalidArgument(
            f"wavefront: '{outer}' is named twice",
            where=caller_location(),
            remedy="name the outer loop and the inner one",
        )
    if inner in path_to(kernel, outer):
        raise NestingNotPossible(
            f"the loop of '{outer}' is not around that of '{inner}', but inside of it",
            where=caller_location(),
            remedy=f"name the outer loop first: wavefront(knl, '{inner}', '{outer}'); or say first "
            f"which it is: prioritize_loops(knl, '{outer}, {inner}')",
        )
    factors = range(1, MOST + 1) if factor is None else (factor,)
    for candidate in factors[:-1]:
        try:
            return _in_waves(kernel, (outer, inner), candidate, tag)
        except IllegalStep:
            continue
    return _in_waves(kernel, (outer, inner), factors[-1], tag)


def _in_waves(kernel: Kernel, inames: tuple[str, str], factor: int, tag: Given) -> Kernel:
    outer, inner = inames
    skewed = skew(kernel, outer, inner, factor)
    return tag_inames(interchange(skewed, outer, inner), {outer: tag})
