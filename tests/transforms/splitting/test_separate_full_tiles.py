"""`separate_full_tiles`: tiles that need no guards, apart from those at the rim."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NotSeparable, UnknownIname
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from tests.oracle.cases import agree, kernel, lowered, steps
from tests.transforms.numpy_runs import numpy_agrees
from tests.transforms.splitting.separate_code import APART, ENDS, LINE, PLANE, SIZES, tiled_product


def test_numpy_agrees_on_tiles() -> None:
    numpy_agrees(
        PLANE,
        steps(
            lambda k: pg.tile(k, {"i": 8, "j": 4}),
            lambda k: pg.separate_full_tiles(k, "i_inner, j_inner"),
        ),
        lambda a: {"out": 2 * a + np.subtract.outer(np.arange(len(a)), np.arange(len(a)))},
        2,
    )


def test_tiles_in_local_memory() -> None:
    knl = tiled_product()
    for target in ("c", "opencl"):
        run = knl.executor(target)
        for n, m, k in ((1, 1, 1), (5, 4, 9), (8, 8, 8), (7, 11, 3)):
            a = np.random.default_rng(n).integers(-4, 5, size=(n, k)).astype(np.float32)
            b = np.random.default_rng(m).integers(-4, 5, size=(k, m)).astype(np.float32)
            _, (c,) = run(a=a, b=b)
            np.testing.assert_array_equal(c, a @ b)


def test_full_tiles_have_no_guards() -> None:
    source = str(pg.generate_code(tiled_product(), "opencl"))
    inside = source.split("4 * i_outer + 3 < n && 4 * j_outer + 3 < m) {")
    whole = inside[1].split("for (int k_outer = l / 4;")[0]
    assert "k_outer < l / 4" in whole
    assert "if" not in whole


def test_all_tiles_are_full() -> None:
    knl = kernel("{ [i]: 0<=i<8 }", "o[i] = i")
    assert pg.separate_full_tiles(knl, "i") is knl


@pytest.mark.parametrize(
    ("step", "kind", "text"),
    [
        (lambda: pg.separate_full_tiles(LINE, "k"), UnknownIname, "no iname 'k'"),
        (lambda: pg.separate_full_tiles(LINE, "i"), NotSeparable, "no values between two const"),
        (
            lambda: pg.separate_full_tiles(pg.split_iname(ENDS, "i", 4), "i_inner"),
            NotSeparable,
            "its domain is not convex",
        ),
    ],
)
def test_refused_tiles(step: Any, kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind, match=re.escape(text)):
        step()


def test_what_is_known_of_remainders_of_sizes() -> None:
    """It makes no domain less convex."""
    text = "out[i,j] = a[i,j] + m"
    knl = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", text, assumptions="m mod 8 = 0")
    knl = pg.separate_full_tiles(pg.split_iname(knl, "i", 4), "i_inner")
    assert "SEPARATIONS:\n4*i_outer + 3 < n\n" in str(knl)
    a = np.arange(7 * 8).reshape(7, 8)
    _, (out,) = knl.executor("c")(a=a)
    np.testing.assert_array_equal(out, a + 8)


def three_nests() -> Kernel:
    text = "b[i] = a[i]  {id=b}\nc[i] = 2*a[i]  {id=c}\nd[i] = 3*a[i]  {id=d}"
    knl = pg.split_iname(kernel("{ [i]: 0<=i<n }", text), "i", 4, inner_iname="p")
    knl = pg.split_iname(knl, "p", 2, outer_iname="part", inner_iname="item")
    for insn in ("c", "d"):
        knl = pg.duplicate_inames(knl, "part", within=f"id:{insn}", suffix=f"_{insn}")
    return pg.prioritize_loops(knl, "i_outer, item, part")


def test_all_loops_over_the_points_of_a_tile_are_named() -> None:
    knl, names = three_nests(), "item, part, part_c, part_d"
    new = pg.separate_full_tiles(knl, names)
    assert [str(c) for c in new.separations] == ["4*i_outer + 3 < n"]
    assert "for i_outer in [0, n//4):" in str(lowered(new))
    agree(knl, SIZES, lambda knl: pg.separate_full_tiles(knl, names))
    text = "a tile of item, part is full: i_outer, part_c, part_d\n.*\n  remedy: name all inames"
    with pytest.raises(NotSeparable, match=text):
        pg.separate_full_tiles(knl, "item, part")
    nests = pg.tile(pg.split_iname(APART, "i", 4), {"j": 4})
    with pytest.raises(NotSeparable, match="one step for loops that are nested, another one"):
        pg.separate_full_tiles(nests, "i_inner, j_inner")


def test_a_loop_behind_the_one_iteration_of_its_first_part() -> None:
    # In it, j_outer = 0 is left out by a condition inside.
    knl = kernel(
        ["{ [i]: 0<=i<6 }", "{ [j]: 0<=j and 2*j<=i+3 }"],
        "out[i,j] = i + 10*j",
        pg.GlobalArg("out", "int32", (6, 6)),
    )
    knl = pg.separate_full_tiles(pg.split_iname(knl, "j", 3), "j_inner")
    source = str(pg.generate_code(knl, "c"))
    assert source.count("for") == 4
    agree(knl, [{}])


def test_which_tiles_are_full() -> None:
    """Those of which all points are in the domain: found by counting."""
    knl = kernel("{ [i,j]: 0<=j<=i<n }", "out[i,j] = 2*a[i,j] + j", loop_priority="i, j")
    new = pg.separate_full_tiles(pg.tile(knl, {"i": 2, "j": 3}), "i_inner, j_inner")
    (condition,) = map(show_expression, new.separations)
    for n in range(9):
        inside = {(i, j) for i in range(n) for j in range(i + 1)}
        for i, j in {(i // 2, j // 3) for i, j in inside}:
            points = {(2 * i + p, 3 * j + q) for p in range(2) for q in range(3)}
            names = {"n": n, "i_outer": i, "j_outer": j}
            full = eval(condition, {}, names)  # noqa: S307  (from above)
            assert full == (points <= inside)
    assert pg.separate_full_tiles(new, "i_inner, j_inner") is new
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(knl, new.history) == new


def test_an_equation_leaves_no_tile_full() -> None:
    knl = kernel("{ [i,k]: 0<=i<n and 0<=k<4 and k = i }", "out[i,k] = 1.0", loop_priority="i, k")
    (condition,) = map(show_expression, pg.separate_full_tiles(knl, "k").separations)
    assert not any(eval(condition, {}, {"n": 9, "i": i}) for i in range(9))  # noqa: S307
