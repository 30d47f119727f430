"""Attributes of kernels whose code is in higher layers: loaded when first used."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pkgutil import resolve_name
from typing import Any

_HOMES = {
    "show": "polygen.ir.show:show_kernel",
    "inlined": "polygen.analysis.expansion.inlining:inlined",
    "space": "polygen.analysis.pairs.automatic_spaces:chosen_space",
    "routine": "polygen.language.library_routines:routine_kernel",
    "axes": "polygen.lower.automatic:on_axes",
    "launches": "polygen.lower.spaces:in_launches",
    "executor": "polygen.runtime.executor:Executor",
    "record_function": "polygen.lazy.other_calls:record_function",
    "record_kernel": "polygen.lazy.other_calls:record_kernel",
    "html": "polygen.inspection.pages.notebook:in_notebook",
}


@cache
def slot(name: str) -> Callable[..., Any]:
    """Return the function that a kernel uses for ``"show"``, ``"inlined"``, ``"space"``, ..."""
    found: Callable[..., Any] = resolve_name(_HOMES[name])
    return found
