"""`reduce_online`: a greatest value, and a sum of powers relative to it, in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NotOnline, Reassociated, TypeNotFound, UnknownInstruction
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel


def rows(total: str, most: str = "max(j, x[i,j])", *more: str, dtype: str = "float32") -> Kernel:
    text = f"<> most = {most}  {{id=most}}\ns[i] = {total}  {{id=s}}\ngreatest[i] = most"
    knl = kernel("{ [i,j,k]: 0<=i<n and 0<=j,k<m }", "\n".join((text, *more)))
    read = {"x", "w"} & {argument.name for argument in knl.arguments}
    return pg.add_dtypes(knl, dict.fromkeys(read, dtype))


SUMS: dict[str, Any] = {
    "sum(k, exp(x[i,k] - most))": lambda x, w, m: np.exp(x - m),
    "2*log(sum(k, exp(x[i,k] - most))) + most": None,
    "sum(k, w[k]*exp(x[i,k] - most)*w[k])": lambda x, w, m: w * np.exp(x - m) * w,
    "sum(k, exp(-most + w[k] + x[i,k]))": lambda x, w, m: np.exp(w + x - m),
}


@pytest.mark.parametrize("total", SUMS)
@pytest.mark.parametrize("shared", [False, True])
def test_as_numpy(total: str, shared: bool) -> None:
    knl = pg.reduce_online(rows(total), "most", "s")
    assert len(knl.instruction("most").reduction_inames) == 1
    assert not knl.instruction("s").reductions
    if shared:
        knl = pg.split_iname(knl, "j", 4, inner_tag="l.0")
    of = SUMS[total]
    for n, m in ((0, 3), (1, 1), (3, 17)):
        rng = np.random.default_rng(m)
        x: Any = rng.normal(scale=30, size=(n, m)).astype(np.float32)
        w: Any = rng.normal(size=m).astype(np.float32)
        x[:, m // 2] = -np.inf if m > 1 else 0
        given: dict[str, Any] = {
            name: a for name, a in (("x", x), ("w", w)) if name in knl.variables
        }
        _, (greatest, s) = knl(**given)
        x, w = x.astype(float), w.astype(float)
        most: Any = x.max(axis=1, keepdims=True) if n else x[:, :1]
        if of is None:
            expected: Any = 2 * np.log(np.exp(x - most).sum(axis=1)) + most[:, 0]
        else:
            expected = of(x, w, most).sum(axis=1)
        np.testing.assert_array_equal(greatest, most[:, 0])
        np.testing.assert_allclose(s, expected, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("row", [[-np.inf, -np.inf], [np.inf, 1], [np.nan, 1], [1, np.inf, np.nan]])
def test_what_is_infinite_or_no_number_is_as_before(row: list[float]) -> None:
    x = np.array([row], np.float32)
    knl = rows("sum(k, exp(x[i,k] - most))")
    before, after = (k(x=x)[1][1] for k in (knl, pg.reduce_online(knl, "most", "s")))
    np.testing.assert_array_equal(after, before)
    assert np.isnan(after).all()


def test_log_sum_exp_of_all_in_two_launches() -> None:
    knl = kernel(
        "{ [j,k]: 0<=j,k<n }",
        """
        <> most = max(j, x[j])                {id=most}
        <> s = sum(k, exp(x[k] - most))       {id=s}
        out[0] = log(s) + most
        """,
    )
    knl = pg.reduce_online(pg.add_dtypes(knl, {"x": "float64"}), "most", "s")
    knl = pg.parallelize_reduction(knl, "most", blocks=3, threads=8, items=2)
    x = np.random.default_rng(5).normal(scale=200, size=1009)
    expected = np.log(np.exp(x - x.max()).sum()) + x.max()
    np.testing.assert_allclose(knl(x=x)[1][0], [expected], rtol=1e-14)


@pytest.mark.parametrize(
    ("text", "knl"),
    [
        ("no product with one factor", rows("sum(k, exp(x[i,k] - 2*most))")),
        ("no product with one factor", rows("sum(k, x[i,k] - most)")),
        ("no product with one factor", rows("sum(k, exp(w[k] - most))")),
        ("no product with one factor", rows("sum(k, most*exp(x[i,k] - most))")),
        ("no product with one factor", rows("sum(k, exp(x[i,k] - most)*exp(w[k] - most))")),
        ("has not one sum", rows("product(k, exp(x[i,k] - most))")),
        ("something else than a greatest", rows("sum(k, exp(x[i,k] - most))", "2*max(j, x[i,j])")),
        ("something else than a greatest", rows("sum(k, exp(x[i,k] - most))", "min(j, x[i,j])")),
        ("a float16", rows("sum(k, exp(x[i,k] - most))", dtype="float16")),
    ],
)
def test_what_is_refused(text: str, knl: Kernel) -> None:
    with pytest.raises(NotOnline, match=text):
        pg.reduce_online(knl, "most", "s")


def test_more_that_is_refused() -> None:
    knl = rows("sum(k, exp(x[i,k] - most))")

    def refused(error: Any, text: str, knl: Kernel, *ids: str) -> None:
        with pytest.raises(error, match=text):
            pg.reduce_online(knl, *ids)

    refused(UnknownInstruction, "none", knl, "most", "none")
    strict = pg.set_options(knl, allow_reassociation=False)
    refused(Reassociated, "in another order", strict, "most", "s")
    untyped = kernel(
        "{ [j,k]: 0<=j,k<n }",
        "<> most = max(j, x[j])  {id=most}\ns[0] = sum(k, exp(x[k] - most))  {id=s}",
    )
    refused(TypeNotFound, "x", untyped, "most", "s")
    part = kernel(
        "{ [j,k]: 0<=j<n and 0<=k<=n }",
        "<> most = max(j, x[j])  {id=most}\ns[0] = sum(k, exp(x[k] - most))  {id=s}",
    )
    part = pg.add_dtypes(part, {"x": "float64"})
    refused(NotOnline, "reduce over other values", part, "most", "s")
    later = kernel(
        "{ [j,k]: 0<=j,k<n }",
        """
        <> most = max(j, x[j])                  {id=most}
        <> w = most                             {id=w}
        s[0] = sum(k, w*exp(x[k] - most))       {id=s}
        """,
    )
    later = pg.add_dtypes(later, {"x": "float64"})
    refused(NotOnline, "'w', which is added up", later, "most", "s")
