"""Tags of inames: sequential, unrolled, vector lanes, or an axis of the grid."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from polygen.errors import MalformedTag, close_names


@dataclass(frozen=True, slots=True)
class ForTag:
    """A loop.  What an untagged iname becomes, too."""

    def __str__(self) -> str:
        return "for"


@dataclass(frozen=True, slots=True)
class UnrollTag:
    """One copy of the loop's body for each iteration."""

    def __str__(self) -> str:
        return "unr"


@dataclass(frozen=True, slots=True)
class UnrollHintTag:
    """A loop that the compiler is asked to unroll."""

    def __str__(self) -> str:
        return "unr_hint"


@dataclass(frozen=True, slots=True)
class MatrixTag:
    """A loop of a product of small matrices, which the tensor cores of a GPU compute at once.

    Where there are none, it is a loop that the compiler is asked to unroll.
    """

    def __str__(self) -> str:
        return "mma"


@dataclass(frozen=True, slots=True)
class GroupTag:
    """The index of the work group along an axis of the grid."""

    axis: int

    def __str__(self) -> str:
        return f"g.{self.axis}"


@dataclass(frozen=True, slots=True)
class LocalTag:
    """The index of the work item in its group, along an axis."""

    axis: int

    def __str__(self) -> str:
        return f"l.{self.axis}"


@dataclass(frozen=True, slots=True)
class AutoLocalTag:
    """An axis of the work items that is chosen when code is generated."""

    def __str__(self) -> str:
        return "l.auto"


@dataclass(frozen=True, slots=True)
class IlpTag:
    """Lanes side by side: each instruction is executed for all of them before the next one is.

    Attributes:
        is_loop: whether an instruction is in a loop over the lanes, rather than copied for each.
    """

    is_loop: bool = False

    def __str__(self) -> str:
        return "ilp.seq" if self.is_loop else "ilp"


@dataclass(frozen=True, slots=True)
class VectorTag:
    """Lanes side by side that are the components of vectors."""

    def __str__(self) -> str:
        return "vec"


InameTag: TypeAlias = (
    ForTag
    | UnrollTag
    | UnrollHintTag
    | MatrixTag
    | GroupTag
    | LocalTag
    | AutoLocalTag
    | IlpTag
    | VectorTag
)
HardwareTag: TypeAlias = GroupTag | LocalTag

_AXES: dict[str, InameTag] = {
    **{f"g.{axis}": GroupTag(axis) for axis in range(3)},
    **{f"l.{axis}": LocalTag(axis) for axis in range(3)},
}
_PLAIN: dict[str, InameTag] = {
    "for": ForTag(),
    "unr": UnrollTag(),
    "unr_hint": UnrollHintTag(),
    "mma": MatrixTag(),
    "ilp": IlpTag(),
    "ilp.unr": IlpTag(),
    "ilp.seq": IlpTag(is_loop=True),
    "vec": VectorTag(),
    "l.auto": AutoLocalTag(),
}


def parse_tag(text: str) -> InameTag:
    """Return the tag that `text` stands for.

    Raises:
        MalformedTag: if it stands for none.

    >>> parse_tag("g.0")
    GroupTag(axis=0)
    """
    if tag := _PLAIN.get(text) or _AXES.get(text):
        return tag
    raise MalformedTag(
        f"'{text}' is no iname tag",
        remedy=f"{_meant(text)}the tags are: for, unr, unr_hint, mma, ilp, ilp.seq, vec, g.0 to "
        "g.2 (work groups), l.0 to l.2 (work items), l.auto; steps on loops also take g.auto, "
        "ord and like.INAME",
    )


_OTHERWISE = re.compile(r"(?P<kind>[gl])(roup|ocal)?(id)?[._]?(?P<axis>[0-2]|auto)")


def _meant(text: str) -> str:
    """Return what a text that is no tag may have been meant to be, as the beginning of a remedy."""
    known = [*_PLAIN, "g.auto", *_AXES]
    if match := _OTHERWISE.fullmatch(text.lower()):
        return f"did you mean '{match['kind']}.{match['axis']}'? "
    if "." in text:
        return ""  # an axis that there is not
    close = close_names(text.lower(), known, 1)
    return f"did you mean '{close[0]}'? " if close else ""


_ON_AXIS = (GroupTag, LocalTag, AutoLocalTag)


def is_on_axis(tag: InameTag | None) -> bool:
    """Tell whether an iname with this tag is on an axis of the hardware's grid."""
    return isinstance(tag, _ON_AXIS)


def is_lane(tag: InameTag | None) -> bool:
    """Tell whether iterations of an iname with this tag are lanes."""
    return isinstance(tag, IlpTag | VectorTag)


def is_parallel(tag: InameTag | None) -> bool:
    """Tell whether iterations of an iname with this tag run in no particular order."""
    return is_on_axis(tag) or is_lane(tag)
