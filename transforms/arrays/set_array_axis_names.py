"""`polygen.set_array_axis_names`."""

from __future__ import annotations

from dataclasses import replace

from polygen.ir.kernel import Kernel
from polygen.language.layouts import with_layout
from polygen.transformation import Names, to_names, transformation
from polygen.transforms.arrays.array_rewriting import Arrays, redeclared


@transformation(declared=True, says_more=True)
def set_array_axis_names(kernel: Kernel, ary_names: Arrays, dim_names: Names) -> Kernel:
    """Give the axes of arrays names, in place of those that they have.

    Names are kept and printed; nothing else depends on them.

    Kind: order and storage.

    Requires:
        1. There is a name for each axis; all are different.

    Parameters:
        ary_names: arguments and temporaries: ``"a, b"``, or a sequence.
        dim_names: ``"row, column"``, or a sequence of names.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i,j]: 0<=i,j<4 }", "a[i,j] = i + j", loop_priority="i, j")
        >>> knl = pg.set_array_axis_names(knl, "a", "row, column")
        >>> knl.arguments[0].dim_names
        ('row', 'column')

    Raises:
        UnknownArgument: if the kernel has no such array.
        MalformedLayout: if there are more or fewer names than axes.
        InvalidArgument: if a name is no identifier, or is there twice.

    Source: Loo.py's transformation of this name.
    """
    given = to_names(dim_names)
    return redeclared(
        kernel,
        {
            name: with_layout(replace(kernel.array(name), dim_names=given))
            for name in to_names(ary_names)
        },
    )
