"""`pad_tiles`: points of tiles that are not there, of which nothing is used."""

from __future__ import annotations

from collections.abc import Callable

import islpy as isl
import numpy as np
import pytest

import polygen as pg
from polygen.errors import IllegalStep, NotPaddable, UnknownIname
from polygen.ir.domain import Domain, project_out, unflatten
from tests.few import few
from tests.oracle.cases import Step, agree_in_arrays, kernel, steps

SUMS = """
for i, j
    <> s = 0  {id=s}
    s = s + a[i + n, k]*b[j + n, k]  {id=add, dep=s}
    c[i + n, j + n] = s  {id=c, dep=add}
end
"""
ARRAYS = (
    pg.GlobalArg("a, b", np.float64, "4*n, m"),
    pg.GlobalArg("c", np.float64, "4*n, 4*n"),
)
HEIGHT, WIDTH = 4, 3
# Which (i, j) there are, as a set and in Python.
DOMAINS: dict[str, Callable[[int, int, int], bool]] = {
    "0<=j<=i<n": lambda i, j, n: 0 <= j <= i < n,
    "0<=i<j<n": lambda i, j, n: 0 <= i < j < n,
    "0<=i,j<n and i-2<=j<=i+3": lambda i, j, n: 0 <= i < n and 0 <= j < n and -2 <= j - i <= 3,
    "0<=i,j and i+j<n": lambda i, j, n: i >= 0 and j >= 0 and i + j < n,
    "0<=i<n and 0<=2*j<=3*i": lambda i, j, n: 0 <= i < n and 0 <= 2 * j <= 3 * i,
    "-i<=j<=i and 2<=i<n": lambda i, j, n: -i <= j <= i and 2 <= i < n,
    "0<=i,j<n and i!=j": lambda i, j, n: 0 <= i < n and 0 <= j < n and i != j,
    "0<=i,j<n and (i+j) mod 2 = 0": lambda i, j, n: 0 <= i < n and 0 <= j < n and not (i + j) % 2,
    "(0<=i<=2 and 0<=j<n) or (0<=j<=2 and 0<=i<n)": lambda i, j, n: (
        (0 <= i <= 2 and 0 <= j < n) or (0 <= j <= 2 and 0 <= i < n)
    ),
}


def sums(domain: str) -> pg.Kernel:
    return kernel(
        f"{{ [i,j,k]: ({domain}) and 0<=k<m }}", SUMS, *ARRAYS, loop_priority="i, j, k",
        assumptions="n >= 0 and m >= 0",
    )  # fmt: skip


def tiled(knl: pg.Kernel) -> pg.Kernel:
    return pg.tile(knl, {"i": HEIGHT, "j": WIDTH})


def padded(*inames: str) -> Step:
    """Return the step that pads tiles."""
    return lambda knl: pg.pad_tiles(knl, ", ".join(inames))


@few(3, "domain", DOMAINS)
def test_tiles_of_any_set(domain: str) -> None:
    """The same is computed; tiles with a point are full, and few of the others are there."""
    knl = sums(domain)
    sizes = [{"n": n, "m": 2} for n in (0, 1, 4, 7)]
    agree_in_arrays(knl, sizes, steps(tiled, padded("i_inner", "j_inner")))
    home = pg.pad_tiles(tiled(knl), "i_inner, j_inner").home_domains["i_inner"]
    for n in (1, 5, 9):
        span = range(-3 * n, 4 * n)
        there = {(i, j) for i in span for j in span if DOMAINS[domain](i, j, n)}
        touched = {(i // HEIGHT, j // WIDTH) for i, j in there}
        found = _full_tiles(home, n)
        assert touched <= found
        assert touched == found or " or " in domain or "!=" in domain  # their hull has more


def _full_tiles(home: Domain, n: int) -> set[tuple[int, int]]:
    """Return the tiles of a domain, each of which is known to have all of its points."""
    flat = project_out(home.flat.intersect(isl.Set(f"[n, m] -> {{ : n = {n} and m = 1 }}")), "k")
    values = unflatten(flat, ["i_outer", "j_outer", "i_inner", "j_inner"])
    points: list[list[int]] = []
    values.foreach_point(
        lambda point: points.append(
            [point.get_coordinate_val(isl.dim_type.set, at).to_python() for at in range(4)]
        )
    )
    tiles = {(i, j) for i, j, *_ in points}
    assert len(points) == len(tiles) * HEIGHT * WIDTH
    return tiles


def test_what_becomes_of_instructions() -> None:
    given = sums("0<=j<=i<n")
    knl = pg.pad_tiles(tiled(given), "i_inner, j_inner")
    lines = str(knl)
    around = "[i_outer, i_inner, j_outer, j_inner"
    assert f"{around}] s = 0  {{id=s}}" in lines
    assert "if(4*i_outer + i_inner < n, a[4*i_outer + i_inner + n, k], 0)" in lines
    assert "if(3*j_outer + j_inner < n, b[3*j_outer + j_inner + n, k], 0)" in lines
    assert "if=3*j_outer + j_inner <= 4*i_outer + i_inner}" in lines
    assert pg.replay(given, knl.history) == knl


def test_one_loop_is_what_pad_iname_makes() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "<> t = a[i]  {id=t}\nout[i] = 2*t  {dep=t}")
    knl = pg.add_dtypes(knl, {"a": np.float64})
    one = pg.pad_tiles(pg.split_iname(knl, "i", 4), "i_inner")
    other = pg.split_iname(pg.pad_iname(knl, "i", 4), "i", 4)
    home, wanted = one.home_domains["i_inner"].set, other.home_domains["i_inner"].set
    assert home.is_equal(wanted)
    sizes = [{"n": n} for n in (0, 1, 3, 4, 9)]
    agree_in_arrays(knl, sizes, lambda _: one, lambda _: other)


def test_full_tiles_stay() -> None:
    knl = pg.split_iname(kernel("{ [i]: 0<=i<12 }", "out[i] = i"), "i", 4)
    assert pg.pad_tiles(knl, "i_inner") is knl
    none = pg.split_iname(kernel("{ [i]: 0<=i<n }", "out[i] = i", assumptions="n=0"), "i", 4)
    assert pg.pad_tiles(none, "i_inner") is none


def test_loops_inside_end_with_what_was_there() -> None:
    """The loop of k depends on i: beyond the triangle, too."""
    knl = kernel(
        ["{ [i,j]: 0<=j<=i<n }", "{ [k]: i<=k<m }"],
        SUMS,
        *ARRAYS,
        loop_priority="i, j, k",
    )
    sizes = [{"n": n, "m": m} for n, m in ((1, 1), (5, 9), (6, 3))]
    agree_in_arrays(knl, sizes, steps(tiled, padded("i_inner", "j_inner")))


def test_refused() -> None:
    knl = sums("0<=j<=i<n")
    with pytest.raises(UnknownIname, match="no iname 'r'"):
        pg.pad_tiles(knl, "r")
    with pytest.raises(NotPaddable, match=r"'i' has no values between two constants"):
        pg.pad_tiles(knl, "i")
    sum_of_rows = kernel("{ [i,j]: 0<=j<=i<n }", "out[i] = sum(j, a[i,j])")
    split = pg.split_iname(pg.add_dtypes(sum_of_rows, {"a": np.float64}), "j", 4)
    with pytest.raises(NotPaddable, match="'j_outer' is what a reduction runs over, in 'insn'"):
        pg.pad_tiles(split, "j_inner")
    rows = pg.split_iname(pg.add_dtypes(sum_of_rows, {"a": np.float64}), "i", 4)
    with pytest.raises(NotPaddable, match="'j' is what a reduction runs over, in 'insn'") as caught:
        pg.pad_tiles(rows, "i_inner")
    assert "pad_reduction gives it a domain of its own" in str(caught.value)
    apart = pg.pad_tiles(pg.pad_reduction(rows, "j", "i_inner"), "i_inner")
    agree_in_arrays(rows, [{"n": n} for n in (1, 4, 6)], lambda _: apart)
    last = kernel(
        "{ [i]: 0<=i<n }",
        "<> t = 0  {id=z}\nfor i\nt = a[i]  {id=t, dep=z}\nend\nout[0] = t {dep=t}",
    )
    with pytest.raises(IllegalStep, match=r"what t\[i_inner=\d, i_outer=\d\] wrote"):
        pg.pad_tiles(pg.split_iname(pg.add_dtypes(last, {"a": np.float64}), "i", 4), "i_inner")
