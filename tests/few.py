"""Lets `make test` run some cases of a test, and `make test-more` the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from _pytest.mark import ParameterSet


def few(
    count: int, names: str | Sequence[str], cases: Iterable[Any], **options: Any
) -> pytest.MarkDecorator:
    """Return what `pytest.mark.parametrize` makes, with all but the first cases marked `more`.

    Parameters:
        count: how many cases come first.
        names: those of the parameters.
        cases: their values.
        options: other ones of `pytest.mark.parametrize`.
    """
    several = "," in names if isinstance(names, str) else len(names) > 1
    given = [
        case
        if number < count
        else pytest.param(*case.values, marks=[*case.marks, pytest.mark.more], id=case.id)
        if isinstance(case, ParameterSet)
        else pytest.param(*(case if several else [case]), marks=pytest.mark.more)
        for number, case in enumerate(cases)
    ]
    return pytest.mark.parametrize(names, given, **options)
