"""`polygen.change_arg_to_image`."""

from __future__ import annotations

from polygen.errors import InvalidArgument, MalformedLayout
from polygen.ir.array import GlobalArg, ImageArg
from polygen.ir.kernel import Kernel
from polygen.source import caller_location
from polygen.transformation import transformation
from polygen.transforms.arrays.array_rewriting import ArrayName, check_no_verbatim, redeclared


@transformation(declared=True)
def change_arg_to_image(kernel: Kernel, name: ArrayName) -> Kernel:
    r"""Let an array that is only read be an image of OpenCL's, which has a cache of its own.

    Kind: change of interface: a call copies arrays into images, or passes images.

    Requires:
        1. It is an argument that is not written, of two or three axes.
        2. It has no layout, no offset, no alignment, and no ``may_alias``.
        3. Verbatim C does not touch it.

    Parameters:
        name: the argument.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i,j]: 0<=i,j<n }", "out[i,j] = 2*a[j,i]", name="turn",
        ...                      loop_priority="i, j")
        >>> knl = pg.change_arg_to_image(pg.add_dtypes(knl, {"a": "float32"}), "a")
        >>> print("\n".join(str(pg.generate_code(knl, "opencl")).splitlines()[3:]))
        __kernel void __attribute__((reqd_work_group_size(1, 1, 1)))
        turn(read_only image2d_t a, int const n, __global float *restrict out)
        {
            for (int i = 0; i < n; ++i) {
                for (int j = 0; j < n; ++j)
                    out[i * n + j] = 2.0f * read_imagef(a, pg_sampler, (int2)(i, j)).x;
            }
        }

    Raises:
        UnknownArgument: if the kernel has no such array.
        InvalidArgument: if it is a temporary.
        MalformedKernel: if it is written, or has another number of axes.
        MalformedLayout: if 2 does not hold.
        VerbatimNotPossible: if 3 does not hold.

    Source: Loo.py's transformation of this name.
    """
    old = kernel.array(name)
    if not isinstance(old, GlobalArg):
        raise InvalidArgument(
            f"'{name}' is a temporary: images are passed by calls",
            where=caller_location(),
            remedy="name an argument",
        )
    check_no_verbatim(kernel, [name])
    plain = type(old)(name, old.dtype, old.shape)
    if old != plain:
        raise MalformedLayout(
            f"'{name}' has a layout, an offset or an alignment, or may overlap others: an image has"
            " and does none of this",
            where=caller_location(),
            remedy="declare no more than its type and its shape",
        )
    return redeclared(kernel, {name: ImageArg(name, old.dtype, old.shape)})
