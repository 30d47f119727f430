"""The error for source code that a compiler does not accept."""

from __future__ import annotations

import re

from polygen.errors import CompilationFailed
from polygen.source import caller_location

_MOST_LINES = 30
# kernel.c:4:9: error (gcc, clang), polygen.cu(4): error (NVRTC), <kernel>:4:9: error (NVIDIA's
# OpenCL), error: tempfile.cl:4:9 (PoCL).
_FILE = r"(?:\.c|\.cu|\.cl|<kernel>)[:(](\d+)"
_PLACE = re.compile(rf"{_FILE}[^\n]*\berror\b|\berror: \S*{_FILE}")


def failure(
    compiler: str,
    message: str,
    options: tuple[str, ...],
    source: str,
    kernel: str | None,
    remedy: str | None = None,
) -> CompilationFailed:
    """Return the error that a compiler failed.

    Parameters:
        compiler: what it is called.
        message: what it said.
        options: those that the user gave it.
        source: what it was given.
        kernel: the name of the kernel that this is the source of, if it is that of one.
        remedy: what would help, if that is known.
    """
    if remedy is None:
        remedy = (
            f"check the kernel's build options, {' '.join(options)}"
            if options
            else "check your own texts in it (preambles, functions, C), if there are any; if not, "
            "please report this, with the kernel"
        )
    shown = "\n".join(message.strip("\0 \n").splitlines()[:_MOST_LINES])
    what = "" if kernel is None else f" for kernel '{kernel}'"
    return CompilationFailed(
        f"{compiler} failed{what}:\n{shown}",
        where=caller_location(),
        excerpt=_excerpt(source, message),
        remedy=remedy,
    )


def _excerpt(source: str, message: str) -> str | None:
    """Return the lines around the first error, that one marked."""
    found = re.search(_PLACE, message)
    if found is None:
        return None
    at = int(found[1] or found[2]) - 1
    lines = source.splitlines()
    return "\n".join(
        f"{'->' if number == at else '  '} {number + 1:4} {lines[number]}"
        for number in range(max(0, at - 2), min(len(lines), at + 3))
    )
