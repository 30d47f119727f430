"""`polygen.join_array_dims`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.errors import AxisNotPossible
from polygen.ir import expression as ex
from polygen.ir.array import Array
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.layout import AxisTag, Nested, Strided
from polygen.ir.show_expression import show_expression
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import transformation
from polygen.transforms.arrays.array_rewriting import Index, check_axis
from polygen.transforms.arrays.axis_rewriting import (
    Change,
    Specs,
    by_array,
    changed,
    check_plain,
    with_tags,
)


@transformation
def join_array_dims(kernel: Kernel, arrays_and_axes: Specs) -> Rearranged:
    r"""Make one axis of two that follow each other: ``a[i, j]`` becomes ``a[8*i + j]``.

    What `split_array_dim` does is undone.  The new tag is such that elements lie where they did, if
    the two axes are nested in each other; an array without tags is row-major after as before.

    Kind: order and storage, for temporaries: this is proved.  Change of interface, for arguments:
    a call passes arrays of the other shape, such as ``a.reshape(-1)`` of ``a``.

    Requires:
        1. The axis and the next one are there, and elements along them lie in one array of memory.
        2. The extent of the second one is a number (of the first one, in the order ``"F"``):
           products of sizes and inames cannot be followed by proofs.
        3. Each use of the arrays is in sight: none in verbatim C, in a call of another kernel, in
           the values of a table of constants.
        4. Strides, if given, are numbers: along the first axis that of the second one times its
           extent.

    Parameters:
        arrays_and_axes: ``("a", 0)`` to join axes 0 and 1, or a list of such pairs;
            ``("a", 0, "F")`` if elements along axis 0 are to follow each other.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j]: 0<=i<n and 0<=j<8 }", "a[i,j] = 2*a[i,j]", name="twice",
        ...     loop_priority="i, j",
        ... )
        >>> knl = pg.join_array_dims(pg.add_dtypes(knl, {"a": "float32"}), ("a", 0))
        >>> print(pg.generate_code(knl, "c"))
        void twice(float *restrict a, int const n)
        {
            for (int i = 0; i < n; ++i) {
                for (int j = 0; j < 8; ++j)
                    a[8 * i + j] = 2.0f * a[8 * i + j];
            }
        }
        >>> print(str(knl).partition("ARGUMENTS:\n")[2].splitlines()[0])
        a: GlobalArg, type: float32, shape: (8*n), strides: <runtime>

    Raises:
        UnknownArgument: if the kernel has no such array.
        AxisNotPossible: if 1, 2, 3 or 4 does not hold.
        VerbatimNotPossible: if verbatim C touches an array.
        InvalidArgument: if an array is there twice.
        IllegalStep, CannotProve: if what a temporary keeps cannot be followed.
    """
    found: dict[str, Change] = {}
    for name, (axis, fortran) in by_array(kernel, arrays_and_axes).items():
        check_axis(kernel, name, axis + 1)
        check_plain(kernel, name, axis + 1)
        extent = _fast_extent(kernel.array(name), axis, fortran)
        new = _declared(kernel.array(name), axis, extent, fortran)
        found[name] = Change(new, partial(_index, axis, extent, fortran))
    return changed(kernel, found)


def _fast_extent(array: Array, axis: int, fortran: bool) -> int:
    at = axis if fortran else axis + 1
    extent = (array.shape or ())[at]
    if isinstance(extent, int):
        return extent
    raise AxisNotPossible(
        f"axis {at} of '{array.name}' has the extent {show_expression(extent)}, which is no number:"
        " the subscript would be a product",
        where=caller_location(),
        remedy="split_array_dim, or fix_parameters, first",
    )


def _index(axis: int, extent: int, fortran: bool, index: Index) -> Index:
    slow, fast = index[axis], index[axis + 1]
    if fortran:
        slow, fast = fast, slow
    return (*index[:axis], _joined(slow, fast, extent), *index[axis + 2 :])


def _joined(slow: Expression, fast: Expression, extent: int) -> Expression:
    forms = (linear_form(slow), linear_form(fast))
    if isinstance(forms[0], LinearForm) and isinstance(forms[1], LinearForm):
        return (forms[0] * extent + forms[1]).expression()
    return ex.sum_of(ex.product_of(extent, slow), fast)


def _declared(array: Array, axis: int, extent: int, fortran: bool) -> Array:
    shape, tags, names = array.shape or (), array.dim_tags, array.dim_names
    slow = shape[axis + 1] if fortran else shape[axis]
    both = slow * extent if isinstance(slow, int) else ex.product_of(extent, slow)
    new = replace(array, shape=(*shape[:axis], both, *shape[axis + 2 :]))
    if names is not None:
        named = f"{names[axis]}_{names[axis + 1]}"
        new = replace(new, dim_names=(*names[:axis], named, *names[axis + 2 :]))
    if tags is None:
        return new
    slow_tag, fast_tag = (tags[axis + 1], tags[axis]) if fortran else (tags[axis], tags[axis + 1])
    tag = _tag(array.name, slow_tag, fast_tag, extent)
    return with_tags(new, (*tags[:axis], tag, *tags[axis + 2 :]))


def _tag(name: str, slow: AxisTag, fast: AxisTag, extent: int) -> AxisTag:
    """Return the tag of an axis that is made of two."""
    if isinstance(slow, Nested) and isinstance(fast, Nested) and extent % fast.pad_to == 0:
        return Nested(fast.level, slow.pad_to * extent if slow.pad_to > 1 else 1)
    if isinstance(slow, Strided) and isinstance(fast, Strided):
        steps = (slow.stride, fast.stride)
        if isinstance(steps[1], int) and steps[0] == steps[1] * extent:
            return fast
    raise AxisNotPossible(
        f"the axes of '{name}' that are tagged {slow} and {fast} do not follow each other evenly",
        where=caller_location(),
        remedy="give them other tags first: tag_array_axes(kernel, ..., 'C')",
    )
