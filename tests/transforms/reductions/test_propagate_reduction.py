"""`propagate_reduction`: what is reduced is computed where it is reduced."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import CannotProve, IllegalStep, NoSuchReduction, ProducerNeeded
from polygen.ir.kernel import Kernel
from tests.oracle.cases import agree_in_arrays, kernel

SIZES = [{"n": n, "m": m} for n, m in ((0, 0), (1, 1), (2, 3), (5, 2), (0, 3))]


def in_memory(name: str, shape: str = "n,m,4", dtype: str = "float64") -> pg.TemporaryVariable:
    """Return a global temporary."""
    return pg.TemporaryVariable(name, dtype, shape=shape, address_space=pg.AddressSpace.GLOBAL)


CHAIN = kernel(
    "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<4 }",
    """
    t[i,j,k] = a[i,j,k] + b[k]                       {id=t}
    u[k,i,j] = if(t[i,j,k] > 0, t[i,j,k], 0.0)*c[j]  {id=u, dep=t}
    s[k] = sum((i,j), u[k,i,j])                      {id=s, dep=u}
    """,
    in_memory("t"), in_memory("u", "4,n,m"), pg.GlobalArg("a,b,c", "float64"),
)  # fmt: skip
SHARED = kernel(
    "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<4 }",
    """
    t[i,j,k] = 2*a[i,j,k]                 {id=t}
    s[i] = sum((j,k), t[i,j,k])           {id=s, dep=t}
    q[i] = sum((j,k), t[i,j,k]**2)        {id=q, dep=t}
    """,
    in_memory("t"), pg.GlobalArg("a", "float64"),
)  # fmt: skip
SCALARS = kernel(
    "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<4 }",
    """
    <> f = b[i] + 1                        {id=f}
    <> t = f*a[i,j,k]                      {id=t, dep=f}
    s[i] = f + sum((j,k), t*t)             {id=s, dep=t:f, inames=i}
    """,
)
ROWS = kernel(
    "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<4 }",
    """
    t[i,j] = sum(k, a[i,j,k])              {id=t}
    u[i,j] = t[i,j]*b[j]                   {id=u, dep=t}
    s[j] = sum(i, u[i,j])                  {id=s, dep=u}
    """,
    in_memory("t", "n,m"), in_memory("u", "n,m"), pg.GlobalArg("a,b", "float64"),
)  # fmt: skip


def propagated(knl: Kernel) -> Kernel:
    return pg.propagate_reduction(knl, "s")


def coalesced(knl: Kernel) -> Kernel:
    return pg.coalesce_reduction(knl, "s", reduced_iname="r", parallel_iname="p")


def both(knl: Kernel) -> Kernel:
    return coalesced(propagated(knl))


def in_turn(knl: Kernel) -> Kernel:
    return propagated(coalesced(knl))


@pytest.mark.parametrize(
    ("knl", "left", "temporaries"),
    [
        (CHAIN, ["s"], ""), (SHARED, ["q", "s"], ""),
        (SCALARS, ["f", "s"], "f"), (ROWS, ["s", "t"], "t"),
    ],
    ids=["chain", "shared", "scalars", "rows"],
)  # fmt: skip
def test_what_is_left(knl: Kernel, left: list[str], temporaries: str) -> None:
    new = propagated(knl)
    assert sorted(insn.id for insn in new.instructions) == left
    assert [t.name for t in new.temporaries] == list(temporaries)
    assert [step.name for step in new.history] == ["propagate_reduction"]
    assert pg.replay(knl, new.history) == new
    assert propagated(new) is new


@pytest.mark.parametrize("knl", [CHAIN, SHARED, SCALARS, ROWS])
def test_before_and_after_coalescing(knl: Kernel) -> None:
    agree_in_arrays(knl, SIZES, propagated, both)


def test_after_coalescing_the_same_code_comes_out() -> None:
    knl = pg.fix_parameters(CHAIN, m=3)
    codes = [str(pg.generate_code(step(knl), "c")) for step in (both, in_turn)]
    assert codes[0] == codes[1]
    assert "a[4 * r + p]" in codes[0]
    agree_in_arrays(knl, SIZES[:4], in_turn)
    with pytest.raises(CannotProve, match="which elements are touched depends on data"):
        in_turn(CHAIN)  # quotients by sizes: the other order does


def test_agrees_with_numpy() -> None:
    run = both(CHAIN).executor("c")
    for n, m in ((0, 3), (1, 1), (7, 8), (16, 17)):
        rng = np.random.default_rng(n)
        a, b, c = (rng.integers(-8, 9, shape).astype(float) for shape in ((n, m, 4), 4, m))
        expected = (np.maximum(a + b, 0) * c[:, None]).sum((0, 1))
        np.testing.assert_array_equal(run(a=a, b=b, c=c)[1][0], expected)


def test_casts_stay() -> None:
    """What a temporary of a narrower type rounds is rounded where it is reduced."""
    knl = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<m }",
        """
        t[i,j] = a[i,j]            {id=t}
        u[i,j] = 3*t[i,j]          {id=u, dep=t}
        v[i,j] = u[i,j]*u[i,j]     {id=v, dep=u}
        s[i] = sum<float32>(j, v[i,j])  {id=s, dep=v}
        """,
        in_memory("t", "n,m", "float16"), in_memory("u", "n,m", "float32"),
        in_memory("v", "n,m", "float16"), pg.GlobalArg("a", "float32"),
    )  # fmt: skip
    new = propagated(knl)
    assert len(new.instructions) == 1
    assert str(new).count("float16(a[i, j])") == 2
    run = new.executor("c")
    for n, m in ((0, 3), (1, 1), (7, 8)):
        a = np.random.default_rng(n).random((n, m), np.float32)
        u = (a.astype(np.float16) * np.float16(3)).astype(np.float32)
        expected = (u * u).astype(np.float16).sum(1, dtype=np.float32)
        np.testing.assert_allclose(run(a=a)[1][0], expected, rtol=1e-6)
        assert n == 0 or abs(expected - (3 * a * 3 * a).sum(1)).max() > 1e-5


def test_nothing_to_compute() -> None:
    knl = kernel("{ [i,j]: 0<=i,j<n }", "s[i] = sum(j, a[i,j])  {id=s}")
    assert propagated(knl) is knl


BASE = "t[i,j,k] = 2*a[i,j,k]  {id=t}\ns[i] = sum((j,k), t[i,j,k])  {id=s, dep=t}\n"
DOMAIN = "{ [i,j,k,l]: 0<=i<n and 0<=j<m and 0<=k,l<4 }"


@pytest.mark.parametrize(
    ("text", "data", "kind", "why"),
    [
        ("s[i] = a[i]  {id=s}", [], NoSuchReduction, "no reduction in 's'"),
        (BASE, [pg.GlobalArg("t", shape="n,m,4")], ProducerNeeded, "whoever calls may read"),
        (
            BASE + "y[i,j,k] = t[i,j,k]/s[i]  {id=y, dep=t:s, dup=j:k}",
            [in_memory("t"), pg.GlobalArg("a", "float64")],
            ProducerNeeded,
            "'y' reads 't', too, and is no reduction",
        ),
        (
            "t[i,k] = exp(a[i,k])  {id=t}\ns[i,j] = sum(k, t[i,k]*b[k,j])  {id=s, dep=t}",
            [in_memory("t", "n,4"), pg.GlobalArg("a", "float64")],
            ProducerNeeded,
            "'s' reads each element of 't' about 1024 times",
        ),
        (
            "t[k] = exp(a[k])  {id=t}\ns[i] = sum((j,k), t[k]*t[j % 4])  {id=s, dep=t}",
            [in_memory("t", "4"), pg.GlobalArg("a", "float64")],
            ProducerNeeded,
            "times",
        ),
        (
            BASE, [in_memory("t", dtype="int16"), pg.GlobalArg("a", "int64")],
            CannotProve, "its type may not be that of what is stored in it",
        ),
        (
            "t[i,j,k] = 2*a[i,j,k]  {id=t, dep=*}\na[i,j,k] = 0.0  {id=z, dep=t}\n"
            "s[i] = sum((j,l), t[i,j,l])  {id=s, dep=t:z}",
            [in_memory("t"), pg.GlobalArg("a", "float64", "n,m,4")],
            IllegalStep,
            "s[i=0, j=0, l=0] reads from 'a' what nobody has written; after the step, what z[",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, data: list[Any], kind: Any, why: str) -> None:
    knl = kernel(DOMAIN, text, *data)
    with pytest.raises(kind, match=re.escape(why)):
        propagated(knl)


def test_what_is_no_element_wise_work_stays() -> None:
    """Several writers, a condition, or subscripts that are no inames."""
    knl = kernel(
        DOMAIN,
        "t[i,j,k] = 2*a[i,j,k]     {id=t, if=a[i,j,k] > 0}\n"
        "t[i,j,l] = -a[i,j,l]      {id=v, if=not a[i,j,l] > 0}\n"
        "s[i] = sum((j,k), t[i,j,k])  {id=s, dep=t:v}",
        in_memory("t"), pg.GlobalArg("a", "float64"),
    )  # fmt: skip
    assert propagated(knl) is knl
