"""How wide subscripts are for the numbers that calls pass: 32 bits, unless a value needs more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.pipeline import build_program
from polygen.runtime.calls.arguments import VariantKey
from tests.few import few

A = pg.GlobalArg("a", shape="n")
LINE = "{ [i]: 0<=i<n }"
VALUES = (3, -3, 2**20, 2**31 - 2**20 - 1, 2**31 - 1, 2**31, 2**40, -(2**31), -(2**40))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[VariantKey]:
    """Return the keys of the variants that are made."""
    keys: list[VariantKey] = []

    def noted(kernel: Any, target: str, index_dtype: Any) -> Any:
        scalars = tuple((a.name, a.dtype) for a in kernel.arguments if a.name == "s")
        keys.append(VariantKey(target, scalars, (), index_dtype))
        return build_program(kernel, target, index_dtype)

    monkeypatch.setattr("polygen.pipeline.build_program", noted)
    return keys


def _widths(keys: list[VariantKey]) -> list[tuple[str, str]]:
    """Return the types of the scalar and of subscripts in each variant."""
    return [(str(dict(key.dtypes).get("s")), key.index_dtype.name) for key in keys]


@few(1, "target", ["c", "opencl"])
def test_scalars_in_subscripts(made: list[VariantKey], target: str) -> None:
    run = pg.make_kernel(LINE, "o[i] = a[max(0, min(i, s))]", [A, "..."]).executor(target)
    a = np.arange(5.0)
    for s in VALUES:
        expected = [a[max(0, min(i, s))] for i in range(5)]
        np.testing.assert_array_equal(run(a=a, s=s)[1][0], expected)
    assert _widths(made) == [("int32", "int32"), ("int64", "int32")]
    run(a=a, s=np.int64(3))  # of NumPy's numbers, the type counts
    assert len(made) == 2


def test_what_is_computed_of_scalars_has_to_fit(made: list[VariantKey]) -> None:
    """A sum of numbers of 32 bits needs more, unless both are small."""
    text = "o[i] = a[max(0, min(i + s, n - 1))]"
    run = pg.make_kernel(LINE, text, [A, "..."]).executor("c")
    a = np.arange(5.0)
    for s in VALUES:
        expected = [a[max(0, min(i + s, 4))] for i in range(5)]
        np.testing.assert_array_equal(run(a=a, s=s)[1][0], expected)
    assert _widths(made) == [("int32", "int32"), ("int64", "int32")]
    made.clear()
    run(a=a, s=2**31 - 2**20 - 1)
    run(a=a, s=5)
    assert made == []


def test_sizes_have_the_type_that_their_values_need(made: list[VariantKey]) -> None:
    data = [A, pg.GlobalArg("o", shape="n"), "..."]
    run = pg.make_kernel("{ [i]: 0<=i<n and i<s }", "o[i] = a[i]", data).executor("c")
    a = np.arange(5.0)
    for s in (3, 2**31 - 2**20 - 1, 2**31 - 1, 2**31, 2**40):
        out = run(a=a, o=np.zeros(5), s=s)[1][0]
        np.testing.assert_array_equal(out, np.where(np.arange(5) < s, a, 0))
    assert [key.index_dtype.name for key in made] == ["int32", "int64"]


def test_values_make_no_subscripts_wide(made: list[VariantKey]) -> None:
    """A Python int is an int64 in what is computed, and subscripts have 32 bits all the same."""
    run = pg.make_kernel(LINE, "o[i] = a[i]*s").executor("c")
    a = np.arange(5)
    for s in VALUES:
        np.testing.assert_array_equal(run(a=a, s=s)[1][0], a * s)
    assert _widths(made) == [("int64", "int32")]


def test_declared_types_stay(made: list[VariantKey]) -> None:
    data = [A, pg.ValueArg("s", "int64"), "..."]
    run = pg.make_kernel(LINE, "o[i] = a[max(0, min(i, s))]", data).executor("c")
    run(a=np.arange(5.0), s=3)
    assert _widths(made) == [("int64", "int32")]
