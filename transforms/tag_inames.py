"""`polygen.tag_inames`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, cast

from polygen.errors import TagConflict
from polygen.ir.kernel import Kernel
from polygen.ir.tags import InameTag
from polygen.source import caller_location
from polygen.transformation import Kind, is_iname, is_tag, to_tag, transformation


def _is_tag_map(kernel: Kernel, value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    items = cast("Mapping[object, object]", value).items()
    return all(is_iname(kernel, iname) and is_tag(kernel, tag) for iname, tag in items)


Tags = Annotated[
    Mapping[str, str | InameTag],
    Kind("a dictionary from inames to tags, such as {'i': 'g.0'}", _is_tag_map),
]


@transformation
def tag_inames(kernel: Kernel, iname_to_tag: Tags, *, force: bool = False) -> Kernel:
    """Say how inames are implemented.

    ``g.0`` to ``g.2`` and ``l.0`` to ``l.2`` map an iname to an axis of the work groups, or of
    the work items in a group; ``l.auto`` lets the work items of a group share the iterations, on an
    axis that is chosen when code is generated (see docs/design.md); ``unr`` makes a copy of the
    loop's body for each iteration; ``for`` is a loop, as an untagged iname is.

    Kind: order and storage.

    Requires:
        1. No instruction is within two inames on one axis.
        2. The inames are untagged, or tagged ``for``, unless `force` is given.
        3. What is written in the loop of an iname tagged ``l.auto``, and what is read there and
           varies among work items, is no private temporary.
        4. When code is generated, so that other steps may come between: an iname tagged ``l`` has
           a constant number of values, one tagged ``unr`` values between two constants; no
           reduction is over an iname on an axis (`GridSizeNotKnown`, `ReductionNotSequential`).

    Parameters:
        iname_to_tag: the tag of each iname.
        force: replace other tags.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 0<=i<4 }", "out[i] = 2*a[i]")
        >>> knl = pg.add_dtypes(knl, {"a": "float32"})
        >>> print(pg.generate_code(pg.tag_inames(knl, {"i": "unr"}), "c"))
        void polygen_kernel(float const *restrict a, float *restrict out)
        {
            out[0] = 2.0f * a[0];
            out[1] = 2.0f * a[1];
            out[2] = 2.0f * a[2];
            out[3] = 2.0f * a[3];
        }

    Raises:
        UnknownIname: if the kernel has no such iname.
        InvalidArgument: if a tag is none.
        TagConflict: if 1, 2 or 3 does not hold.

    Source: Loo.py, section 2.4.2.
    """
    tags = dict(kernel.tags)
    for iname, given in iname_to_tag.items():
        old, new = tags.get(iname), to_tag(given)
        if old is not None and old != new and str(old) != "for" and not force:
            raise TagConflict(
                f"'{iname}' is tagged {old} already; asked for was {new}",
                where=caller_location(),
                remedy="force=True replaces a tag",
            )
        tags[iname] = new
    return kernel.copy(tags=tags)
