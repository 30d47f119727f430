"""Calls in functions that are compiled: helpers that change arrays."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from tests.jit.random_functions.check import in_python


def raised(x: Any) -> Any:
    x[0] = x[0] + 1
    return x[0]


def read_before(x: Any, y: Any, n: int) -> None:
    for i in range(n):
        y[i] = x[0] + 10 * raised(x) + x[0]


def updated(x: Any, y: Any, n: int) -> None:
    for i in range(n):
        y[i] = i
        x[0] += raised(x)


def with_a_name(x: Any, y: Any, n: int) -> None:
    s = 0.0
    for i in range(n):
        found = raised(x)
        y[i] = found + x[0]
        s += raised(x)
    y[0] = s


@pytest.mark.parametrize(
    ("function", "is_kernel"), [(read_before, False), (updated, False), (with_a_name, True)]
)
def test_what_stands_before_a_call_is_read_before(
    function: Callable[..., Any], is_kernel: bool
) -> None:
    wanted = (np.arange(3.0), np.zeros(3), 3)
    found = copy.deepcopy(wanted)
    function(*wanted)
    compiled = pg.jit(function, target="c")
    compiled(*found)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
    assert (in_python(compiled) == []) is is_kernel
    assert is_kernel or "changes an array" in compiled.explain()
