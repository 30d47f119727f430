"""`polygen.strip_mine_to_vector`."""

from __future__ import annotations

import numpy as np

from polygen.analysis.typing.inference import infer_types
from polygen.errors import ReductionNotSequential
from polygen.ir.kernel import Kernel
from polygen.ir.layout import COMPUTED_BYTES, USUAL_VECTOR_BYTES
from polygen.ir.verify import excerpt
from polygen.language.within import matching
from polygen.source import caller_location
from polygen.transformation import (
    Iname,
    NewName,
    PositiveInt,
    Within,
    transformation,
)
from polygen.transforms.inames.tag_arguments import AnyTag
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.splitting.separate_full_tiles import separate_full_tiles
from polygen.transforms.splitting.split_iname import split_iname


@transformation
def strip_mine_to_vector(
    kernel: Kernel,
    iname: Iname,
    width: PositiveInt | None = None,
    *,
    outer_iname: NewName | None = None,
    inner_iname: NewName | None = None,
    outer_tag: AnyTag | None = None,
    within: Within | None = None,
) -> Kernel:
    """Execute a loop in vectors: as many iterations at once as a vector has components.

    The loop is split as `split_iname` does it, the inner part is tagged ``vec``, and the code for
    full vectors is written apart from that for the rest, as `separate_full_tiles` does it.

    Kind: order and storage.

    Requires:
        1. The iname is not tagged, or tagged ``for``.
        2. No instruction is within another iname that is tagged ``vec``.
        3. No reduction is over the iname: its contributions come one after the other.
        4. No dependence is carried by the loop, or by loops inside of it as they would be then:
           iterations of a vector come in no order, inside of all other loops.
        5. The domain of the iname is convex.

    Parameters:
        iname: the iname of the loop.
        width: how many components a vector has; what is no vector of 8, 16 or 32 bytes (in C:
            or 64) then is computed for one lane after the other, with the warning `NotVectorized`.
            If not given, as many as fill 32 bytes, a register of processors with AVX, with numbers
            of the largest type that the instructions touch.  Give twice as many in C where there is
            AVX-512, half as many where registers have 16 bytes (compilers make slow code of wider
            vectors), and for GPUs, which load 16 at once.
        outer_iname: the name of the loop over vectors; ``<iname>_outer`` if not given.
        inner_iname: the name of the one inside of a vector; ``<iname>_inner`` if not given.
        outer_tag: the tag of the loop over vectors.
        within: the instructions whose loop it is, as a query (`polygen.language.within`); all if
            not given.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", ["<> t = 2*x[i]", "y[i] = t*t + t"])
        >>> knl = pg.add_dtypes(knl, {"x": "float32"})
        >>> print(pg.generate_code(pg.strip_mine_to_vector(knl, "i", 2), "opencl"))
        __kernel void __attribute__((reqd_work_group_size(1, 1, 1)))
        polygen_kernel(int const n, __global float const *restrict x, __global float *restrict y)
        {
            float2 t;
            for (int i_outer = 0; i_outer < n / 2; ++i_outer) {
                t = 2.0f * vload2(0, x + 2 * i_outer);
                vstore2(t * t + t, 0, y + 2 * i_outer);
            }
            for (int i_outer = n / 2; i_outer < (n + 1) / 2; ++i_outer) {
                t.s0 = 2.0f * x[2 * i_outer];
                y[2 * i_outer] = t.s0 * t.s0 + t.s0;
            }
        }

    Raises:
        UnknownIname: if the kernel has no such iname.
        TagConflict: if 1 or 2 does not hold.
        ReductionNotSequential: if 3 does not hold.
        IllegalStep: if 4 does not hold.
        NotSeparable: if 5 does not hold.
        TypeNotFound: if `width` is not given, and a type does not follow from what is known.
        NameTaken, ReservedName, InvalidArgument, InameNotUsed, InameNeeded, NotDistributable: as
            `split_iname`.

    Source: Allen, Kennedy, Automatic translation of Fortran programs to vector form, 1987.
    """
    if width is None:
        width = _width(kernel, iname, within)
    inner = inner_iname or kernel.new_name(f"{iname}_inner")
    new = split_iname(
        kernel,
        iname,
        width,
        outer_iname=outer_iname,
        inner_iname=inner,
        outer_tag=outer_tag,
        within=within,
    )
    for insn in new.expanded.instructions:
        if inner in insn.reduction_inames:
            raise ReductionNotSequential(
                f"instruction '{insn.id}' reduces over '{iname}': what is added up in one "
                "variable is no vector",
                where=caller_location(),
                excerpt=excerpt(kernel, insn.id),
                remedy=f"keep partial results, one for each lane: split '{iname}', take the inner "
                "part to an instruction of its own, and reduce over that in another loop",
            )
    return separate_full_tiles(tag_inames(new, {inner: "vec"}), inner)


def _width(kernel: Kernel, iname: str, within: Within | None) -> int:
    """Return how many numbers of the largest type that is touched in a loop are a vector."""
    typed, known = infer_types(kernel), kernel.instructions_by_id.keys()
    left_out = known - {insn.id for insn in matching(kernel, within)} if within else ()
    sizes = {COMPUTED_BYTES}
    for insn in typed.expanded.instructions:
        if insn.id not in left_out and iname in insn.within_inames:
            for name in insn.read_names.union(insn.written_names):
                dtype = getattr(typed.variables.get(name), "dtype", None)
                if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
                    sizes.add(dtype.itemsize)
    return USUAL_VECTOR_BYTES // max(sizes)
