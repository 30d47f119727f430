"""`pair_factors`: sums of products of several factors as products of two."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NoSuchReduction, Reassociated, UnknownIname
from polygen.ir import expression as ex
from tests.oracle.cases import kernel

DOMAIN = "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<l }"
ARRAYS = {"a": "n, l", "b": "m, l", "c": "n, l", "d": "m, l", "s": "l", "out": "n, m"}

# Sums, and what they are in NumPy.
SUMS: Mapping[str, Callable[..., Any]] = {
    "x*a[i,k]*b[j,k]": lambda a, b, x, **_: x * (a @ b.T),
    "b[j,k]*x*a[i,k]": lambda a, b, x, **_: x * (a @ b.T),
    "a[i,k]*s[k]*b[j,k]*c[i,k]": lambda a, b, c, s, **_: (a * s * c) @ b.T,
    "a[i,k]*b[j,k] + c[i,k]*d[j,k]": lambda a, b, c, d, **_: a @ b.T + c @ d.T,
    "a[i,k]*b[j,k] - x*c[i,k]*d[j,k] + d[j,k]*a[i,k]": lambda a, b, c, d, x, **_: (
        a @ b.T - x * (c @ d.T) + a @ d.T
    ),
    "2*a[i,k]*(b[j,k] + 1)": lambda a, b, **_: 2 * a @ (b + 1).T,
}


def summed(term: str, dtype: str = "float64", **options: Any) -> pg.Kernel:
    knl = kernel(
        DOMAIN,
        f"out[i,j] = 3 + sum(k, {term})  {{id=out}}",
        *(pg.GlobalArg(name, dtype, shape) for name, shape in ARRAYS.items()),
        pg.ValueArg("x", dtype),
        target="c",
    )
    return pg.set_options(knl, **options) if options else knl


@pytest.mark.parametrize("inames", ["i", "j"])
def test_as_numpy(inames: str) -> None:
    """All sums of small whole numbers, which are exact, in one program."""
    for term, expected in SUMS.items():
        new = pg.pair_factors(summed(term), "out", inames)
        (node,) = new.assignment("out").reductions
        assert isinstance(node.operand, ex.Product)
        first, second = node.operand.children
        mine, others = ("ac", "bd") if inames == "i" else ("bd", "ac")
        assert not any(f"{name}[" in str(first) for name in others)
        assert not any(f"{name}[" in str(second) for name in mine)
        rng = np.random.default_rng(len(term))
        sizes = {"n": 3, "m": 4, "l": 5}
        given: dict[str, Any] = {
            name: rng.integers(-3, 4, [sizes[x] for x in shape.split(", ")]).astype(float)
            for name, shape in ARRAYS.items()
        }
        wanted = 3 + expected(**given, x=2.0)
        new(**given, x=2.0)
        np.testing.assert_array_equal(given["out"], wanted, term)


def test_what_is_a_product_of_two_stays() -> None:
    knl = summed("a[i,k]*b[j,k]")
    assert pg.pair_factors(knl, "out", "i") is knl
    kept = summed("a[i,k]*b[j,k]", allow_reassociation=False)
    assert pg.pair_factors(kept, "out", "i") is kept


@pytest.mark.parametrize(
    ("term", "why"),
    [
        ("a[i,k] + b[j,k]", "has a term without one of the two factors"),
        ("x*a[i,k]", "has a term without one of the two factors"),
        ("a[i,k]*out[i,j]*b[j,k]", "has a factor that depends on loops of both factors"),
        ("max(a[i,k], b[j,k])*x", "has a factor that depends on loops of both factors"),
    ],
)
def test_refused(term: str, why: str) -> None:
    with pytest.raises(NoSuchReduction, match=why):
        pg.pair_factors(summed(term), "out", "i")


def test_other_refusals() -> None:
    with pytest.raises(Reassociated, match="pair_factors would round the sum of 'out' otherwise"):
        pg.pair_factors(summed("x*a[i,k]*b[j,k]", allow_reassociation=False), "out", "i")
    with pytest.raises(NoSuchReduction, match="has a factor of type int32"):
        pg.pair_factors(summed("x*a[i,k]*b[j,k]", "int32"), "out", "i")
    with pytest.raises(UnknownIname):
        pg.pair_factors(summed("x*a[i,k]*b[j,k]"), "out", "r")
    none = kernel(DOMAIN, "out[i,j] = a[i,0]*b[j,0]  {id=out}")
    with pytest.raises(NoSuchReduction, match="has not one sum"):
        pg.pair_factors(pg.add_dtypes(none, {"a, b": "float64"}), "out", "i")
