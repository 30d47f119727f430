"""`argmin` and `argmax`: a value is computed once, and loops that ascend ask for no place."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import polygen as pg

ROWS = "{ [i,j]: 0<=i<m and 0<=j<n }"
TYPES = ("float32", "float64", "float16", "int8", "uint8", "int32", "int64", "uint64", "bool")


def rows(dtype: str, place: str = "j", operation: str = "argmax") -> pg.Kernel:
    knl = pg.make_kernel(ROWS, f"v[i], k[i] = {operation}(j, a[i,j], {place})")
    return pg.add_dtypes(knl, {"a": dtype})


def data(dtype: str, n: int) -> Any:
    """Return rows with ties, and with nothing but the worst value; with NaN and infinities."""
    rng = np.random.default_rng(n)
    kind = np.dtype(dtype).kind
    if kind == "b":
        worst = [False, True]
        return np.array([*rng.integers(0, 2, (5, n)), *[[w] * n for w in worst]], dtype)
    if kind in "iu":
        ends = np.iinfo(dtype).min, np.iinfo(dtype).max
        some = rng.integers(0, 4, (5, n)).astype(dtype)
        return np.array([*some, *[np.full(n, end, dtype) for end in ends]])
    values = np.array([-np.inf, -1, -0.0, 0.0, 2, np.inf, np.nan], dtype)
    some = values[rng.integers(0, len(values), (9, n))]
    few = values[rng.integers(1, 3, (4, n))]
    return np.array([*some, *few, *[np.full(n, value, dtype) for value in values]])


@pytest.mark.parametrize("dtype", TYPES)
def test_values(dtype: str) -> None:
    for operation, find in (("argmax", np.argmax), ("argmin", np.argmin)):
        knl = rows(dtype, operation=operation)
        run = knl.executor("c")
        for n in (1, 2, 7, 64):
            a = data(dtype, n)
            _, (k, v) = run(a=a)
            expected = find(a, axis=1)
            np.testing.assert_array_equal(k, expected)
            np.testing.assert_array_equal(v, a[np.arange(len(a)), expected])


def lines_of(knl: pg.Kernel, target: str) -> list[str]:
    return [line.strip() for line in str(pg.generate_code(knl, target)).splitlines()]


def test_text() -> None:
    knl = pg.make_kernel("{ [j]: 0<=j<n }", "v[0], k[0] = argmax(j, abs(a[j])*b[j], j)")
    knl = pg.add_dtypes(knl, {"a": np.float32, "b": np.float32})
    lines = lines_of(knl, "c")
    at = lines.index("for (int j = 0; j < n; ++j) {")
    assert lines[at - 2 : at + 6] == [
        "float acc_j = -INFINITY;",
        "int64_t acc_j_0 = 0;",
        "for (int j = 0; j < n; ++j) {",
        "float const candidate = fabsf(a[j]) * b[j];",
        "bool const taken = !(candidate <= acc_j) && acc_j == acc_j;",
        "acc_j = taken ? candidate : acc_j;",
        "acc_j_0 = taken ? j : acc_j_0;",
        "}",
    ]
    for target in ("opencl", "cuda"):
        text = str(pg.generate_code(knl, target))
        assert text.count("a[j]") == text.count("b[j]") == 1
        assert " < acc_j_0" not in text


@pytest.mark.parametrize(
    ("place", "asks"),
    [
        ("j", 0),
        ("2*j + 1", 0),
        ("n - 1 - j", 1),
        ("-j", 1),
        ("j//2", 1),
        ("3", 1),
        ("(j + 1) % n", 2),  # in two loops
    ],
)
def test_places(place: str, asks: int) -> None:
    knl = rows("int32", place)
    assert str(pg.generate_code(knl, "c")).count(" < acc_j_0") == asks
    a = np.random.default_rng(3).integers(0, 4, (20, 13)).astype(np.int32)
    _, (k, v) = knl.executor("c")(a=a)
    places = np.array([eval(place, {"j": j, "n": 13}) for j in range(13)])  # noqa: S307
    best = a.max(axis=1)
    np.testing.assert_array_equal(v, best)
    expected = [places[row == most].min() for row, most in zip(a, best, strict=True)]
    np.testing.assert_array_equal(k, expected)


def made(name: str) -> pg.Kernel:
    knl = rows("float32")
    if name == "reversed":
        return pg.reverse(knl, "j")
    if name == "in blocks":
        return pg.split_iname(knl, "j", 4)
    if name == "unrolled":
        return pg.split_iname(knl, "j", 4, inner_tag="unr")
    if name == "in parts":
        return pg.parallelize_reduction(knl, "insn", threads=4, items=2)
    if name == "rows on threads":
        return pg.tag_inames(knl, {"i": "g.0"})
    assert name == "peeled"
    return pg.peel(knl, "j")


NAMES = ("reversed", "in blocks", "unrolled", "in parts", "rows on threads", "peeled")


@pytest.mark.filterwarnings("ignore::polygen.errors.AmbiguousNesting")
@pytest.mark.parametrize("name", NAMES)
def test_after_steps(name: str) -> None:
    run = made(name).executor("c")
    for n in (1, 4, 13):
        a = data("float32", n)
        _, (k, v) = run(a=a)
        np.testing.assert_array_equal(k, np.argmax(a, axis=1))
        np.testing.assert_array_equal(v, a[np.arange(len(a)), k])


def test_two_in_one_loop() -> None:
    knl = pg.make_kernel(
        ROWS,
        [
            "k[i] = argmax(j, a[i,j], j)[1]",
            "l[i] = argmin(j, a[i,j]*2, j)[1] + argmax(j, -a[i,j], j)[1]",
        ],
    )
    a = data("float32", 9)
    _, (k, both) = knl.executor("c")(a=a)
    np.testing.assert_array_equal(k, np.argmax(a, axis=1))
    np.testing.assert_array_equal(both, np.argmin(a, axis=1) + np.argmax(-a, axis=1))


def test_where_data_decides_whether_there_is_a_value() -> None:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<m }", "{ [j]: start<=j<end }"],
        [
            "<int32> start = p[i]      {id=start}",
            "<int32> end = p[i + 1]    {id=end}",
            "k[i] = argmax(j, a[j], j)[1] if end > start else -1  {id=k}",
        ],
    )
    knl = pg.add_dtypes(knl, {"a": np.float32, "p": np.int32})
    assert " < acc_j_0" in str(pg.generate_code(knl, "c"))
    a, p = data("float32", 12)[0], np.array([0, 3, 3, 7, 12], np.int32)
    _, (k,) = knl.executor("c")(a=a, p=p)
    spans = pairwise(p)
    expected = [lo + np.argmax(a[lo:hi]) if hi > lo else -1 for lo, hi in spans]
    np.testing.assert_array_equal(k, expected)


def test_nothing_to_look_at_in_texts() -> None:
    """Of no element, the place is what it always was: parts of another one may be empty."""
    knl = pg.make_kernel("{ [j]: 0<=j<n }", "v[0], k[0] = argmax(j, a[j], j)")
    without = knl.copy(assumptions=pg.make_kernel("{ [j]: 0<=j<n }", "b[j] = 0").assumptions)
    without = pg.add_dtypes(without, {"a": np.float32})
    assert "int64_t acc_j_0 = 9223372036854775807LL;" in lines_of(without, "c")
