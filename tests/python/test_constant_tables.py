"""Lists of constants whose subscripts vary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.python.function_source import read_function
from polygen.python.refused import Refused
from polygen.python.tracer import trace
from tests.python.compared import compare_kernels

WEIGHTS = (0.25, 0.5, 0.125)


def looked_up(x: Any, at: Any) -> Any:
    offsets = [[-1, 0], [2, 3]]
    out = np.zeros(len(x))
    for i in range(len(x)):
        k = int(at[i])
        out[i] = WEIGHTS[k] * x[i] + offsets[i % 2][-k % 2] + offsets[1][k % 2]
    return out


def typed(x: Any) -> Any:
    shifts = [1, 2]
    for i in range(2):
        x[i] = x[i] * shifts[i]
    return x


def test_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Elements are numbers of Python's, so that arrays keep their types."""
    at = np.array([0, -1, 2, 1, -3])
    calls: list[Any] = [(looked_up, (np.arange(5.0), at)), (typed, (np.ones(2, np.int8),))]
    compare_kernels(calls, monkeypatch)


def test_subscripts_outside() -> None:
    for function in (pg.jit(looked_up, target="c"), looked_up):
        with pytest.raises(IndexError):
            function(np.arange(5.0), np.array([0, 1, 2, 3, 0]))


def several_types(x: Any) -> None:
    parts = [1, 2.5]
    for i in range(2):
        x[i] = parts[i]


def different_lists(x: Any) -> None:
    parts = [[1, 2], [3]]
    for i in range(1):
        x[i] = parts[i][i]


def whole_rows(x: Any) -> None:
    parts = [[1, 2], [3, 4]]
    for i in range(2):
        row = parts[i]
        x[i] = row[0]


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (several_types, "several types"),
        (different_lists, "different lists"),
        (whole_rows, "write both"),
    ],
)
def test_refused(function: Any, says: str) -> None:
    source = read_function(function)
    with pytest.raises(Refused) as found:
        trace(source, source.tree.body, {"x": np.zeros(2)})
    assert says in f"{found.value.why}: {found.value.remedy}"
    x, meant = np.zeros(2), np.zeros(2)
    pg.jit(function)(x)
    function(meant)
    np.testing.assert_array_equal(x, meant)
