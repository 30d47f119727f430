"""`polygen.debug`: compiled functions run as the Python that they were written as."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from polygen.ir.public import public

PLAIN: ContextVar[bool] = ContextVar("PLAIN", default=False)


@public
@contextmanager
def debug() -> Generator[None]:
    """Run functions that `jit` returned as plain Python within ``with``: for a debugger, or prints.

    >>> import polygen as pg
    >>> @pg.jit(source="def twice(x): return 2*x")
    ... def twice(x):
    ...     return 2*x
    >>> with pg.debug():
    ...     print(twice("ab"))
    abab
    """
    token = PLAIN.set(True)
    try:
        yield
    finally:
        PLAIN.reset(token)
