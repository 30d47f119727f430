"""``a and b``, ``a or b``, ``if(c, a, b)``: a part is evaluated only where the parts before ask it.

`p` has `n` elements, and the loop runs to `m`: the oracle fails on any other element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import OutOfBounds
from polygen.ir.kernel import Kernel
from tests.oracle.cases import agree, agree_in_arrays, grid, kernel, prior, split, steps

SIZES = [{"n": n, "m": m} for n, m in ((0, 0), (0, 3), (3, 0), (4, 7), (7, 4), (6, 6))]
VARIANTS = (split("i", 3), grid("i", 4))


def guarded(text: str, domain: str = "{ [i]: 0<=i<m }") -> Kernel:
    return kernel(domain, text, pg.GlobalArg("p", "float64", "n"), pg.GlobalArg("b", None, "m"))


def positive(p: Any, n: int, i: int) -> bool:
    return i < n and bool(p[i] > 0)


Value = Callable[[Any, int, int], float]
KERNELS: dict[str, Value] = {
    "b[i] = 1 {if=i<n and p[i]>0}": lambda p, n, i: 1 if positive(p, n, i) else 7,
    "b[i] = p[i] {if=i<n and p[i]>0}": lambda p, n, i: p[i] if positive(p, n, i) else 7,
    "b[i] = if(i<n and p[i]>0, 1, 2)": lambda p, n, i: 1 if positive(p, n, i) else 2,
    "b[i] = if(i<n and p[i]>0, p[i], 2)": lambda p, n, i: p[i] if positive(p, n, i) else 2,
    "b[i] = if(i>=n or p[i]>0, 1, 2)": lambda p, n, i: 1 if i >= n or p[i] > 0 else 2,
    "b[i] = if(i>=n or p[i]>0, 1, p[i])": lambda p, n, i: 1 if i >= n or p[i] > 0 else p[i],
    "b[i] = if(not (i>=n or p[i]<=0), p[i], 2)": lambda p, n, i: p[i] if positive(p, n, i) else 2,
    "b[i] = if(i<n and (p[i]>0 or p[i]<-1), 1, 2)": lambda p, n, i: (
        1 if i < n and (p[i] > 0 or p[i] < -1) else 2
    ),
    "b[i] = if(i>0 and i-1<n and p[i-1]>0, 1, 2)": lambda p, n, i: (
        1 if 0 < i <= n and p[i - 1] > 0 else 2
    ),
    "b[i] = if(i<n, if(p[i]>0, p[i], 3), 2)": lambda p, n, i: (
        (p[i] if p[i] > 0 else 3) if i < n else 2
    ),
    "b[i] = if(i>=n, 2, p[i])": lambda p, n, i: 2 if i >= n else p[i],
}


@pytest.mark.parametrize("text", KERNELS)
def test_what_stands_before_guards_what_comes_after(text: str) -> None:
    knl = guarded(text)
    agree(knl, SIZES, *VARIANTS)
    for seed, sizes in enumerate(SIZES):
        n, m = sizes["n"], sizes["m"]
        p = np.random.default_rng(seed).integers(-3, 4, n).astype(np.float64)
        b = np.full(m, 7.0)
        knl(p=p, b=b, m=m, n=n)
        assert b.tolist() == [KERNELS[text](p, n, i) for i in range(m)]


@pytest.mark.parametrize(
    "text",
    [
        "b[i] = 1 {if=p[i]>0 and i<n}",
        "b[i] = 1 {if=i<n or p[i]>0}",
        "b[i] = if(i>=n and p[i]>0, 1, 2)",
        "b[i] = if(not (i>=n and p[i]>0), 1, 2)",
    ],
)
def test_what_guards_nothing(text: str) -> None:
    with pytest.raises(OutOfBounds, match=r"reads p\["):
        guarded(text)


@pytest.mark.parametrize(
    "text", ["b[i] = if(i<n and p[i]>0, 1, p[i])", "b[i] = if(i>=n or p[i]>0, p[i], 1)"]
)
def test_what_is_left_of_a_guard_that_did_not_hold_is_data(text: str) -> None:
    assert [o.kind for o in pg.obligations(guarded(text))] == ["inside"]


def test_a_reduction_is_computed_before_it_is_asked_for() -> None:
    with pytest.raises(OutOfBounds, match=r"reads p\["):
        guarded("b[i] = 1 {if=i<n and sum(j, p[i+j])>0}", "{ [i,j]: 0<=i<m and 0<=j<1 }")


ONE = "{ [i,j,k]: 0<=i<m and 0<=j,k<1 }"
MIXED = [
    "b[i] = if(i<n and sum(k, k+1)>0, sum(j, p[i+j]), 2)",
    "b[i] = if(i>=n or sum(k, k+1)>0, 2, sum(j, p[i+j]))",
    "b[i] = sum(j, p[i+j]) {if=i<n and sum(k, k+1)>0}",
]


@pytest.mark.parametrize("text", MIXED)
def test_a_reduction_is_computed_before_a_condition_with_another(text: str) -> None:
    """That asks for both at once, when both have been computed."""
    with pytest.raises(OutOfBounds, match=r"reads p\["):
        guarded(text, ONE)


@pytest.mark.parametrize(
    "text",
    [
        "b[i] = if(sum(k, k+1)>0, if(i<n, sum(j, p[i+j]), 3), 2)",
        "b[i] = if(i<n and sum(k, k+1)>0, p[i], 2)",
        "b[i] = if(i<n, sum(j, p[i+j]), 2)*if(sum(k, k)>0, 2, 1)",
    ],
)
def test_a_reduction_is_computed_under_conditions_without_any(text: str) -> None:
    agree_in_arrays(guarded(text, ONE), SIZES, split("i", 3))


def test_a_guard_is_not_asked_ahead_of_what_guards_it() -> None:
    """The condition does not depend on the inner loop."""
    knl = kernel(
        "{ [i,j]: 0<=i<m and 0<=j<k }",
        "b[i,j] = 1 {if=i<n and p[i]>0}",
        pg.GlobalArg("p", "float64", "n"),
        pg.GlobalArg("b", None, "m,k"),
    )
    inner = steps(split("i", 3), prior("i_outer, i_inner, j"))
    agree(knl, [{"k": 2, **sizes} for sizes in SIZES], *VARIANTS, inner)


def test_copies_hold_what_is_read_under_the_guard_alone() -> None:
    """A prefetch for ``a and b`` needs only what the second part reads where the first holds."""
    knl = guarded("b[i] = if(i<n and p[i]>0, 1, 2)")

    def copied(k: Kernel) -> Kernel:
        k = pg.split_iname(k, "i", 4, outer_tag="g.0")
        return pg.add_prefetch(k, "p", "i_inner", default_tag=None)

    agree_in_arrays(knl, SIZES, copied)
