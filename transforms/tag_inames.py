"""`polygen.tag_inames`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from fnmatch import fnmatchcase
from typing import Annotated, Any, TypeAlias, cast

from polygen.errors import TagConflict
from polygen.ir.kernel import Kernel
from polygen.ir.tags import ForTag, GroupTag, InameTag
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
        isinstance(name, str) and all(_is_reference(t) or is_tag(kernel, t) for t in _each(tags))
        for name, tags in pairs
    )


def _each(tags: object) -> Sequence[object]:
    """Return the tags of a collection; or what is none, alone."""
    if isinstance(tags, AbstractSet):
        return sorted(cast("AbstractSet[object]", tags), key=str)
    return cast("Sequence[object]", tags) if isinstance(tags, list | tuple) else (tags,)


def _is_reference(tag: object) -> bool:
    return isinstance(tag, str) and (tag in _CHOSEN or tag.startswith(_LIKE))


_LIKE = "like."
_CHOSEN = ("g.auto", "ord")  # what becomes another tag, which is the one that is printed

Given: TypeAlias = str | InameTag | Sequence[str | InameTag] | AbstractSet[str | InameTag]
Tagging = Annotated[
    Mapping[str, Given] | Sequence[tuple[str, Given]] | str,
    Kind("tags of inames, such as {'i': 'g.0'} or 'i: g.0, j: l.0'", _is_tagging),
]


@transformation
def tag_inames(
    kernel: Kernel, iname_to_tag: Tagging, force: bool = False, ignore_nonexistent: bool = False
) -> Kernel:
    """Say how inames are implemented.

    ``g.0`` to ``g.2`` and ``l.0`` to ``l.2`` map an iname to an axis of the work groups, or of
    the work items in a group; ``l.auto`` lets the work items of a group share the iterations, on an
    axis that is chosen when code is generated (see docs/design.md); ``unr`` makes a copy of the
    loop's body for each iteration, ``unr_hint`` asks the compiler to; ``ilp`` (also ``ilp.unr``),
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
    tags = dict(kernel.tags)
    for iname, given in _named(kernel, iname_to_tag, ignore_nonexistent):
        meant = [_meant(kernel, tags, iname, tag) for tag in given]
        if not meant:
            continue
        _check_the_same(iname, meant)
        old, new = tags.get(iname), meant[0]
        if old is not None and old != new and str(old) != "for" and not force:
            raise TagConflict(
                f"'{iname}' is tagged {old} already; asked for was {new}",
                where=caller_location(),
                remedy="force=True replaces a tag",
            )
        tags[iname] = new
    return kernel.copy(tags=tags)


def _check_the_same(iname: str, tags: Sequence[InameTag]) -> None:
    other = next((tag for tag in tags if tag != tags[0]), None)
    if other is not None:
        raise TagConflict(
            f"'{iname}' is to be tagged {tags[0]} and {other} at once: an iname has one tag",
            where=caller_location(),
            remedy="choose one",
        )


def _named(
    kernel: Kernel, given: object, ignore_nonexistent: bool
) -> Iterator[tuple[str, Sequence[str | InameTag]]]:
    """Yield inames and what they are to be tagged, patterns matched."""
    for name, tags in cast("list[tuple[str, object]]", _pairs(given)):
        if "*" in name or "?" in name:
            found = [i for i in kernel.inames if fnmatchcase(i, name)]
        else:
            found = [name] if name in kernel.home_domains else []
        if not found and not ignore_nonexistent:
            kernel.check_iname(name)
        each = cast("Sequence[str | InameTag]", _each(tags))
        yield from ((iname, each) for iname in found)


def _meant(
    kernel: Kernel, tags: Mapping[str, InameTag], iname: str, given: str | InameTag
) -> InameTag:
    """Return the tag that is meant, where the others are tagged as they are by now."""
    if given == "ord":
        return ForTag()
    if given == "g.auto":
        return _free_group(kernel, tags, iname)
    if isinstance(given, str) and given.startswith(_LIKE):
        like = given.removeprefix(_LIKE)
        kernel.check_iname(like)
        return tags.get(like, ForTag())
    return to_tag(given)


def _free_group(kernel: Kernel, tags: Mapping[str, InameTag], iname: str) -> GroupTag:
    around = [i.within_inames for i in kernel.expanded.instructions if iname in i.within_inames]
    taken = {tags.get(i) for inames in around for i in inames if i != iname}
    for axis in range(3):
        if GroupTag(axis) not in taken:
            return GroupTag(axis)
    raise TagConflict(
        f"no axis of work groups is free for '{iname}': what is within it is on all three",
        where=caller_location(),
        remedy="join inames first (join_inames), or leave one of them a loop",
    )
