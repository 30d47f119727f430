"""`polygen.tile`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, cast

from polygen.errors import NestingNotPossible
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.language.priorities import with_priority
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Kind, is_iname, transformation
from polygen.transforms._nesting import path_to
from polygen.transforms.split_iname import split_iname


def _is_tile(kernel: Kernel, value: Any) -> bool:
    if not isinstance(value, Mapping) or not value:
        return False
    items = cast("Mapping[object, object]", value).items()
    return all(
        is_iname(kernel, iname) and isinstance(n, int) and not isinstance(n, bool) and n > 0
        for iname, n in items
    )


Sizes = Annotated[
    Mapping[str, int], Kind("a dictionary from inames to positive integers", _is_tile)
]


@transformation
def tile(kernel: Kernel, sizes: Sizes) -> Rearranged:
    """Cut nested loops into tiles: loops over tiles outside, loops over the points of one inside.

    Each iname is split as `split_iname` does it, into ``<iname>_outer`` and ``<iname>_inner``; the
    outer loops, and the inner ones, are nested as the dictionary lists them.

    Kind: order and storage.

    Requires:
        1. The inames are not tagged, or tagged ``for``.
        2. The loops may be nested so: all instructions within one are within the others, too, and
           no bounds in a domain of their own need one of the inames.
        3. No dependence would be turned around: dependences between iterations lead forward in
           each of the loops, say (`skew` can make them).

    Parameters:
        sizes: the extents of a tile.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i,j]: 0<=i,j<16 }", "b[j] = b[j] + a[i]", name="add")
        >>> knl = pg.tile(pg.add_dtypes(knl, {"a,b": "float32"}), {"i": 4, "j": 8})
        >>> print(pg.generate_code(knl, "c"))
        void add(float const *restrict a, float *restrict b)
        {
            for (int i_outer = 0; i_outer < 4; ++i_outer) {
                for (int j_outer = 0; j_outer < 2; ++j_outer) {
                    for (int i_inner = 0; i_inner < 4; ++i_inner) {
                        for (int j_inner = 0; j_inner < 8; ++j_inner)
                            b[8 * j_outer + j_inner] += a[4 * i_outer + i_inner];
                    }
                }
            }
        }

    Raises:
        UnknownIname: if the kernel has no such iname.
        InvalidArgument: if `sizes` is something else.
        TagConflict: if 1 does not hold.
        NestingNotPossible: if 2 does not hold.
        IllegalStep: if 3 does not hold.

    Source: Irigoin, Triolet, Supernode partitioning, POPL 1988.
    """
    new, outer, inner = kernel, list[str](), list[str]()
    values: dict[str, ex.Expression] = {}
    for iname, size in sizes.items():
        outer.append(new.new_name(f"{iname}_outer"))
        inner.append(new.new_name(f"{iname}_inner"))
        new = split_iname(new, iname, size, outer_iname=outer[-1], inner_iname=inner[-1])
        tiles = ex.product_of(size, ex.Variable(outer[-1]))
        values[iname] = ex.sum_of(tiles, ex.Variable(inner[-1]))
    new = with_priority(new, (*outer, *inner))
    _check_nest(new, sizes, (*outer, *inner))
    return Rearranged(new, values)


def _check_nest(kernel: Kernel, inames: Iterable[str], loops: tuple[str, ...]) -> None:
    """Check that the loops that the inames became are nested as they are listed."""
    for iname, loop in zip(inames, loops, strict=False):
        if not path_to(kernel, loop):
            raise NestingNotPossible(
                f"'{iname}' is no loop: no instruction is within it",
                where=caller_location(),
                remedy="split_iname splits what is reduced over",
            )
    found = tuple([i for i in path_to(kernel, loops[-1]) if i in loops])
    if found != loops:
        raise NestingNotPossible(
            f"the kernel's structure does not permit these tiles: around '{loops[-1]}', the loops "
            f"would be {', '.join(found)}, and not {', '.join(loops)}",
            where=caller_location(),
            remedy="name loops that are all around the same instructions (duplicate_inames gives "
            "some loops of their own), and make one domain of those of several",
        )
