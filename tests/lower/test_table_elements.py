"""Elements of tables at constant places: numbers of the table's type, in the copies of a body."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg

TYPES = ("int8", "uint8", "int16", "uint32", "int64", "uint64", "float16", "float32", "float64")
SPECIAL: dict[str, list[Any]] = {
    "f": [0.0, 1.0, -1.5, 0.1, -0.0, np.inf, -np.inf, np.nan],
    "i": [0, 1, -1, 2],
    "u": [0, 1],
}


def table(name: str, elements: Any) -> pg.TemporaryVariable:
    return pg.TemporaryVariable(name, initializer=elements, read_only=True)


def special(dtype: str) -> Any:
    kind = np.dtype(dtype).kind
    ends: list[Any] = [] if kind == "f" else [np.iinfo(dtype).min, np.iinfo(dtype).max]
    return np.array([*SPECIAL[kind], *ends], dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_values(dtype: str) -> None:
    """Beside numbers that are equal, and of other types."""
    w = special(dtype)
    knl = pg.make_kernel(
        f"{{ [i,q]: 0<=i<n and 0<=q<{len(w)} }}",
        ["v[q,i] = w[q]*a[i] + 1*a[i]", "x[q,i] = w[q] + b[i] - 2*b[i]", "y[q,i] = w[q]"],
        [table("w", w), "..."],
        loop_priority="i, q",
    )
    knl = pg.tag_inames(pg.add_dtypes(knl, {"a": np.int8, "b": np.float32}), {"q": "unr"})
    a, b = np.array([-128, -1, 0, 1, 127], np.int8), np.array([-1.5, 0, 1, 2, 1e6], np.float32)
    _, (v, x, y) = knl.executor("c")(a=a, b=b)
    with np.errstate(all="ignore"):
        expected = [w[:, None] * a + 1 * a, w[:, None] + b - 2 * b, np.repeat(w[:, None], 5, 1)]
    for found, wanted in zip((v, x, y), expected, strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(y), np.signbit(w)[:, None] + np.zeros((1, 5), bool))


def stencil() -> pg.Kernel:
    weights, places = np.array([0.25, 0.5, 0.125], np.float32), np.array([-1, 0, 2])
    knl = pg.make_kernel(
        "{ [i,q]: 0<=i<n and 0<=q<3 }",
        "v[i] = sum(q, w[q]*u[i + 1 + at[q]])",
        [table("w", weights), table("at", places), pg.GlobalArg("u", np.float32, "n + 3"), "..."],
    )
    return pg.tag_inames(knl, {"q": "unr"})


@pytest.mark.parametrize("target", ["c", "opencl", "cuda"])
def test_text(target: str) -> None:
    text = str(pg.generate_code(stencil(), target))
    assert "[3]" not in text  # no table
    for term in ("0.25f * u[i]", "0.5f * u[i + 1]", "0.125f * u[i + 3]"):
        assert term in text


def test_stencil() -> None:
    for n in (0, 1, 7):
        u = np.random.default_rng(n).random(n + 3).astype(np.float32)
        _, (v,) = stencil().executor("c")(u=u)
        expected = np.float32(0.25) * u[:n] + np.float32(0.5) * u[1 : n + 1] + u[3 : n + 3] / 8
        np.testing.assert_array_equal(v, expected)


def test_two_axes_bounds_and_conditions() -> None:
    lengths = np.array([3, 0, 5], np.uint8)
    knl = pg.make_kernel(
        ["{ [q]: 0<=q<3 }", "{ [k]: 0<=k<length }"],
        [
            "<> length = l[q]                           {id=length}",
            "s[q] = sum(k, a[k])*m[q, 1]                {id=s}",
            "s[q] = m[q, 0] {id=t, if=m[q, 0] > 4, dep=s}",
        ],
        [
            table("l", lengths),
            table("m", np.array([[4, 10], [5, 20], [3, 30]], np.int32)),
            pg.GlobalArg("a", np.int32, 5),
            "...",
        ],
    )
    knl = pg.tag_inames(knl, {"q": "unr"})
    _, (s,) = knl.executor("c")(a=np.arange(1, 6, dtype=np.int32))
    np.testing.assert_array_equal(s, [60, 5, 450])


def test_what_stays_a_table() -> None:
    knl = pg.tag_inames(stencil(), {"q": "for"}, force=True)
    assert "[3] = {" in str(pg.generate_code(knl, "c"))
