"""`polygen.tag_inames`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any, cast

from polygen.ir.kernel import Kernel
from polygen.transformation import Kind, transformation
from polygen.transforms.inames.tag_arguments import Given, are_tags, with_tags


def _pairs(given: object) -> list[tuple[object, object]] | None:
    """Return the names and tags that are listed: ``"i: g.0, j: l.0"``, pairs or a dictionary."""
    if isinstance(given, str):
        parts = [part.partition(":") for part in given.split(",")]
        return [(name.strip(), tag.strip()) for name, _, tag in parts]
    if isinstance(given, Mapping):
        return list(cast("Mapping[object, object]", given).items())
    if not isinstance(given, list | tuple):
        return None
    pairs = cast("Sequence[object]", given)
    found = [cast("tuple[object, object]", p) for p in pairs if isinstance(p, tuple | list)]
    return found if len(found) == len(pairs) and all(len(p) == 2 for p in found) else None


def _is_tagging(kernel: Kernel, value: Any) -> bool:
    pairs = _pairs(value)
    return pairs is not None and all(
        isinstance(name, str) and are_tags(kernel, tags) for name, tags in pairs
    )


Tagging = Annotated[
    Mapping[str, Given] | Sequence[tuple[str, Given]] | str,
    Kind("tags of inames, such as {'i': 'g.0'} or 'i: g.0, j: l.0'", _is_tagging),
]


@transformation(says_more=True)
def tag_inames(
    kernel: Kernel, iname_to_tag: Tagging, force: bool = False, ignore_nonexistent: bool = False
) -> Kernel:
    """Say how inames are implemented.

    ``g.0`` to ``g.2`` and ``l.0`` to ``l.2`` map an iname to an axis of the work groups, or of
    the work items in a group; ``l.auto`` lets the work items of a group share the iterations, on an
    axis that is chosen when code is generated (see docs/design.md); ``unr`` makes a copy of the
    loop's body for each iteration, ``unr_hint`` asks the compiler to; ``mma`` lets tensor cores
    execute loops around a sum of products (see `use_tensor_cores`); ``ilp`` (also ``ilp.unr``),
    ``ilp.seq`` and ``vec`` execute each instruction for all iterations side by side: by copies,
    by a loop around it, by vectors (see docs/loops.md); ``for`` is a loop, as an
    untagged iname is, and so is ``ord``: all loops run in order.  ``g.auto`` stands for the first
    axis of work groups that no instruction within the iname is on yet, ``like.j`` for the tag of
    another iname (``for``, if it has none).

    Kind: order and storage.

    Requires:
        1. No instruction is within two inames on one axis, or two tagged ``vec``.
        2. The inames are untagged, or tagged ``for``, unless `force` is given.
        3. What is written in the loop of an iname tagged ``l.auto``, and what is read there and
           varies among work items, is no private temporary.
        4. When code is generated, so that other steps may come between: an iname tagged ``l`` has
           a constant number of values, one tagged ``unr``, ``ilp`` or ``vec`` values between two
           constants, one tagged ``ilp.seq`` as well if its lanes have temporaries of their own; no
           reduction is over an iname tagged ``g``, or over lanes (`GridSizeNotKnown`,
           `NotUnrollable`, `LanesNotConstant`, `ReductionNotSequential`).  Work items of a group
           may share a reduction.
        5. No dependence is between iterations of an iname on an axis, or lanes, which come in no
           order.

    Parameters:
        iname_to_tag: the tag of each iname: a dictionary, a list of pairs, or a text such as
            ``"i: g.0, j: l.0"``.  In a name, ``*`` and ``?`` stand for any letters, or any one.
            In a dictionary or pair, a collection of tags may stand for a tag: an iname has one tag,
            so all in it have to stand for the same; an empty one leaves the iname as it is.
        force: replace other tags.
        ignore_nonexistent: leave out names that are no inames.

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
        TagConflict: if 1, 2 or 3 does not hold, if tags in a collection differ, or if there is no
            axis left for ``g.auto``.
        IllegalStep: if 5 does not hold.

    Source: Loo.py, section 2.4.2.
    """
    named = _named(kernel, iname_to_tag, ignore_nonexistent)
    return with_tags(kernel, named, force=force)


def _named(kernel: Kernel, given: object, ignore_nonexistent: bool) -> Iterator[tuple[str, Given]]:
    """Yield inames and what they are to be tagged, patterns matched."""
    for name, tags in cast("list[tuple[str, Given]]", _pairs(given)):
        if "*" in name or "?" in name:
            found = [i for i in kernel.inames if fnmatchcase(i, name)]
        else:
            found = [name] if name in kernel.home_domains else []
        if not found and not ignore_nonexistent:
            kernel.check_iname(name)
        yield from ((iname, tags) for iname in found)
