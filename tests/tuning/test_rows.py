"""Rows that work items share: how these read them, whatever their lengths are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.few import few

H200 = pg.Limits.named("H200")
TEXT = {
    "softmax": """
        power(at) := exp(cast(float32, a[i,at]) - most)
        <> most = max(j, cast(float32, a[i,j]))
        <> total = sum(k, power(k))
        b[i,l] = cast({dtype}, power(l)/total)
        """,
    "layer norm": """
        <> mean = sum(j, cast(float32, a[i,j]))/{length}
        <> variance = sum(k, (a[i,k] - mean)**2)/{length}
        b[i,l] = cast({dtype}, (a[i,l] - mean)*rsqrt(variance + 1e-5f))
        """,
}


def along_rows(
    name: str, count: int, length: int, dtype: str = "float16", alignment: int | None = 16
) -> Kernel:
    """Return what goes along rows several times, for the H200."""
    knl = pg.make_kernel(
        f"{{ [i,j,k,l]: 0<=i<{count} and 0<=j,k,l<{length} }}",
        TEXT[name].format(dtype=dtype, length=length),
        [pg.GlobalArg("a, b", dtype, (count, length), alignment=alignment), "..."],
    )
    return pg.optimize_reductions(knl, H200)


def neighbours(knl: Kernel) -> set[object]:
    """Return how far apart elements are that neighbouring work items read and write."""
    found = pg.get_mem_access_map(knl, count_granularity="workitem")
    return {a.lid_strides[0] for a in found if a.mtype == "global" and a.lid_strides}


@pytest.mark.parametrize(
    ("length", "dtype", "alignment", "apart"),
    [
        (4097, "float16", 16, 1),
        pytest.param(4100, "float16", 16, 4, marks=pytest.mark.more),
        (4096, "float16", None, 1),
        (4096, "float32", 8, 2),
        pytest.param(50256, "float32", 16, 4, marks=pytest.mark.more),
        (50257, "float32", 16, 1),
    ],
)
def test_neighbours_read_neighbours(
    length: int, dtype: str, alignment: int | None, apart: int
) -> None:
    """Work items have vectors where rows begin where these do, else single elements in turn."""
    knl = along_rows("layer norm", 1000, length, dtype, alignment)
    assert neighbours(knl) == {apart}
    text = str(pg.generate_code(knl, "cuda"))
    assert ("pg_vector<" in text) == (apart > 1)


MIXED = """
    s[i] = sum(j, cast(float32, a[i,j])*cast(float32, b[i,j]))
    m[i] = max(k, b[i,k])
    o[i,l] = b[i,l] + 1
    """


@few(
    2,
    ("dtypes", "lanes"),
    [
        (("float16", "float32", "float16"), 4),
        (("float32", "float16", "float16"), 4),
        (("float16", "float16", "float32"), 4),
        (("float16", "float16", "float16"), 8),
        (("int8", "float64", "float32"), 2),
    ],
)
def test_vectors_leave_no_gaps(dtypes: tuple[str, str, str], lanes: int) -> None:
    """All elements of a vector are read or written at once, those of the largest type, too.

    What only a reduction reads, it reads in vectors, as well.
    """
    count, length = 2, 1_024
    shape, names = (count, length), ("a", "b", "o")
    arrays = [pg.GlobalArg(n, t, shape, alignment=16) for n, t in zip(names, dtypes, strict=True)]
    domain = f"{{ [i,j,k,l]: 0<=i<{count} and 0<=j,k,l<{length} }}"
    knl = pg.optimize_reductions(pg.make_kernel(domain, MIXED, [*arrays, "..."]), H200)
    (step,) = [dict(s.arguments) for s in knl.history if s.name == "share_rows"]
    assert step["lanes"] == lanes
    assert neighbours(knl) == {lanes}
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-9, 9, shape).astype(t) for t in dtypes[:2])
    _, (o, m, s) = knl.executor("c")(a=a, b=b)
    np.testing.assert_array_equal(s, (a.astype(float) * b).sum(1))
    np.testing.assert_array_equal(m, b.max(1))
    np.testing.assert_array_equal(o, (b + 1).astype(dtypes[2]))


def test_what_needs_no_result_of_a_row_is_written_first() -> None:
    """Before work items wait for each other; what uses results comes behind them."""
    shape = (200, 1_024)
    knl = pg.make_kernel(
        "{ [i,j,k,l]: 0<=i<200 and 0<=j,k,l<1024 }",
        """
        s[i] = sum(j, a[i,j])
        <> mean = s[i]/1024
        u[i,l] = a[i,l] - mean
        o[i,k] = a[i,k] + 1
        """,
        [pg.GlobalArg("a, o, u", "float32", shape, alignment=16), "..."],
    )
    knl = pg.optimize_reductions(knl, H200)
    text = str(pg.generate_code(knl, "cuda"))
    stored, waits, behind = (text.index(part) for part in (" (o + ", "__syncthreads", " (u + "))
    assert stored < waits < behind
    a = np.random.default_rng(1).random(shape, np.float32)
    _, found = knl.executor("c")(a=a)
    right = a + 1, a - a.mean(1, dtype=float)[:, None], a.sum(1, dtype=float)
    for one, other in zip(found, right, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_a_longer_row_has_the_same_work_items() -> None:
    """One element more is one more for some items, and no reason for a cluster, or for none."""
    for length in (65_536, 262_144):
        one, two = (
            next(dict(s.arguments) for s in knl.history if s.name == "share_rows")
            for knl in (along_rows("layer norm", 1000, length + k, "float32") for k in (0, 1))
        )
        assert one["lanes"] == 4 and two["lanes"] == 1
        assert (one["threads"], one["blocks"]) == (two["threads"], two["blocks"])
        assert one["keep"] == two["keep"]


@pytest.mark.parametrize(("name", "length"), [("softmax", 129), ("layer norm", 4_097)])
def test_values(name: str, length: int) -> None:
    check(name, length)


@pytest.mark.deep
@pytest.mark.parametrize("length", [1, 2, 31, 127, 1_023, 4_095, 4_097, 4_100, 33_001])
@pytest.mark.parametrize("name", TEXT)
def test_more_values(name: str, length: int) -> None:
    check(name, length)


def check(name: str, length: int) -> None:
    knl = along_rows(name, 3, length, "float32")
    a = np.random.default_rng(length).normal(size=(3, length)).astype(np.float32)
    found = np.zeros_like(a)
    knl.executor("c")(a=a, b=found)
    np.testing.assert_allclose(found, right(name, a.astype(np.float64)), rtol=2e-4, atol=2e-5)


def right(name: str, x: Any) -> Any:
    if name == "softmax":
        powers = np.exp(x - x.max(1, keepdims=True))
        return powers / powers.sum(1, keepdims=True)
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
