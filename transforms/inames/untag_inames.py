"""`polygen.untag_inames`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, get_args

from polygen.ir.kernel import Kernel
from polygen.ir.tags import InameTag
from polygen.transformation import Inames, Kind, is_tag, to_names, to_tag, transformation


def _is_class(value: Any) -> bool:
    return any(value is kind for kind in get_args(InameTag))


TagType = Annotated[
    str | InameTag | type[InameTag],
    Kind(
        "a tag such as 'g.0', or a class of tags such as polygen.ir.tags.GroupTag",
        lambda kernel, value: _is_class(value) or is_tag(kernel, value),
    ),
]


@transformation(says_more=True)
def untag_inames(kernel: Kernel, iname_to_untag: Inames, tag_type: TagType | None = None) -> Kernel:
    """Take inames' tags away: they are loops again.

    An iname without a tag, or with another one than is said, stays as it is.

    Kind: order and storage.

    Requires:
        1. The loops, nested as structure and priorities say, run what depends on another iteration
           after it.

    Parameters:
        iname_to_untag: ``"i"``, ``"i, j"``, or a sequence.
        tag_type: only this tag, such as ``"g.0"``, or tags of this class (`polygen.ir.tags`); all
            if not given.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 0<=i<2 }", "out[i] = 2*a[i]", name="twice")
        >>> knl = pg.tag_inames(pg.add_dtypes(knl, {"a": "float32"}), {"i": "unr"})
        >>> print(pg.generate_code(knl, "c"))
        void twice(float const *restrict a, float *restrict out)
        {
            out[0] = 2.0f * a[0];
            out[1] = 2.0f * a[1];
        }
        >>> print(pg.generate_code(pg.untag_inames(knl, "i"), "c"))
        void twice(float const *restrict a, float *restrict out)
        {
            for (int i = 0; i < 2; ++i)
                out[i] = 2.0f * a[i];
        }

    Raises:
        UnknownIname: if the kernel has no such iname.
        InvalidArgument: if `tag_type` is no tag and no class of tags.
        IllegalStep: if 1 does not hold.

    Source: Loo.py's transformation of this name.
    """
    named = to_names(iname_to_untag)
    gone = [i for i in named if i in kernel.tags and _is_meant(kernel.tags[i], tag_type)]
    if kernel.later is not None:
        waiting = [
            (i, t) for i, t in kernel.later.tags if i not in named or not _is_meant(t, tag_type)
        ]
        kernel = kernel.copy(later=replace(kernel.later, tags=tuple(waiting)))
    if not gone:
        return kernel
    return kernel.copy(tags={i: tag for i, tag in kernel.tags.items() if i not in gone})


def _is_meant(tag: InameTag, wanted: str | InameTag | type[InameTag] | None) -> bool:
    if wanted is None:
        return True
    return isinstance(tag, wanted) if isinstance(wanted, type) else tag == to_tag(wanted)
