"""Finds the place in a user's program: the first frame outside polygen's own files."""

from __future__ import annotations

import contextlib
import functools
import inspect
import warnings
from collections.abc import Generator, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

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
    """A line of a file of the user's.

    Attributes:
        file: its name.
        line: the number, from 1.
    """

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def warn(warning: Warning) -> None:
    """Issue a warning at the user's line: the innermost one that is not polygen's."""
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
            return SourceLocation(frame.f_code.co_filename, frame.f_lineno)
    return None


def _frames() -> Iterator[FrameType]:
    """Yield the caller's frame, its caller's, and so on; inspect.stack() is far slower."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_back is not None:
        frame = frame.f_back
        yield frame


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_OWN)
