"""`polygen.chunk_iname`."""

from __future__ import annotations

from polygen.analysis.domains import domain_of, with_surrounding
from polygen.errors import ExtentNotConstant
from polygen.ir.domain import project_out, unflatten
from polygen.ir.kernel import Kernel
from polygen.source import caller_location
from polygen.transformation import Iname, NewName, PositiveInt, Tag, Within, transformation
from polygen.transforms.split_iname import Slabs
from polygen.transforms.split_iname import split_iname as split


@transformation
def chunk_iname(  # noqa: PLR0913, PLR0917 -- Loo.py's arguments
    kernel: Kernel,
    split_iname: Iname,
    num_chunks: PositiveInt,
    outer_iname: NewName | None = None,
    inner_iname: NewName | None = None,
    outer_tag: Tag | None = None,
    inner_tag: Tag | None = None,
    slabs: Slabs = (0, 0),
    within: Within | None = None,
) -> Kernel:
    """Split a loop into a number of chunks: ``i = length*i_outer + i_inner``, as few as will do.

    It is `split_iname` by the least length with which there are no more than `num_chunks`.

    Kind: order and storage.

    Requires:
        1. The iname has values between two constants, of which none is negative.  Otherwise,
           subscripts would have products with sizes.
        2. What holds for `split_iname`.

    Parameters:
        split_iname: the iname to split; it is gone afterwards.
        num_chunks: how many iterations the outer loop has at most.
        outer_iname, inner_iname, outer_tag, inner_tag, slabs, within: as those of `split_iname`.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 0<=i<100 }", "b[i] = 2*a[i]", name="twice")
        >>> knl = pg.chunk_iname(pg.add_dtypes(knl, {"a": "float32"}), "i", 4, outer_tag="g.0")
        >>> print(pg.generate_code(knl, "c"))
        void twice(float const *restrict a, float *restrict b)
        {
            #pragma omp parallel for
            for (int i_outer = 0; i_outer < 4; ++i_outer) {
                for (int i_inner = 0; i_inner < 25; ++i_inner)
                    b[25 * i_outer + i_inner] = 2.0f * a[25 * i_outer + i_inner];
            }
        }

    Raises:
        UnknownIname: if the kernel has no such iname.
        ExtentNotConstant: if 1 does not hold.
        TagConflict, NameTaken, ReservedName, InvalidArgument, InameNotUsed, InameNeeded,
            NotDistributable: as `split_iname` does.

    Source: Loo.py's transformation of this name.
    """
    around = with_surrounding(kernel, (split_iname,))
    points = domain_of(kernel, around).intersect(kernel.assumptions.flat)
    values = unflatten(project_out(points, around - {split_iname}), [split_iname])
    length = 1
    if not values.is_empty():
        least, most = values.dim_min(0).min_val(), values.dim_max(0).max_val()
        if not (least.is_int() and most.is_int() and least.is_nonneg()):
            raise ExtentNotConstant(
                f"'{split_iname}' cannot be divided into {num_chunks} chunks: its values are not "
                "between two constants, of which none is negative",
                where=caller_location(),
                excerpt=kernel.home_domains[split_iname].text,
                remedy="fix_parameters makes an extent constant, shift a value positive; "
                f" split_iname(knl, '{split_iname}', {num_chunks}) deals iterations out "
                "in turn, if the inner loop is the parallel one",
            )
        length = -(-(most.to_python() + 1) // num_chunks)
    return split(
        kernel,
        split_iname,
        length,
        outer_iname=outer_iname,
        inner_iname=inner_iname,
        outer_tag=outer_tag,
        inner_tag=inner_tag,
        slabs=slabs,
        within=within,
    )
