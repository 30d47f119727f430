"""Tags as transformations take them: texts, tags, collections of these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Annotated, Any, TypeAlias, cast

from polygen.analysis.integers.proving import proofs_are_on
from polygen.errors import TagConflict
from polygen.ir.kernel import Kernel
from polygen.ir.tags import AutoLocalTag, ForTag, GroupTag, InameTag, LocalTag
from polygen.ir.verify import clash
from polygen.source import caller_location
from polygen.transformation import Kind, is_iname, is_tag, to_tag

_LIKE = "like."
_CHOSEN = ("g.auto", "ord")  # what becomes another tag, which is the one that is printed


def are_tags(kernel: Kernel, value: object) -> bool:
    """Tell whether `value` is a tag, or a collection of tags.

    Raises:
        MalformedTag: if a text in it stands for none.
    """
    return all(_is_reference(tag) or is_tag(kernel, tag) for tag in _each(value))


def _is_reference(tag: object) -> bool:
    return isinstance(tag, str) and (tag in _CHOSEN or tag.startswith(_LIKE))


def _each(tags: object) -> Sequence[object]:
    """Return the tags of a collection; or what is none, alone."""
    if isinstance(tags, AbstractSet):
        return sorted(cast("AbstractSet[object]", tags), key=str)
    return cast("Sequence[object]", tags) if isinstance(tags, list | tuple) else (tags,)


def _is_tag_map(kernel: Kernel, value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    items = cast("Mapping[object, object]", value).items()
    return all(is_iname(kernel, iname) and are_tags(kernel, tags) for iname, tags in items)


Given: TypeAlias = str | InameTag | Sequence[str | InameTag] | AbstractSet[str | InameTag]
AnyTag: TypeAlias = Annotated[Given, Kind("an iname tag such as 'g.0' or 'unr'", are_tags)]
Tags: TypeAlias = Annotated[
    Mapping[str, Given],
    Kind("a dictionary from inames to tags, such as {'i': 'g.0'}", _is_tag_map),
]


def with_tags(
    kernel: Kernel, given: Iterable[tuple[str, Given | None]], *, force: bool = True
) -> Kernel:
    """Return the kernel with tags of inames, each as it is meant where those before it have theirs.

    Raises:
        TagConflict: if an iname gets another tag than it has, and that is not forced; if tags in a
            collection differ; or if there is no axis left for ``g.auto``.
        UnknownIname: if a tag is to be like that of no iname.
    """
    tags, named = dict(kernel.tags), list[str]()
    for iname, given_tags in given:
        each = () if given_tags is None else cast("Sequence[str | InameTag]", _each(given_tags))
        meant = [_meant(kernel, tags, iname, tag) for tag in each]
        if not meant:
            continue
        _check_the_same(iname, meant)
        old, new = tags.get(iname), meant[0]
        if isinstance(old, AutoLocalTag) and isinstance(new, LocalTag):
            old = None  # it is one of them
        if old is not None and old != new and str(old) != "for" and not force:
            raise TagConflict(
                f"'{iname}' is tagged {old} already; asked for was {new}",
                where=caller_location(),
                remedy="force=True replaces a tag",
            )
        tags[iname] = new
        named.append(iname)
    return kernel.copy(tags=tags) if kernel.later is None else _in_time(kernel, tags, named)


def _in_time(kernel: Kernel, tags: dict[str, InameTag], named: Sequence[str]) -> Kernel:
    """Return a kernel with tags, or some of them later.

    Those come later that put two inames of an instruction on one axis; all, if the result of the
    kernel is open.

    Parameters:
        kernel: the kernel.
        tags: all that it is to have.
        named: the inames whose tags are new.
    """
    assert kernel.later is not None
    waiting = {iname: tag for iname, tag in kernel.later.tags if iname not in named}
    if kernel.later.open and proofs_are_on():
        waiting |= {iname: tags[iname] for iname in named if tags[iname] != kernel.tags.get(iname)}
        tags = dict(kernel.tags)
    while (found := clash(kernel, tags)) is not None:
        last = max(found, key=lambda iname: named.index(iname) if iname in named else -1)
        if last not in named:
            break  # which was so before
        waiting[last] = tags.pop(last)
    return kernel.copy(tags=tags, later=replace(kernel.later, tags=tuple(waiting.items())))


def _check_the_same(iname: str, tags: Sequence[InameTag]) -> None:
    other = next((tag for tag in tags if tag != tags[0]), None)
    if other is not None:
        raise TagConflict(
            f"'{iname}' is to be tagged {tags[0]} and {other} at once: an iname has one tag",
            where=caller_location(),
            remedy="choose one",
        )


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
