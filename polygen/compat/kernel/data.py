"""Names of ``loopy.kernel.data``: arguments, address spaces, tags of inames."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from polygen import AddressSpace, auto
from polygen.compat._modules import imported as __getattr__
from polygen.compat._ours import Ours
from polygen.compat.arguments import (
    ArrayArg,
    ConstantArg,
    GlobalArg,
    ImageArg,
    KernelArgument,
    TemporaryVariable,
    ValueArg,
)
from polygen.compat.instructions import SubstitutionRule
from polygen.errors import InvalidArgument
from polygen.ir.tags import AutoLocalTag as AutoFitLocalInameTag
from polygen.ir.tags import ForTag as ForceSequentialTag
from polygen.ir.tags import GroupTag as GroupInameTag
from polygen.ir.tags import IlpTag as IlpBaseTag
from polygen.ir.tags import InameTag as InameImplementationTag
from polygen.ir.tags import LocalTag as LocalInameTag
from polygen.ir.tags import UnrollHintTag, UnrollTag
from polygen.ir.tags import VectorTag as VectorizeTag
from polygen.source import caller_location


class HardwareConcurrentTag(metaclass=Ours):
    """Base class of the tags of axes of the grid."""

    kind = (GroupInameTag, LocalInameTag, AutoFitLocalInameTag)


class ConcurrentTag(metaclass=Ours):
    """Base class of the tags of inames whose iterations may be executed concurrently."""

    kind = (*HardwareConcurrentTag.kind, IlpBaseTag, VectorizeTag)


def filter_iname_tags_by_type(
    tags: Iterable[Any],
    tag_type: type | tuple[type, ...],
    max_num: int | None = None,
    min_num: int | None = None,
) -> frozenset[Any]:
    """Return those tags that are of a type, or of one of several.

    Raises:
        InvalidArgument: if these are more than `max_num`, or fewer than `min_num`.
    """
    found = frozenset([tag for tag in tags if isinstance(tag, tag_type)])
    most, least = len(found) if max_num is None else max_num, min_num or 0
    if not least <= len(found) <= most:
        raise InvalidArgument(
            f"{len(found)} of these tags are of the type {tag_type!r}",
            where=caller_location(),
            remedy="leave out min_num= and max_num=",
        )
    return found


__all__ = [
    "AddressSpace",
    "ArrayArg",
    "AutoFitLocalInameTag",
    "ConcurrentTag",
    "ConstantArg",
    "ForceSequentialTag",
    "GlobalArg",
    "GroupInameTag",
    "HardwareConcurrentTag",
    "IlpBaseTag",
    "ImageArg",
    "InameImplementationTag",
    "KernelArgument",
    "LocalInameTag",
    "SubstitutionRule",
    "TemporaryVariable",
    "UnrollHintTag",
    "UnrollTag",
    "ValueArg",
    "VectorizeTag",
    "__getattr__",
    "auto",
    "filter_iname_tags_by_type",
]
