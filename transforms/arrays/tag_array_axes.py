"""`polygen.tag_array_axes`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, TypeAlias

from polygen.analysis.wellformed.element_places import check_distinct
from polygen.errors import MalformedLayout
from polygen.ir.array import Array, ImageArg
from polygen.ir.kernel import Kernel
from polygen.ir.layout import AxisTag, is_axis_tag
from polygen.ir.verify import verify
from polygen.language.layouts import with_dim_tags
from polygen.source import caller_location
from polygen.transformation import Kind, to_names, transformation
from polygen.transforms.arrays.array_rewriting import Arrays, check_no_verbatim, redeclared


def _are_tags(_kernel: Kernel, value: Any) -> bool:
    if isinstance(value, str):
        return True
    given: list[object] = [*value] if isinstance(value, list | tuple) else []
    texts = all(isinstance(tag, str) for tag in given)
    return bool(given) and (texts or all(map(is_axis_tag, given)))


AxisTags: TypeAlias = Annotated[
    str | Sequence[str | AxisTag],
    Kind("a text such as 'N1, N0', or a sequence of tags of axes", _are_tags),
]


@transformation(declared=True, says_more=True)
def tag_array_axes(kernel: Kernel, ary_names: Arrays, dim_tags: AxisTags) -> Kernel:
    """Say where the elements of arrays lie: along which axis they are side by side, and so on.

    Subscripts stay as they are, and so does what the kernel computes.  Of an argument, a call
    passes an array that lies so (`polygen.errors.WrongStrides` otherwise); of a temporary, nothing
    is seen from outside.

    Kind: change of interface, for arguments; order and storage, for temporaries.

    Requires:
        1. There is a tag for each axis, and together they give an order of the axes.
        2. No two elements of an array that is written lie in one place.
        3. Along axes tagged ``vec`` and ``sep``, the extent is a constant.
        4. Verbatim C does not touch the arrays: its text says where elements lie.

    Parameters:
        ary_names: arguments and temporaries: ``"a, b"``, or a sequence.
        dim_tags: ``"N1, N0"``: a tag for each axis, ``N0`` where neighbours are side by side;
            ``"C"`` or ``"F"`` for all; ``stride:4``, ``vec``, ``sep``: docs/reference/arrays.md.
            Names in it, ``"x:N1, y:N0"``, replace those that axes have.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = 2*a[i,j]", name="twice",
        ...     loop_priority="j, i",
        ... )
        >>> knl = pg.tag_array_axes(pg.add_dtypes(knl, {"a": "float32"}), "a, out", "F")
        >>> print(pg.generate_code(knl, "c"))
        void twice(float const *restrict a, int const m, int const n, float *restrict out)
        {
            for (int j = 0; j < m; ++j) {
                for (int i = 0; i < n; ++i)
                    out[j * n + i] = 2.0f * a[j * n + i];
            }
        }

    Raises:
        UnknownArgument: if the kernel has no such array.
        InvalidArgument: if `ary_names` or `dim_tags` is of another kind.
        MalformedTag: if 1 does not hold: a text is no tag, or the order is not clear.
        MalformedLayout: if 1 or 3 does not hold for the shape; if an array is an image or a table.
        OverlappingElements: if 2 does not hold, whatever the sizes.
        VerbatimNotPossible: if 4 does not hold.

    Source: Loo.py's transformation of this name.
    """
    names = to_names(ary_names)
    check_no_verbatim(kernel, names)
    new = redeclared(kernel, {name: _laid(kernel.array(name), dim_tags) for name in names})
    verify(new)
    check_distinct(new.expanded)
    return new


def _laid(array: Array, tags: str | Sequence[str | AxisTag]) -> Array:
    if isinstance(array, ImageArg):
        raise MalformedLayout(
            f"'{array.name}' is an image: where its elements lie is up to the device",
            where=caller_location(),
            remedy="declare it a GlobalArg",
        )
    new = with_dim_tags(array, tags)
    return new if new.dim_names is not None else replace(new, dim_names=array.dim_names)
