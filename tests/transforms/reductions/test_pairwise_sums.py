"""`pairwise_sums`: blocks, blocks of blocks, and so on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, NoSuchReduction, Reassociated, UnknownIname
from polygen.ir import walk
from polygen.ir.kernel import Kernel
from tests.oracle.cases import agree_in_arrays, kernel
from tests.transforms.refusals import refused

LINE = "{ [j]: 0<=j<n }"
LARGE = (1 << 12) + 5
SIZES = ({"n": 1, "m": 2}, {"n": 4, "m": 1}, {"n": 9, "m": 3})


def _sum(text: str = "s[0] = sum(j, a[j])", domain: str = LINE, dtype: Any = "float32") -> Kernel:
    return kernel(domain, text, pg.GlobalArg("a", dtype, "n"))


def _in_blocks(a: Any, length: int, levels: int) -> Any:
    """Return the sum as it is promised: of blocks in order, then of their sums."""
    for _ in range(levels):
        a = np.array([_in_a_row(a[k : k + length]) for k in range(0, len(a), length)], a.dtype)
    return _in_a_row(a)


def _in_a_row(a: Any) -> Any:
    total = a.dtype.type(0)
    for number in a:
        total = total + number
    return total


def test_the_sum_of_many_is_as_exact_as_numpys() -> None:
    a = np.full(1 << 24, 0.1, np.float32)
    exact = math.fsum(a[:4096].tolist()) * 4096
    plain, blocks = _sum(), pg.pairwise_sums(_sum(), "j")
    (row,), (pairs,) = (knl.executor("c")(a=a)[1][0] for knl in (plain, blocks))
    assert abs(row - exact) > 0.1 * exact
    # six levels of sixteen, of which each addition rounds
    assert abs(pairs - exact) <= 6 * 16 * 2.0**-24 * exact
    assert abs(pairs - exact) <= 4 * abs(float(a.sum()) - exact) + 2.0**-24 * exact


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 8, 9, 27, 80, 81, 82, 200])
def test_sums_are_added_up_in_the_order_that_is_promised(n: int) -> None:
    a = np.random.default_rng(n).normal(size=n).astype(np.float32)
    for size in ("n", n):
        data = pg.GlobalArg("a", "float32", size)
        knl = kernel(f"{{ [j]: 0<=j<{size} }}", "s[0] = sum(j, a[j])", data)
        knl = pg.pairwise_sums(knl, "j", length=3, most=81)
        levels = len(walk.reductions(knl.instructions[0].evaluated[0])) - 1
        assert size != "n" or levels == 3
        (found,) = knl.executor("c")(a=a)[1][0]
        assert found == _in_blocks(a, 3, levels)


def test_short_sums_stay_as_they_are() -> None:
    knl = _sum(domain="{ [j]: 0<=j<16 and 16<=n }")
    assert pg.pairwise_sums(knl, "j") is knl
    assert pg.pairwise_sums(knl, "j", length=4) is not knl


def test_few_iterations_are_empty() -> None:
    """Loops around three others end where nothing is left: not all blocks of blocks are empty."""
    source = pg.generate_code(pg.pairwise_sums(_sum(), "j"), "c").source
    heads = [line.strip() for line in source.splitlines() if "for (" in line]
    assert len(heads) == 6
    assert [" < 16;" in head for head in heads] == [False, False, False, True, True, False]


TEXTS = {
    "of rows": ("{ [i,j]: 0<=i<m and 0<=j<n }", "s[i] = sum(j, a[j]*(i + 1))"),
    "of a triangle": ("{ [i,j]: 0<=i<n and 0<=j<=i }", "s[i] = sum(j, a[j])"),
    "beside others": (LINE, "s[0] = sum(j, a[j])\nt[0] = max(j, a[j])\nu[0] = sum(j, a[j]**2)"),
    "in one expression": (LINE, "s[0] = 1 + sum(j, a[j])/(1 + sum(j, a[j]**2))"),
    "of two": ("{ [i,j]: 0<=i<m and 0<=j<n }", "s[0] = sum((i,j), a[j]*i)"),
    "under a condition": (LINE, "s[0] = sum(j, a[j]) {if=n > 3}"),
    "of a part": (LINE, "s[0] = sum(j, if(j > 2, a[j], 0))"),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_kernels(name: str, dtype: str) -> None:
    domain, text = TEXTS[name]
    knl = kernel(domain, text, pg.GlobalArg("a", dtype, "n"), assumptions="n >= 1")
    agree_in_arrays(knl, SIZES, lambda k: pg.pairwise_sums(k, "j", length=2, most=8))


@pytest.mark.parametrize("dtype", ["float16", "complex64", "complex128"])
def test_types(dtype: str) -> None:
    a = np.random.default_rng(1).integers(-4, 5, 77).astype(dtype)  # exact in any order
    knl = pg.pairwise_sums(_sum(dtype=dtype), "j", length=4, most=64)
    (found,) = knl.executor("c")(a=a)[1][0]
    assert found == a.sum()


def test_on_opencl_and_cuda() -> None:
    rows = kernel(*TEXTS["of rows"], pg.GlobalArg("a", "float32", "n"))
    knl = pg.tag_inames(pg.pairwise_sums(rows, "j", length=4), {"i": "g.0"})
    assert "acc_j_0" in pg.generate_code(knl, "cuda").source
    a = np.random.default_rng(2).integers(-9, 9, LARGE).astype(np.float32)
    _, (found,) = knl.executor("opencl")(a=a, m=3)
    np.testing.assert_array_equal(found, a.sum() * np.arange(1, 4, dtype=np.float32))


def test_refused() -> None:
    knl = _sum()
    refused(UnknownIname, "no iname 'k'", pg.pairwise_sums, knl, "k")
    refused(NoSuchReduction, "no sum over 'j'", pg.pairwise_sums, _sum("s[0] = max(j, a[j])"), "j")
    refused(NoSuchReduction, "no sum over 'j'", pg.pairwise_sums, _sum("s[j] = a[j]"), "j")
    refused(InvalidArgument, "blocks of one number", pg.pairwise_sums, knl, "j", length=1)
    strict = pg.set_options(knl, allow_reassociation=False)
    refused(Reassociated, "pairwise_sums would compute", pg.pairwise_sums, strict, "j")
    whole = pg.set_options(_sum(dtype="int32"), allow_reassociation=False)
    assert pg.pairwise_sums(whole, "j").history
