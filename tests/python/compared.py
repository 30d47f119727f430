"""Functions under `pg.jit` beside plain Python on NumPy; many are compiled at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import polygen as pg
from tests.jit.agreement import Outcome, check, outcome
from tests.jit.random_functions.check import in_python
from tests.jit.together import outcomes

Call = tuple[Callable[..., Any], Sequence[Any]]


def compare(
    calls: Sequence[Call], patch: pytest.MonkeyPatch, roundings: float = 100.0
) -> list[Any]:
    """Call functions, compare with plain Python, and return them as compiled.

    Parameters:
        calls: functions of different names, and arguments.
        patch: a pytest's.
        roundings: see `check`.
    """
    jitted = [pg.jit(function, target="c") for function, _ in calls]
    given = [(one, arguments) for one, (_, arguments) in zip(jitted, calls, strict=True)]
    found = outcomes(given, patch)
    for left, (function, arguments) in zip(found, calls, strict=True):
        if not isinstance(left, Outcome):
            raise AssertionError(function.__name__) from left
        check(left, outcome(function, arguments), roundings)
    return jitted


def compare_kernels(calls: Sequence[Call], patch: pytest.MonkeyPatch) -> None:
    """Compare calls of functions of which all that is repeated is in kernels."""
    for function in compare(calls, patch):
        assert in_python(function) == [], function.explain()


def compare_in_rounds(calls: Sequence[Call], patch: pytest.MonkeyPatch) -> None:
    """Compare calls as `compare_kernels` does; a function may be called several times."""
    waiting = list(calls)
    while waiting:
        now: dict[str, Call] = {}
        later: list[Call] = []
        for call in waiting:
            name = call[0].__name__
            if name in now:
                later.append(call)
            else:
                now[name] = call
        compare_kernels(list(now.values()), patch)
        waiting = later


def returning(text: str, **options: Any) -> Any:
    """Return a compiled function of an array `a`: what it returns is a text."""
    source = f"def f(a):\n    return {text}\n"
    names: dict[str, Any] = {"np": np}
    exec(source, names)  # noqa: S102  a test's own text
    return pg.jit(names["f"], source=source, **options)
