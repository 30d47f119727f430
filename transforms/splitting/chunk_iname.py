"""`polygen.chunk_iname`."""

from __future__ import annotations

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.errors import InvalidArgument
from polygen.ir.domain import project_out, unflatten
from polygen.ir.kernel import Kernel
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Iname, NewName, PositiveInt, Within, transformation
from polygen.transforms.inames.duplicate_inames import duplicate_inames
from polygen.transforms.inames.tag_arguments import AnyTag
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.splitting._chunk_lengths import chunked
from polygen.transforms.splitting.split_iname import Slabs, uses_alone
from polygen.transforms.splitting.split_iname import split_iname as split


@transformation
def chunk_iname(  # noqa: PLR0913, PLR0917 -- Loo.py's arguments
    kernel: Kernel,
    split_iname: Iname,
    num_chunks: PositiveInt,
    outer_iname: NewName | None = None,
    inner_iname: NewName | None = None,
    outer_tag: AnyTag | None = None,
    inner_tag: AnyTag | None = None,
    slabs: Slabs = (0, 0),
    within: Within | None = None,
) -> Kernel | Rearranged:
    """Split a loop into a number of chunks: ``i = length*i_outer + i_inner``.

    Where the iname has values between two constants, of which none is negative, it is `split_iname`
    by the least length with which there are no more than `num_chunks`.  Otherwise there are as many
    as that, and those at the front have one iteration more where it is not divisible.

    Kind: order and storage.

    Requires:
        1. The bounds of the iname are constants, or affine in scalar arguments alone, and bound no
           other iname.
        2. What holds for `split_iname`.
        3. Slabs are only asked for where the bounds are constants.

    Parameters:
        split_iname: the iname to split; it is gone afterwards.
        num_chunks: how many iterations the outer loop has at most.
        outer_iname, inner_iname, outer_tag, inner_tag, slabs, within: as those of `split_iname`.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 0<=i<100000 }", "b[i] = 2*a[i]", name="twice")
        >>> knl = pg.chunk_iname(pg.add_dtypes(knl, {"a": "float32"}), "i", 4, outer_tag="g.0")
        >>> print(pg.generate_code(knl, "c"))
        void twice(float const *restrict a, float *restrict b)
        {
            #pragma omp parallel for
            for (int i_outer = 0; i_outer < 4; ++i_outer) {
                #pragma omp simd
                for (int i_inner = 0; i_inner < 25000; ++i_inner)
                    b[25000 * i_outer + i_inner] = 2.0f * a[25000 * i_outer + i_inner];
            }
        }
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]", assumptions="n % 4 = 0")
        >>> knl = pg.chunk_iname(pg.add_dtypes(knl, {"a": "float32"}), "i", 4, outer_tag="g.0")
        >>> print(pg.generate_code(knl, "c"))
        void polygen_kernel(float const *restrict a, float *restrict b, int const n)
        {
            int const i_length = n / 4;
            #pragma omp parallel for if(n / 4 >= 8192)
            for (int i_outer = 0; i_outer < 4; ++i_outer) {
                #pragma omp simd
                for (int i_inner = 0; i_inner < n / 4; ++i_inner)
                    b[i_length * i_outer + i_inner] = 2.0f * a[i_length * i_outer + i_inner];
            }
        }

    Raises:
        UnknownIname: if the kernel has no such iname.
        ExtentNotConstant: if 1 does not hold.
        InvalidArgument: if 3 does not hold, or if an argument is of the wrong kind.
        TagConflict, NameTaken, ReservedName, InameNotUsed, InameNeeded, NotDistributable: as
            `split_iname` does.

    Source: Loo.py's transformation of this name.
    """
    most = _most(kernel, split_iname)
    if most is not None:
        return split(
            kernel,
            split_iname,
            max(1, -(-(most + 1) // num_chunks)),
            outer_iname=outer_iname,
            inner_iname=inner_iname,
            outer_tag=outer_tag,
            inner_tag=inner_tag,
            slabs=slabs,
            within=within,
        )
    if any(slabs):
        raise InvalidArgument(
            f"chunk_iname: chunks of '{split_iname}' have no constant length, and no slabs",
            where=caller_location(),
            remedy="leave out slabs=: no chunk needs a guard",
        )
    outer = outer_iname or kernel.new_name(f"{split_iname}_outer")
    inner = inner_iname or kernel.new_name(f"{split_iname}_inner")
    if within is not None and not uses_alone(kernel, split_iname, within):
        own = kernel.new_name(split_iname, (outer, inner))
        kernel = duplicate_inames(kernel, split_iname, within, own)
        return chunk_iname(kernel, own, num_chunks, outer, inner, outer_tag, inner_tag)
    tags = {i: tag for i, tag in ((outer, outer_tag), (inner, inner_tag)) if tag is not None}
    if tags:
        return tag_inames(chunk_iname(kernel, split_iname, num_chunks, outer, inner), tags)
    return chunked(kernel, split_iname, num_chunks, outer, inner)


def _most(kernel: Kernel, iname: str) -> int | None:
    """Return the largest value of an iname between two constants of which none is negative.

    None if it is not; -1 if it has no value at all.
    """
    around = with_surrounding(kernel, (iname,))
    points = domain_of(kernel, around).intersect(kernel.assumptions.flat)
    values = unflatten(project_out(points, around - {iname}), [iname])
    if values.is_empty():
        return -1
    least, most = values.dim_min(0).min_val(), values.dim_max(0).max_val()
    if not (least.is_int() and most.is_int() and least.is_nonneg()):
        return None
    return int(most.to_python())
