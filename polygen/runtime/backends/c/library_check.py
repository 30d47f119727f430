"""Looking at a compiled library before it is loaded or kept: it is whole, and has its functions.

The loader maps a file as its headers say; where the file ends before, the process would end, too.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_MAGIC = b"\x7fELF"
_BITS, _ORDER = 4, 5  # the bytes that say how wide numbers are, and in which order
_STRINGS, _LOADED = 3, 2  # the type of a table of strings; the flag of what is in memory


@dataclass(frozen=True)
class _Format:
    """The offsets of the fields that are looked at.

    Attributes:
        header: where segments and sections begin; how long and how many they are, of each.
        segment: where its bytes begin, and how many they are.
        section: its type, its flags, where its bytes begin, and how many they are.
    """

    header: str
    segment: str
    section: str


_FORMATS = {
    1: _Format("28xII6xHHHH", "4xI8xI", "4xII4xII"),
    2: _Format("32xQQ6xHHHH", "8xQ16xQ", "4xIQ8xQQ"),
}


def why_not_a_library(binary: bytes, functions: Iterable[str]) -> str | None:
    """Return why bytes are no shared library with some functions; None if they look like one."""
    if not binary:
        return "an empty file"
    if binary[: len(_MAGIC)] != _MAGIC:
        return "a file that is no library"
    try:
        names = _names(binary)
    except (struct.error, LookupError):
        return "a library that is cut off"
    for function in functions:
        if b"%b\0" % function.encode() not in names:  # linkers keep 'f' as the end of 'printf'
            return f"a library without the function '{function}'"
    return None


def _names(binary: bytes) -> bytes:
    """Return the names of what a library has for others, and takes from them.

    Raises:
        IndexError: if the file ends before what the headers mention.
    """
    found = _FORMATS[binary[_BITS]]
    order = {1: "<", 2: ">"}[binary[_ORDER]]
    at, sections, length, count, of_section, how_many = struct.unpack_from(
        order + found.header, binary
    )
    for begin, size in _entries(binary, order + found.segment, at, length, count):
        _part(binary, begin, size)
    names = b""
    for kind, flags, begin, size in _entries(
        binary, order + found.section, sections, of_section, how_many
    ):
        if kind == _STRINGS and flags & _LOADED:
            names += _part(binary, begin, size)
    _part(binary, sections, of_section * how_many)
    return names


def _entries(
    binary: bytes, form: str, begin: int, length: int, count: int
) -> Iterator[tuple[int, ...]]:
    for number in range(count):
        yield struct.unpack_from(form, binary, begin + number * length)


def _part(binary: bytes, begin: int, size: int) -> bytes:
    if begin + size > len(binary):
        raise IndexError(begin + size)
    return binary[begin : begin + size]
