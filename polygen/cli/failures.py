"""What the command says when it cannot do what it was asked, and the status that it ends with."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from polygen.errors import PolygenError, PolygenWarning

FINE = 0
NO = 1
FAILED = 2
UNDECIDED = 3


def told_failure(error: Exception) -> int:
    """Say what went wrong, in one paragraph, and return the exit status."""
    sys.stdout.flush()
    sys.stderr.write(f"{shown(error)}\n")
    return FAILED


def shown(error: Exception) -> str:
    """Return what is said of an error: ``file:line:column: what is wrong``, and what would help."""
    if not isinstance(error, PolygenError):
        return f"polygen: {error}"
    where, error.where = error.where, None
    text = str(error)
    error.where = where
    return f"{where or 'polygen'}: {text}"


@contextmanager
def told_warnings() -> Generator[None]:
    """Let warnings of polygen's be single lines of the standard error."""

    def tell(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        sys.stderr.write(f"polygen: warning: {message} [{category.__name__}]\n")

    with warnings.catch_warnings():
        warnings.simplefilter("always", PolygenWarning)
        warnings.showwarning = tell
        yield
