"""Warnings that are issued once a kernel: not again for what steps and copies make of it."""

from __future__ import annotations

from collections.abc import Generator, Hashable
from contextlib import contextmanager
from contextvars import ContextVar

from polygen.ir.kernel import Kernel

_ANEW: ContextVar[bool] = ContextVar("_ANEW", default=False)


@contextmanager
def telling_anew() -> Generator[None]:
    """Let all be told, and remember nothing of it: pages and reports show what there is to say."""
    token = _ANEW.set(True)
    try:
        yield
    finally:
        _ANEW.reset(token)


def is_news(kernel: Kernel, what: Hashable) -> bool:
    """Tell whether something was not said yet of a kernel; from now on it was."""
    if _ANEW.get():
        return True
    told: set[Hashable] = kernel.facts.setdefault(is_news, set())
    if what in told:
        return False
    told.add(what)
    return True
