"""Failures of the command: their messages, and its exit status."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from polygen.errors import PolygenError, PolygenWarning
from polygen.source import SourceLocation

FINE = 0
NO = 1
FAILED = 2
UNDECIDED = 3


def told_failure(error: Exception, inputs: str) -> int:
    """Say what went wrong, in one paragraph, and return the exit status.

    Parameters:
        error: what was raised.
        inputs: the files that the command was given.
    """
    sys.stdout.flush()
    sys.stderr.write(f"{shown(error, inputs)}\n")
    return FAILED


def shown(error: Exception, inputs: str) -> str:
    """Return what is said of an error: ``file:line:column: what is wrong``, and what would help."""
    if not isinstance(error, PolygenError):
        return f"polygen: {error}"
    where, error.where = error.where, None
    text = str(error)
    error.where = where
    return f"{inputs if where is None or _is_command(where) else where}: {text}"


def _is_command(where: object) -> bool:
    """Tell whether a place is in the script that starts the command, where no user looks."""
    return isinstance(where, SourceLocation) and where.file == sys.argv[0]


@contextmanager
def told_warnings() -> Generator[None]:
    """Let warnings of polygen's be single lines of the standard error."""

    def tell(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        sys.stderr.write(f"polygen: warning: {message} [{category.__name__}]\n")

    with warnings.catch_warnings():
        warnings.simplefilter("always", PolygenWarning)
        warnings.showwarning = tell
        yield
