"""`polygen.tile`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, cast

from polygen.errors import InvalidArgument, NestingNotPossible
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.language.priorities import with_priority
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Kind, is_iname, is_positive, transformation
from polygen.transforms.inames.loop_position import path_to
from polygen.transforms.inames.tag_arguments import Given, Tags, with_tags
from polygen.transforms.splitting.split_iname import in_two


def _is_tile(kernel: Kernel, value: Any) -> bool:
    if not isinstance(value, Mapping) or not value:
        return False
    items = cast("Mapping[object, object]", value).items()
    return all(is_iname(kernel, iname) and is_positive(kernel, n) for iname, n in items)


Sizes = Annotated[
    Mapping[str, int], Kind("a dictionary from inames to positive integers below 2**63", _is_tile)
]


@transformation
def tile(
    kernel: Kernel,
    sizes: Sizes,
    outer_tags: Tags | None = None,
    inner_tags: Tags | None = None,
) -> Rearranged:
    """Cut nested loops into tiles: loops over tiles outside, loops over the points of one inside.

    Each iname is split as `split_iname` does it, into ``<iname>_outer`` and ``<iname>_inner``; the
    outer loops, and the inner ones, are nested as the dictionary lists them.

    Kind: order and storage.

    Requires:
        1. The inames are not tagged, or tagged ``for``.
        2. The loops may be nested so: all instructions within one are within the others, too, and
           no bounds in a domain of their own need one of the inames.
        3. No dependence would be turned around: dependences between iterations lead forward in
           each of the loops, say (`skew` can make them); between those of an axis of the hardware,
           there is none.
        4. What has a tag is tiled.

    Parameters:
        sizes: the extents of a tile.
        outer_tags: of the loops over tiles, by the old inames: ``{"i": "g.0"}``.
        inner_tags: of the loops over points, by the old inames.

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
        InvalidArgument: if `sizes` is something else, or if 4 does not hold.
        TagConflict: if 1 does not hold.
        NestingNotPossible: if 2 does not hold.
        IllegalStep: if 3 does not hold.

    Source: Irigoin, Triolet, Supernode partitioning, POPL 1988.
    """
    new, outer, inner = kernel, dict[str, str](), dict[str, str]()
    values: dict[str, ex.Expression] = {}
    for iname, size in sizes.items():
        outer[iname] = new.new_name(f"{iname}_outer")
        inner[iname] = new.new_name(f"{iname}_inner")
        new, values[iname] = in_two(new, iname, size, outer[iname], inner[iname])
    loops = (*outer.values(), *inner.values())
    new = with_priority(new, loops)
    _check_nest(new, sizes, loops)
    tags = (*_tags(outer, outer_tags or {}), *_tags(inner, inner_tags or {}))
    return Rearranged(with_tags(new, tags), values)


def _tags(loops: Mapping[str, str], tags: Mapping[str, Given]) -> Iterable[tuple[str, Given]]:
    for iname in tags:
        if iname not in loops:
            raise InvalidArgument(
                f"tile: '{iname}' has a tag, and is not tiled",
                where=caller_location(),
                remedy="outer_tags= and inner_tags= have the names of the loops that are tiled",
            )
    return [(loops[iname], tag) for iname, tag in tags.items()]


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
