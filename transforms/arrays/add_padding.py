"""`polygen.add_padding`."""

from __future__ import annotations

from dataclasses import replace
from math import gcd, lcm

from polygen.errors import AxisNotPossible
from polygen.ir.array import Array
from polygen.ir.kernel import Kernel
from polygen.ir.layout import AxisTag, DimTags, Nested, Strided, element_strides
from polygen.source import caller_location
from polygen.transformation import PositiveInt, transformation
from polygen.transforms.arrays.array_rewriting import ArrayName, AxisNumber, check_axis, redeclared
from polygen.transforms.arrays.axis_rewriting import check_plain, with_all_tags
from polygen.transforms.arrays.tag_array_axes import tag_array_axes


@transformation(declared=True)
def add_padding(
    kernel: Kernel, variable: ArrayName, axis: AxisNumber, align_bytes: PositiveInt
) -> Kernel:
    """Leave room in an array so that neighbours along an axis are a multiple of bytes apart.

    Where the array begins, ``alignment=`` says where it is declared.

    Kind: change of interface, for arguments: a call passes an array with that room, and outputs
    are allocated so.  Order and storage, for temporaries.

    Requires:
        1. The axis is there, and is not the one along which neighbours are side by side.
        2. If its stride is given, it is a number, and no other one is greater.
        3. The type of the elements is known.

    Parameters:
        variable: an argument or a temporary.
        axis: the number of the axis, from 0.
        align_bytes: of how many bytes the stride becomes a multiple.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j]: 0<=i<n and 0<=j<5 }", "a[i,j] = i + j", name="fill",
        ...     loop_priority="i, j",
        ... )
        >>> knl = pg.add_padding(pg.add_dtypes(knl, {"a": "float32"}), "a", 0, 32)
        >>> print(pg.generate_code(knl, "c"))
        void fill(float *restrict a, int const n)
        {
            for (int i = 0; i < n; ++i) {
                for (int j = 0; j < 5; ++j)
                    a[8 * i + j] = i + j;
            }
        }

    Raises:
        UnknownArgument: if the kernel has no such array.
        AxisNotPossible: if 1, 2 or 3 does not hold.
        VerbatimNotPossible: if verbatim C touches the array.
        InvalidArgument: if another argument will not do.

    Source: Loo.py's transformation of this name (which counts elements, not bytes).
    """
    check_axis(kernel, variable, axis)
    check_plain(kernel, variable, axis)
    array = kernel.array(variable)
    if array.dtype is None:
        raise _refused(
            f"the type of '{variable}' is not known, nor how many bytes an element takes",
            f"say it first: add_dtypes(kernel, {{'{variable}': ...}})",
        )
    array = with_all_tags(array)
    step = align_bytes // gcd(align_bytes, array.dtype.itemsize if array.dtype else 1)
    return tag_array_axes(
        redeclared(kernel, {variable: array}), variable, _padded(array, axis, step)
    )


def _refused(what: str, remedy: str) -> AxisNotPossible:
    return AxisNotPossible(what, where=caller_location(), remedy=remedy)


def _padded(array: Array, axis: int, step: int) -> DimTags:
    """Return tags with which neighbours along an axis are a multiple of `step` elements apart."""
    tags = [*(array.dim_tags or ())]
    tag = tags[axis]
    if isinstance(tag, Strided):
        tags[axis] = _rounded(array, axis, step)
        return tuple(tags)
    level = tag.level if isinstance(tag, Nested) else 0
    for inner, other in enumerate(tags):
        if isinstance(other, Nested) and other.level == level - 1:
            below = (element_strides(array) or ())[inner]
            needed = step // gcd(step, below) if isinstance(below, int) else step
            tags[inner] = replace(other, pad_to=lcm(other.pad_to, needed))
            return tuple(tags)
    raise _refused(
        f"along axis {axis} of '{array.name}' neighbours are side by side: no room is left there",
        "name an axis that this one is nested in",
    )


def _rounded(array: Array, axis: int, step: int) -> AxisTag:
    strides = element_strides(array) or ()
    numbers = [s for s in strides if isinstance(s, int)]
    own = strides[axis]
    if not isinstance(own, int) or len(numbers) < len(strides) or max(numbers) > own:
        raise _refused(
            f"the stride of axis {axis} of '{array.name}' cannot grow: it is no number, or there is"
            " a greater one",
            "give the axes the tags N0, N1, ...: tag_array_axes",
        )
    return Strided(-(-own // step) * step)
