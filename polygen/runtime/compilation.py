"""What is said when a compiler does not accept the generated source."""

from __future__ import annotations

from polygen.errors import CompilationFailed
from polygen.source import caller_location

_MOST_LINES = 30


def failure(
    compiler: str,
    message: str,
    options: tuple[str, ...],
    excerpt: str | None,
    remedy: str | None = None,
) -> CompilationFailed:
    """Return the error that a compiler failed.

    Parameters:
        compiler: what it is called.
        message: what it said.
        options: those that the user gave it.
        excerpt: of the source.
        remedy: what would help, if that is known.
    """
    if remedy is None:
        remedy = (
            f"check the kernel's build options, {' '.join(options)}"
            if options
            else "the generated code should compile: please report this, with the kernel"
        )
    shown = "\n".join(message.strip("\0 \n").splitlines()[:_MOST_LINES])
    return CompilationFailed(
        f"{compiler} failed:\n{shown}", where=caller_location(), excerpt=excerpt, remedy=remedy
    )
