"""Where the user wrote a thing: the first frame outside polygen's own files."""

from __future__ import annotations

import functools
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

# The transformations are reached through a link, so both spellings of their folder are ours.
_OWN = tuple(
    str(path)
    for path in (
        Path(__file__).parent,
        (Path(__file__).parent / "transforms").resolve(),
        functools.__file__,  # cached properties of ours are called from there
    )
)


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A line of a file of the user's."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def warn(warning: Warning) -> None:
    """Issue a warning at the user's line: the innermost one that is not polygen's."""
    depth = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(warning, stacklevel=depth)


def caller_location() -> SourceLocation | None:
    """Return the innermost line of the call stack that is not polygen's, or None."""
    frame = sys._getframe(1)  # inspect.stack() reads source files: far too slow
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_OWN) and not file.startswith("<"):
            return SourceLocation(file, frame.f_lineno)
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return None
