"""Remainders by sizes that wrap around at ends: choices, and loops whose ends are apart."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from tests.few import few

SQUARE = "{ [i,j]: 0<=i<n and 0<=j<m }"
CROSS = "v[i,j] = u[(i+1)%n,j] + 2*u[(i-1)%n,j] + 3*u[i,(j+1)%m] + 5*u[i,(j-1)%m]"
SIZES = ((1, 1), (1, 2), (2, 1), (2, 2), (3, 17), (16, 5), (7, 64))


WIDE = "v[i,j] = u[(i+2)%n,j] + 2*u[(i-3)%n,j] + 3*u[i,(j+3)%m] + 5*u[i,(j-2)%m]"


def torus(text: str = CROSS, least: int = 1, dtype: str = "float32") -> pg.Kernel:
    return pg.make_kernel(
        SQUARE,
        text,
        [pg.GlobalArg("u", dtype, "n, m"), "..."],
        assumptions=f"n>={least} and m>={least}",
        loop_priority="i, j",
    )


def cross(u: Any) -> Any:
    up, down = np.roll(u, -1, 0), np.roll(u, 1, 0)
    return up + 2 * down + 3 * np.roll(u, -1, 1) + 5 * np.roll(u, 1, 1)


def wide(u: Any) -> Any:
    up, down = np.roll(u, -2, 0), np.roll(u, 3, 0)
    return up + 2 * down + 3 * np.roll(u, -3, 1) + 5 * np.roll(u, 2, 1)


def field(n: int, m: int, dtype: str = "float32") -> Any:
    return np.random.default_rng(n * m).integers(0, 100, (n, m)).astype(dtype)


def check(run: Any, right: Callable[[Any], Any] = cross, dtype: str = "float32") -> None:
    for n, m in SIZES:
        u = field(n, m, dtype)
        _, (v,) = run(u=u)
        np.testing.assert_array_equal(v, right(u))


def test_text() -> None:
    text = str(pg.generate_code(torus(), "c"))
    assert text.count("for (") == 4
    assert "%" not in text
    assert "/" not in text
    (middle,) = re.findall(r"for \(int j = 1; j < m - 1; \+\+j\)\n +(.*)", text)
    assert middle.endswith("* u[i * m + (j + 1)] + 5.0f * u[i * m + (j - 1)];")
    for target in ("opencl", "cuda"):
        text = str(pg.generate_code(torus(), target))
        assert text.count("for (") == 2
        assert "%" not in text


@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64"])
def test_values(dtype: str) -> None:
    check(torus(dtype=dtype).executor("c"), dtype=dtype)


def test_text_of_what_wraps_several_times_around_small_sizes() -> None:
    text = str(pg.generate_code(torus(WIDE), "c"))
    assert text.count("for (") == 4
    (middle,) = re.findall(r"for \(int j = 2; j < m - 3; \+\+j\)\n +(.*)", text)
    assert middle.endswith("* u[i * m + (j + 3)] + 5.0f * u[i * m + (j - 2)];")
    for target in ("opencl", "cuda"):
        assert str(pg.generate_code(torus(WIDE), target)).count("for (") == 2


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_what_wraps_several_times_around_small_sizes(target: str) -> None:
    check(torus(WIDE).executor(target), wide)


def after(name: str, text: str = CROSS) -> pg.Kernel:
    knl = torus(text)
    steps: dict[str, Callable[[], pg.Kernel]] = {
        "peeled": lambda: pg.peel(pg.peel(knl, "i"), "j"),
        "peeled at the end": lambda: pg.index_set_split(pg.peel(knl, "j"), "j < m - 1"),
        "reversed": lambda: pg.reverse(knl, "j"),
        "in tiles": lambda: pg.tile(knl, {"i": 4, "j": 32}),
        "on axes": lambda: pg.tag_inames(knl, "i: g.0, j: l.0"),
        "on threads": lambda: pg.tag_inames(knl, "i: g.0"),
        "both on threads": lambda: pg.tag_inames(knl, "i: g.1, j: g.0"),
        "on items": lambda: pg.split_iname(knl, "j", 8, outer_tag="g.0", inner_tag="l.0"),
        "unrolled": lambda: pg.split_iname(knl, "j", 4, inner_tag="unr"),
        "in vectors": lambda: pg.split_iname(knl, "j", 4, inner_tag="vec"),
        "shifted": lambda: pg.shift(knl, "j", 3),
    }
    return pg.set_options(steps[name](), silenced_warnings=["AmbiguousNesting", "NotVectorized"])


AFTER = (
    "peeled",
    "peeled at the end",
    "reversed",
    "in tiles",
    "on threads",
    "both on threads",
    "on items",
    "unrolled",
    "in vectors",
    "shifted",
)


@few(5, "name", AFTER)
def test_after_steps(name: str) -> None:
    check(after(name).executor("c"))
    check(after(name, WIDE).executor("c"), wide)


def test_peeling_clears_it() -> None:
    text = str(pg.generate_code(after("peeled at the end"), "c"))
    assert "for (int j = 1; j < m - 1; ++j)" in text
    assert "%" not in text


@pytest.mark.parametrize(
    ("index", "least"),
    [
        ("j + 2", 2),
        ("j - 3", 3),
        ("j - 100", 1),
        ("j + 4*(j//4)", 1),
        ("i + j + 3", 1),
        ("m - 1 - j", 1),
        ("j + m//2", 2),
        ("2*j", 1),
        ("j + i", 1),
        ("j*j", 1),
    ],
)
def test_other_subscripts(index: str, least: int) -> None:
    knl = torus(f"v[i,j] = u[i,({index}) % m] + u[i,(j - 1) % m]", least)
    run = knl.executor("c")
    for n, m in ((least, least), (2 * least, least + 1), (5, 17), (3, 64)):
        u = field(n, m)
        _, (v,) = run(u=u)
        i, j = np.ogrid[:n, :m]
        at = eval(index, {"i": i, "j": j, "m": m}) % m  # noqa: S307
        np.testing.assert_array_equal(v, u[i, at] + u[i, (j - 1) % m])


def test_sums_and_quotients() -> None:
    knl = torus("v[i] = sum(j, (j + 1) // m * 100 + (j - 1) // m + u[i, (j + 1) % m])")
    run = knl.executor("c")
    for n, m in SIZES:
        u = field(n, m)
        _, (v,) = run(u=u)
        np.testing.assert_array_equal(v, u.sum(axis=1) + 100 - 1)


def test_where_a_condition_says_it() -> None:
    knl = torus("v[i,j] = 7 + j {id=a}\nv[i,j] = u[i, (2*j) % m] {if=2*j < m, dep=a}")
    assert "%" not in str(pg.generate_code(knl, "c"))
    run = knl.executor("c")
    for n, m in SIZES:
        u, j = field(n, m), np.arange(m)
        _, (v,) = run(u=u)
        np.testing.assert_array_equal(v, np.where(2 * j < m, u[:, 2 * j % m], 7 + j))


TWICE = "v[i,j] = u[i,((j+1)%m+2)%m] + 2*u[i,((j-1)%m-1)%m]"


def twice(u: Any) -> Any:
    """Return the same, by NumPy."""
    return np.roll(u, -3, 1) + 2 * np.roll(u, 2, 1)


@pytest.mark.parametrize("least", [1, 2, 3])
def test_what_is_rotated_already(least: int) -> None:
    """The middle of the loop has no division, nor a choice, and is no strip."""
    knl = torus(TWICE, least)
    text = str(pg.generate_code(knl, "c"))
    (middle,) = re.findall(r"for \(int j = 2; j < m - 3; \+\+j\)\n +(.*)", text)
    assert "u[i * m + (j + 3)] + 2.0f * u[i * m + (j - 2)]" in middle
    assert "number_div" not in text
    if least == 3:
        assert "%" not in text
    for target in ("c", "opencl") if least == 1 else ("c",):
        run = knl.executor(target)
        for n, m in SIZES:
            if min(n, m) >= least:
                u = field(n, m)
                _, (v,) = run(u=u)
                np.testing.assert_array_equal(v, twice(u))


@pytest.mark.parametrize("offsets", [(1, 1), (5, -2), (-3, 7)])
def test_other_rotations(offsets: tuple[int, int]) -> None:
    first, second = offsets
    text = f"v[i,j] = u[i,((j+{first})%m+{second})%m] + u[((i+{first})%n+{second})%n,(j+1)%m]"
    run = torus(text).executor("c")
    for n, m in ((1, 1), (1, 2), (2, 3), (1, 5), (2, 17)):
        u = field(n, m)
        _, (v,) = run(u=u)
        by = -first - second
        np.testing.assert_array_equal(v, np.roll(u, by, 1) + np.roll(u, (by, -1), (0, 1)))
