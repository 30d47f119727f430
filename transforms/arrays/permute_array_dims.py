"""`polygen.permute_array_dims`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, TypeAlias

from polygen.errors import AxisNotPossible
from polygen.ir.array import Array, ImageArg
from polygen.ir.kernel import Kernel
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Kind, to_names, transformation
from polygen.transforms.arrays.array_rewriting import Arrays, Index
from polygen.transforms.arrays.axis_rewriting import Change, changed


def _are_numbers(_kernel: Kernel, value: Any) -> bool:
    given: list[object] = [*value] if isinstance(value, list | tuple) else [None]
    return all(isinstance(v, int) and not isinstance(v, bool) for v in given)


AxisOrder: TypeAlias = Annotated[
    Sequence[int], Kind("numbers of axes in their new order, such as (1, 0)", _are_numbers)
]


@transformation
def permute_array_dims(kernel: Kernel, ary_names: Arrays, order: AxisOrder) -> Rearranged:
    """Put the axes of arrays into another order: ``a[i, j]`` becomes ``a[j, i]``.

    The axes keep the tags that they have, so that elements lie where they did; an array without
    tags is row-major after as before, so that they lie in the other order.  So an array of
    structures, ``a[i, k]`` with few ``k``, becomes a structure of arrays, and back.

    Kind: order and storage, for temporaries: this is proved.  Change of interface, for arguments:
    a call passes ``np.transpose(a, order)`` instead of ``a``.

    Requires:
        1. Each axis is there once.
        2. Each use of the arrays is in sight: none in verbatim C, in the values of a table of
           constants.
        3. The arrays are no images.

    Parameters:
        ary_names: arguments and temporaries: ``"a, b"``, or a sequence.
        order: which axis each of the new ones was, as `numpy.transpose` takes it.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,k]: 0<=i<n and 0<=k<3 }", "x[i,k] = 2*x[i,k]", name="twice",
        ...     loop_priority="k, i",
        ... )
        >>> knl = pg.permute_array_dims(pg.add_dtypes(knl, {"x": "float32"}), "x", (1, 0))
        >>> print(pg.generate_code(knl, "c"))
        void twice(int const n, float *restrict x)
        {
            for (int k = 0; k < 3; ++k) {
                for (int i = 0; i < n; ++i)
                    x[k * n + i] = 2.0f * x[k * n + i];
            }
        }

    Raises:
        UnknownArgument: if the kernel has no such array.
        AxisNotPossible: if 1, 2 or 3 does not hold.
        VerbatimNotPossible: if verbatim C touches an array.
        IllegalStep, CannotProve: if what a temporary keeps cannot be followed.
    """

    def index(old: Index) -> Index:
        return tuple([old[axis] for axis in order])

    return changed(
        kernel,
        {name: Change(_declared(kernel.array(name), order), index) for name in to_names(ary_names)},
        parts=True,
    )


def _declared(array: Array, order: Sequence[int]) -> Array:
    shape, tags, names = array.shape or (), array.dim_tags, array.dim_names
    what = f"is an image, with {len(shape)} axes" if isinstance(array, ImageArg) else ""
    if sorted(order) != list(range(len(shape))):
        what = f"has {len(shape)} axes: {tuple(order)} is no order of them"
    if what:
        raise AxisNotPossible(
            f"'{array.name}' {what}",
            where=caller_location(),
            remedy="name each axis once, counted from 0; declare images as GlobalArg",
        )
    return replace(
        array,
        shape=tuple([shape[axis] for axis in order]),
        dim_tags=None if tags is None else tuple([tags[axis] for axis in order]),
        dim_names=None if names is None else tuple([names[axis] for axis in order]),
    )
