"""`make_copy_kernel`: kernels that copy an array into one with another layout."""

from __future__ import annotations

import re

from polygen.errors import MalformedTag, UserError, WrongArity
from polygen.ir.array import GlobalArg
from polygen.ir.kernel import Kernel
from polygen.language.make_kernel import make_kernel
from polygen.language.parser import located

_NESTED = re.compile(r"N\d")
_ABSENT = {
    "vec": "vectors as elements",
    "sep": "arrays that are split along an axis",
    "stride:auto": "strides that are taken from the call",
}


def make_copy_kernel(new_dim_tags: str, old_dim_tags: str | None = None) -> Kernel:
    """Return a kernel that copies ``input`` into ``output``, which has another layout.

    The extents are ``n0, n1, ...``.  A layout is a text with a tag for each axis:

    - ``C`` (or ``c``): the later of such axes are the faster ones; ``F`` (or ``f``): the earlier;
    - ``N0``, ``N1``, ...: the axis with ``N0`` is the fastest, then comes that with ``N1``;
    - ``stride:8`` or ``stride:2*n1``: neighbours are that many elements apart.  What such a stride
      leaves room for is not looked at by the other tags.

    Parameters:
        new_dim_tags: the layout of ``output``, as in ``"F,F"``.
        old_dim_tags: that of ``input``; ``C`` for all axes if there is none.

    Raises:
        MalformedTag: if a tag is none of these, or if they contradict each other.
        WrongArity: if the layouts are of different numbers of axes.
        UserError: as `make_kernel` does, for strides that are no expressions, say.

    >>> import numpy as np
    >>> import polygen as pg
    >>> event, (output,) = pg.make_copy_kernel("F,F")(input=np.ones((2, 3)))
    >>> output.strides
    (8, 16)
    """
    new = _strides(new_dim_tags)
    old = _strides(",".join("C" * len(new)) if old_dim_tags is None else old_dim_tags)
    if len(old) != len(new):
        raise located(
            WrongArity,
            f"the new layout is of {len(new)} axes, and the old one of {len(old)}",
            new_dim_tags,
            0,
            "give a tag for each axis",
        )
    axes = range(len(new))
    shape = tuple([f"n{axis}" for axis in axes])
    index = ", ".join(f"i{axis}" for axis in axes)
    return make_kernel(
        [f"{{ [i{axis}]: 0 <= i{axis} < n{axis} }}" for axis in axes],
        f"output[{index}] = input[{index}]",
        [
            GlobalArg("input", shape=shape, strides=old),
            GlobalArg("output", shape=shape, strides=new),
            "...",
        ],
        loop_priority=index,
    )


def _strides(text: str) -> tuple[str, ...]:
    """Return the stride of each axis, in elements."""
    tags = [tag.strip() for tag in text.split(",")]
    given = {n: tag[7:] for n, tag in enumerate(tags) if tag.startswith("stride:")}
    for axis, stride in given.items():
        if stride.strip() in ("", "auto"):
            raise _wrong(text, tags[axis])
    order = _fastest_first(text, {n: t.upper() for n, t in enumerate(tags) if n not in given})
    strides = dict(given)
    faster: list[str] = []
    for axis in order:
        strides[axis] = "*".join(faster) or "1"
        faster.append(f"n{axis}")
    return tuple([strides[axis] for axis in range(len(tags))])


def _fastest_first(text: str, tags: dict[int, str]) -> list[int]:
    """Return the axes, the one with the smallest stride first."""
    found = set(tags.values())
    for tag in tags.values():
        if tag not in ("C", "F") and not _NESTED.fullmatch(tag):
            raise _wrong(text, tag)
    if found == {"C"}:
        return sorted(tags, reverse=True)
    if found == {"F"}:
        return sorted(tags)
    expected = {f"N{level}" for level in range(len(tags))}
    if found != expected:
        raise located(
            MalformedTag,
            "these tags give no order of the axes",
            text,
            0,
            f"use C for all axes, or F, or each of {', '.join(sorted(expected))} once",
        )
    return sorted(tags, key=lambda axis: tags[axis])


def _wrong(text: str, tag: str) -> UserError:
    place = max(0, text.upper().find(tag.upper()))
    absent = _ABSENT.get(tag.lower())
    if absent is not None:
        what = f"layouts with {absent} ('{tag.lower()}') are not supported"
        return located(MalformedTag, what, text, place, None)
    return located(
        MalformedTag,
        f"'{text[place : place + len(tag)]}' is no tag of an axis",
        text,
        place,
        "tags are C, F, N0 to N9, and stride:...",
    )
