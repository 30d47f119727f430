"""Pauses Python's garbage collection during steps."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")


def without_collection(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return a function during which Python does not look for cycles of garbage.

    To make a kernel or its code takes many small objects, and hardly one of them is in a cycle;
    looking for those takes up to a tenth of the time, more where a program has many objects.
    """

    @functools.wraps(function)
    def quiet(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        if not gc.isenabled():
            return function(*args, **kwargs)
        gc.disable()
        try:
            return function(*args, **kwargs)
        finally:
            gc.enable()

    return quiet
