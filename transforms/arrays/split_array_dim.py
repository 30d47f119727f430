"""`polygen.split_array_dim`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import gcd
from typing import Annotated, Any

from polygen.analysis.integers.isl_affine import condition_set
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import Array
from polygen.ir.domain import Domain, unflatten
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Auto, AxisTag, Nested, Strided
from polygen.proof import Rearranged
from polygen.transformation import Kind, PositiveInt, transformation
from polygen.transforms.arrays.array_rewriting import Index
from polygen.transforms.arrays.axis_rewriting import (
    Change,
    Specs,
    by_array,
    changed,
    divided,
    with_tags,
)
from polygen.transforms.splitting.split_iname import split_iname

Options = Annotated[
    Mapping[str, Any],
    Kind("arguments of split_iname, by name", lambda _, v: isinstance(v, Mapping)),
]


@transformation
def split_array_dim(
    kernel: Kernel,
    arrays_and_axes: Specs,
    count: PositiveInt,
    auto_split_inames: bool = True,
    split_kwargs: Options | None = None,
) -> Rearranged:
    r"""Make two axes of one: ``a[i]`` becomes ``a[i // count, i % count]``, in an array of blocks.

    An axis of ``n`` elements becomes two, of ``ceil(n / count)`` and ``count``; elements behind the
    last are never touched.  Tags of axes follow, so that elements that are there lie where they
    did; an array without tags is row-major after as before.

    Kind: order and storage, for temporaries: this is proved.  Change of interface, for arguments:
    a call passes arrays of the other shape, of ``a`` as
    ``np.pad(a, (0, -n % count)).reshape(-1, count)``; the sizes may have to be passed, too.

    Requires:
        1. The axes are there, and elements along them lie in one array of memory.
        2. Each use of the arrays is in sight: none in verbatim C, in a call of another kernel, in
           the values of a table of constants.
        3. The inames that are split are not tagged, or tagged ``for``.

    Parameters:
        arrays_and_axes: ``("a", 0)``, or a list of such pairs; ``("a", 0, "F")`` puts the element
            within the block first: ``a[i % count, i // count]``.
        count: how many elements a block has.
        auto_split_inames: whether inames that are subscripts along these axes are split by as
            much, so that neither ``//`` nor ``%`` is left.
        split_kwargs: what `split_iname` is given besides, by name.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = 2*a[i]", name="twice")
        >>> knl = pg.split_array_dim(pg.add_dtypes(knl, {"a": "float32"}), ("a", 0), 4)
        >>> knl = pg.prioritize_loops(knl, "i_outer, i_inner")
        >>> print(str(pg.generate_code(knl, "c")).partition("n)")[2])
        <BLANKLINE>
        {
            for (int i_outer = 0; i_outer < (n + 3) / 4; ++i_outer) {
                for (int i_inner = 0; i_inner < pg_min_i32(4, n - 4 * i_outer); ++i_inner)
                    a[4 * i_outer + i_inner] = 2.0f * a[4 * i_outer + i_inner];
            }
        }
        >>> print(str(knl).partition("ARGUMENTS:\n")[2].splitlines()[0])
        a: GlobalArg, type: float32, shape: ((n + 3)//4, 4), strides: <runtime>

    Raises:
        UnknownArgument: if the kernel has no such array.
        AxisNotPossible: if 1 or 2 does not hold.
        VerbatimNotPossible: if verbatim C touches an array.
        TagConflict: if 3 does not hold.
        InvalidArgument: if another argument will not do.
        IllegalStep, CannotProve: if what a temporary keeps cannot be followed.

    Source: Loo.py's transformation of this name.
    """
    axes = by_array(kernel, arrays_and_axes)
    new = kernel
    if auto_split_inames:
        for iname in _subscripts(kernel, {name: axis for name, (axis, _) in axes.items()}):
            new = split_iname(new, iname, count, **(split_kwargs or {}))
    return changed(
        _with_sizes(new, axes),
        {
            name: Change(
                _declared(new.array(name), axis, count, fortran),
                partial(_index, new, axis, count, fortran),
            )
            for name, (axis, fortran) in axes.items()
        },
    )


def _with_sizes(kernel: Kernel, axes: Mapping[str, tuple[int, bool]]) -> Kernel:
    """Return the kernel with what the extents of arguments say of sizes: none is negative.

    Of the number of blocks alone, that would not follow.
    """
    known = kernel.assumptions.flat
    for name, (axis, _) in axes.items():
        extent = (kernel.array(name).shape or ())[axis]
        some = condition_set(ex.Comparison(extent, ">=", 0), kernel.parameters)
        if not isinstance(extent, int) and some is not None:
            known = known.intersect(some)
    if known.is_equal(kernel.assumptions.flat):
        return kernel
    return kernel.copy(assumptions=Domain(unflatten(known, ())))


def _subscripts(kernel: Kernel, axes: Mapping[str, int]) -> list[str]:
    """Return the inames that are subscripts of arrays along these axes."""
    nodes = [access for insn in kernel.instructions for access in insn.accesses]
    nodes += [a for rule in kernel.substitutions for a in walk.accesses(rule.expression)]
    found: dict[str, None] = {}
    for node in nodes:
        axis = axes.get(ex.name_of(node))
        if axis is not None and isinstance(node, ex.Subscript):
            at = ex.index_tuple(node)[axis]
            if isinstance(at, ex.Variable) and at.name in kernel.inames:
                found[at.name] = None
    return list(found)


def _index(kernel: Kernel, axis: int, count: int, fortran: bool, index: Index) -> Index:
    block, place = divided(kernel, index[axis], count)
    both = (place, block) if fortran else (block, place)
    return (*index[:axis], *both, *index[axis + 1 :])


def _declared(array: Array, axis: int, count: int, fortran: bool) -> Array:
    shape = array.shape or ()
    both: Index = (_blocks(shape[axis], count), count)
    tags = array.dim_tags
    pair = None if tags is None else _tags(tags[axis], count)
    names = array.dim_names
    named = None if names is None else (f"{names[axis]}_outer", f"{names[axis]}_inner")
    if fortran:
        both = both[::-1]
        pair = None if pair is None else pair[::-1]
        named = None if named is None else named[::-1]
    new = replace(array, shape=(*shape[:axis], *both, *shape[axis + 1 :]))
    if names is not None and named is not None:
        new = replace(new, dim_names=(*names[:axis], *named, *names[axis + 1 :]))
    if tags is None or pair is None:
        return new
    own = tags[axis]
    others = [_above(tag, own.level) for tag in tags] if isinstance(own, Nested) else [*tags]
    return with_tags(new, (*others[:axis], *pair, *others[axis + 1 :]))


def _above(tag: AxisTag, level: int) -> AxisTag:
    """Return a tag with room for one more level below it, if it is above a level."""
    if isinstance(tag, Nested) and tag.level > level:
        return replace(tag, level=tag.level + 1)
    return tag


def _tags(tag: AxisTag, count: int) -> tuple[AxisTag, AxisTag]:
    """Return the tags of the blocks, and of what is in a block."""
    if isinstance(tag, Nested):
        pad = tag.pad_to // gcd(tag.pad_to, count)
        return Nested(tag.level + 1, pad), Nested(tag.level)
    assert isinstance(tag, Strided)  # the others are refused
    if isinstance(tag.stride, Auto):
        return tag, tag
    if isinstance(tag.stride, int):
        return Strided(tag.stride * count), tag
    return Strided(ex.product_of(count, tag.stride)), tag


def _blocks(extent: Expression, count: int) -> Expression:
    if isinstance(extent, int):
        return -(-extent // count)
    return ex.FloorDiv(ex.sum_of(extent, count - 1), count)
