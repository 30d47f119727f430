"""Finds the place in a user's program: the first frame outside polygen's own files."""

from __future__ import annotations

import contextlib
import functools
import inspect
import linecache
import warnings
from collections.abc import Generator, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TypeAlias

# The transformations are reached through a link, so both spellings of their folder are ours.
_OWN = tuple(
    str(path)
    for path in (
        Path(__file__).parent,
        (Path(__file__).parent / "transforms").resolve(),
        functools.__file__,  # cached properties of ours are called from there
        contextlib.__file__,
        "<polygen:",  # wrappers that were generated
    )
)


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A place in a file of the user's.

    Attributes:
        file: its name.
        line: the number of the line, from 1.
        column: where in the line it begins, in characters from 0 (`ast` counts bytes, which is the
            same in a line of ASCII); None for all of the line.
        end: the column behind its last character; None if it ends in a later line.
        is_call: whether it is where polygen was called, which a traceback shows.
    """

    file: str
    line: int
    column: int | None = None
    end: int | None = None
    is_call: bool = field(default=False, compare=False, repr=False)

    def __str__(self) -> str:
        column = "" if self.column is None else f":{self.column + 1}"  # as editors count
        return f"{self.file}:{self.line}{column}"

    def excerpt(self) -> tuple[str, ...]:
        """Return the line, and carets below the columns; nothing if it cannot be read."""
        if self.is_call:
            return ()
        text = _line_of(self.file, self.line).rstrip()
        shown = text.lstrip()
        if not shown or self.column is None:
            return (shown,) if shown else ()
        indent = len(text) - len(shown)
        start = max(indent, min(self.column, len(text)))
        end = len(text) if self.end is None or self.end <= self.column else self.end
        space = "".join("\t" if letter == "\t" else " " for letter in text[indent:start])
        return shown, space + "^" * max(1, min(end, len(text)) - start)


@dataclass(frozen=True, slots=True)
class SeveralLocations:
    """Places that an error is about together.

    Attributes:
        places: two or more.
    """

    places: tuple[SourceLocation, ...]

    def __str__(self) -> str:
        return " and ".join(map(str, self.places))

    def excerpt(self) -> tuple[str, ...]:
        """Return the lines of all places, with carets."""
        return tuple([line for place in self.places for line in place.excerpt()])


Where: TypeAlias = SourceLocation | SeveralLocations


def together(places: Iterable[SourceLocation | None]) -> Where | None:
    """Return the places that are known, each once, as one; None if none is."""
    known = tuple(dict.fromkeys(place for place in places if place is not None))
    return SeveralLocations(known) if len(known) > 1 else (*known, None)[0]


def _line_of(file: str, number: int) -> str:
    """Return a line of a file, or of what a notebook keeps; nothing if it cannot be read."""
    if file not in linecache.cache and not Path(file).is_file():
        return ""  # linecache would look for it elsewhere
    linecache.checkcache(file)
    return linecache.getline(file, number)


_Kinds: TypeAlias = type[Warning] | tuple[type[Warning], ...]
_GATHERED: ContextVar[tuple[_Kinds, list[Warning]] | None] = ContextVar("_GATHERED", default=None)


@contextlib.contextmanager
def gathered(kind: _Kinds) -> Generator[list[Warning]]:
    """Gather the warnings of classes that `warn` is asked for, instead of issuing them."""
    found: list[Warning] = []
    token = _GATHERED.set((kind, found))
    try:
        yield found
    finally:
        _GATHERED.reset(token)


def warn(warning: Warning) -> None:
    """Issue a warning at the user's line: the innermost one that is not polygen's."""
    if (gathering := _GATHERED.get()) is not None and isinstance(warning, gathering[0]):
        gathering[1].append(warning)
        return
    depth = 1
    for frame in _frames():
        if not _is_ours(frame):
            break
        depth += 1
    warnings.warn(warning, stacklevel=depth)


_SAID: ContextVar[SourceLocation | None] = ContextVar("_SAID", default=None)


@contextlib.contextmanager
def written_at(where: SourceLocation | None) -> Generator[None]:
    """Let `caller_location` return `where`, unless that is None, until this is left."""
    token = _SAID.set(where or _SAID.get())
    try:
        yield
    finally:
        _SAID.reset(token)


def caller_location() -> SourceLocation | None:
    """Return the innermost line of the call stack that is not polygen's, or None.

    Or what `written_at` says: where a kernel is made of a program, that is a line of the program.
    """
    if (said := _SAID.get()) is not None:
        return said
    for frame in _frames():
        if not _is_ours(frame) and not frame.f_code.co_filename.startswith("<"):
            return SourceLocation(frame.f_code.co_filename, frame.f_lineno, is_call=True)
    return None


def _frames() -> Iterator[FrameType]:
    """Yield the caller's frame, its caller's, and so on; inspect.stack() is far slower."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_back is not None:
        frame = frame.f_back
        yield frame


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_OWN)
