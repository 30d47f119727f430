"""`split_complex_sum`: sums of products of complex numbers, by parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NoSuchReduction, Reassociated, UnknownInstruction
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel

DOMAIN = "{ [i,k]: 0<=i<n and 0<=k<m }"
PLAIN = "c[i] = sum(k, a[i,k]*b[k])  {id=c}"


def product(text: str = PLAIN, dtype: str = "complex128", **options: Any) -> Kernel:
    knl = kernel(DOMAIN, text)
    knl = pg.add_dtypes(knl, {name: dtype for name in "ab" if name in knl.variables})
    return pg.set_options(knl, **options)


def numbers(shape: tuple[int, ...], dtype: str) -> Any:
    """Return complex numbers of small integers, whose products are exact."""
    rng = np.random.default_rng(sum(shape))
    return (rng.integers(-9, 9, shape) + 1j * rng.integers(-9, 9, shape)).astype(dtype)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_as_numpy(dtype: str) -> None:
    text = "c[i] = 3*sum(k, conj(a[i,k])*(b[k] + 1)) - 2j  {id=c}"
    knl = pg.split_complex_sum(product(text, dtype), "c")
    assert knl.variables["parts"].dtype == np.dtype(dtype).type(0).real.dtype
    run = knl.executor("c")
    for n, m in ((1, 1), (3, 7), (2, 0), (0, 2)):
        a, b = numbers((n, m), dtype), numbers((m,), dtype)
        _, (c,) = run(a=a, b=b)
        np.testing.assert_array_equal(c, 3 * (a.conj() @ (b + 1)) - 2j)


def test_what_is_made() -> None:
    """The instruction keeps its id, and text has the same kernel; rules are expanded."""
    knl = product("f(x) := a[x,k]\nc[i] = sum(k, f(i)*b[k])  {id=c}")
    knl = pg.split_complex_sum(knl, "c")
    assert list(knl.instructions_by_id) == ["c_parts", "c"]
    assert not knl.rules
    assert pg.parse_kernel(str(knl)) == knl


def test_requirement_1() -> None:
    for text in (
        "c[i] = a[i,0]  {id=c}",
        "c[i] = sum(k, a[i,k]) {id=c}",
        "c[i] = sum(k, a[i,k]*b[k]) + sum(k, a[i,k]*b[0])  {id=c}",
        "c[i] = product(k, a[i,k]*b[k])  {id=c}",
    ):
        with pytest.raises(NoSuchReduction, match="has not one sum of products of two factors"):
            pg.split_complex_sum(product(text), "c")
    with pytest.raises(NoSuchReduction, match="factors that are not complex"):
        pg.split_complex_sum(product(dtype="float64"), "c")
    with pytest.raises(NoSuchReduction, match="factors that are not complex"):
        pg.split_complex_sum(product("c[i] = sum(k, a[i,k]*k)  {id=c}"), "c")


def test_requirement_2() -> None:
    with pytest.raises(Reassociated, match="the sum of 'c' otherwise"):
        pg.split_complex_sum(product(allow_reassociation=False), "c")


def test_instruction_that_is_not_there() -> None:
    with pytest.raises(UnknownInstruction):
        pg.split_complex_sum(product(), "d")
