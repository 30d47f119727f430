"""`narrow_sum`: 32 bits for small integers, up to the last number of terms that they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NoSuchReduction, TypeNotFound, UnknownInstruction
from polygen.ir.kernel import Kernel
from tests.oracle.cases import agree_in_arrays, kernel


def narrowed(knl: Kernel) -> Kernel:
    return pg.narrow_sum(knl, "s")


def total(length: int | str, dtype: str, text: str = "s[0] = sum(j, a[j])") -> Kernel:
    return pg.add_dtypes(kernel(f"{{ [j]: 0<=j<{length} }}", f"{text}  {{id=s}}"), {"a": dtype})


# The most terms of each type, and the number of the largest magnitude.
MOST = {
    "int8": (16777215, -128),
    "uint8": (8421504, 255),
    "int16": (65535, -32768),
    "uint16": (32768, 65535),
    "bool": (2**31 - 1, 1),
}


@pytest.mark.parametrize("dtype", MOST)
def test_as_many_terms_as_fit(dtype: str) -> None:
    most, number = MOST[dtype]
    assert abs(number) * most <= 2**31 - 1 < abs(number) * (most + 1)
    narrowed(total(most, dtype))
    with pytest.raises(NoSuchReduction, match="more terms than 32 bits are enough for"):
        narrowed(total(most + 1, dtype))


@pytest.mark.parametrize("dtype", ["int16", "uint16"])
def test_the_largest_sum(dtype: str) -> None:
    most, number = MOST[dtype]
    _, (s,) = narrowed(total(most, dtype)).executor("c")(a=np.full(most, number, dtype))
    assert s == most * number
    assert s.dtype == (np.int64 if dtype == "int16" else np.uint64)


FORMS = (
    "s[p] = 70000*sum(j, a[p,j])",
    "s[p] = sum((j,k), a[p,j] + a[p,k])",
    "s[p] = sum(j, a[p,j] > 2) + sum(j, a[p,j] > 2)",
)


@pytest.mark.parametrize("text", FORMS)
def test_forms(text: str) -> None:
    domains = ["{ [p]: 0<=p<n }", "{ [j]: 0<=j<7 }", "{ [k]: p<=k<p+2 }"]
    knl = pg.add_dtypes(
        kernel(domains, f"{text}  {{id=s}}", pg.GlobalArg("a", "int16", "n, n+9")),
        {"a": "int16"},
    )
    agree_in_arrays(knl, ({"n": 0}, {"n": 5}), narrowed)


def test_refused() -> None:
    refusals: tuple[tuple[Any, str], ...] = (
        (total(9, "int32"), "no integers of 8 or 16 bits in 64"),
        (total(9, "float32"), "no integers of 8 or 16 bits in 64"),
        (total(9, "int8", "s[0] = sum<int32>(j, a[j])"), "no integers of 8 or 16 bits in 64"),
        (total(9, "int8", "s[0] = max(j, a[j])"), "has not one sum"),
        (total(9, "int8", "s[0] = sum(j, a[j]) + max(j, a[j])"), "has not one sum"),
        (
            pg.add_dtypes(kernel("{ [j]: 0<=j<n }", "s[0] = sum(j, a[j])  {id=s}"), {"a": "int8"}),
            "more terms",
        ),
    )
    for knl, why in refusals:
        with pytest.raises(NoSuchReduction, match=why):
            narrowed(knl)
    with pytest.raises(UnknownInstruction):
        pg.narrow_sum(total(9, "int8"), "t")
    with pytest.raises(TypeNotFound):
        narrowed(kernel("{ [j]: 0<=j<9 }", "s[0] = sum(j, a[j])  {id=s}"))
