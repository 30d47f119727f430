"""C: partial tiles are bounds of loops, in which gcc makes vectors; elsewhere they are guards."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import WrongInstances
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model, lower_prepared, prepare
from polygen.lower.program import HostLoop, If, Launch, Loop, LoopProgram
from polygen.runtime.backends.c.c_compiler import FLAGS
from polygen.validation.validate import validate
from tests.oracle.cases import agree, kernel, steps

pytestmark = pytest.mark.usefixtures("optimized")

PLANE = kernel(
    "{ [i,j]: 0<=i<n and 0<=j<m }", "o[i,j] = 2*a[i,j]", name="plane", loop_priority="i, j"
)
TRIANGLE = kernel(
    "{ [i,j]: 0<=j<=i<n }",
    "o[i,j] = 2*a[i,j]",
    pg.GlobalArg("o", shape="n, n"),
    "...",
    name="triangle",
    loop_priority="i, j",
)
PRODUCT = kernel(
    "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<l }",
    "c[i,j] = c[i,j] + a[i,k]*b[k,j]  {inames=i:j:k}",
    pg.GlobalArg("c", np.float32, "n, m"),
    pg.GlobalArg("a, b", np.float32),
    "...",
    name="product",
    loop_priority="i, k, j",
)
STENCIL = kernel(
    "{ [i,j]: 0<=i<n and 0<=j<m }",
    "o[i,j] = a[i,j+1] + a[i+2,j+1] + a[i+1,j] + a[i+1,j+2]",
    name="stencil",
)
GROUPS = {"i": "g.1", "j": "g.0"}
ITEMS = {"i": "l.1", "j": "l.0"}
END = "j_inner < pg_min_i32(64, m - 64 * j_outer)"
GUARD = "64 * j_outer + j_inner < m"


def tiled(knl: Kernel, size: int = 64, **tags: Any) -> Kernel:
    return pg.tile(knl, dict.fromkeys([i for i in "ikj" if i in knl.inames], size), **tags)


def code(knl: Kernel, target: str = "c") -> str:
    return pg.generate_code(pg.add_dtypes(knl, {"a": np.float32}), target).source


# --- where there are bounds


@pytest.mark.parametrize(
    "tags", [{}, {"outer_tags": GROUPS}, {"outer_tags": GROUPS, "inner_tags": ITEMS}]
)
def test_partial_tiles_end_loops_in_c(tags: Any) -> None:
    text = code(tiled(PLANE, **tags))
    assert END in text
    assert "i_inner < pg_min_i32(64, n - 64 * i_outer)" in text
    assert "if (" not in text


def test_on_a_grid_they_are_guards() -> None:
    plain, on_items = tiled(PLANE, 16), tiled(PLANE, 16, outer_tags=GROUPS, inner_tags=ITEMS)
    for target in ("opencl", "cuda"):
        for knl in (plain, on_items):
            assert "if (16 * j_outer + j_inner < m" in code(knl, target)
            assert "min" not in code(knl, target)
        assert "j_inner < 16;" in code(plain, target)


@pytest.mark.parametrize("unrolled", ["unr", "unr_hint"])
def test_in_unrolled_loops_they_are_guards(unrolled: str) -> None:
    text = code(tiled(PLANE, 4, inner_tags={"j": unrolled}))
    assert text.count("if (4 * j_outer + ") == {"unr": 3, "unr_hint": 1}[unrolled]
    assert "i_inner < pg_min_i32(4, n - 4 * i_outer)" in text


def test_functions_that_a_grid_calls_have_guards() -> None:
    """There, arrays of work items stay in registers if loops can be unrolled."""
    twice = pg.make_function("{ [j]: 0<=j<m }", "o[j] = 2*a[j]", ["m", "a", "o"], name="twice")
    twice = pg.prioritize_loops(pg.split_iname(twice, "j", 64), "j_outer, j_inner")
    rows = pg.make_kernel(
        "{ [i,j,q]: 0<=i<n and 0<=j,q<m }",
        "[j]: o[i,j] = twice(m, [q]: a[i,q])",
        [pg.GlobalArg("a, o", np.float32, "n, m"), "..."],
        functions={"twice": twice},
    )
    for target, bounds in (("c", True), ("opencl", False)):
        text = pg.generate_code(pg.tag_inames(rows, "i: g.0"), target).source
        assert (END in text, GUARD in text) == (bounds, not bounds)


def test_sizes_that_divide_leave_the_loops_as_they_are() -> None:
    text = code(tiled(pg.assume(PLANE, "n mod 64 = 0 and m mod 64 = 0")))
    assert "j_inner < 64;" in text
    assert "min" not in text


def test_bounds_are_as_wide_as_subscripts() -> None:
    wide = pg.add_dtypes(tiled(PLANE), {"n, m": np.int64})
    assert "j_inner < pg_min_i64(64, m - 64 * j_outer)" in code(wide)


def test_bounds_below_and_of_several_conditions() -> None:
    middle = kernel("{ [i,j]: 1<=i<n-1 and i<=j<m }", "o[i,j] = a[i,j]", loop_priority="i, j")
    text = code(pg.tile(middle, {"i": 8, "j": 8}))
    assert "i_inner = pg_max_i32(" in text
    assert "j_inner = pg_max_i32(" in text
    assert "if (" not in text.partition("o)\n{")[2]


def test_what_items_copy_in_turn_is_a_loop_around_them() -> None:
    knl = pg.split_iname(STENCIL, "i", 8, outer_tag="g.1", inner_tag="l.1")
    knl = pg.split_iname(knl, "j", 32, outer_tag="g.0", inner_tag="l.0")
    knl = pg.add_prefetch(knl, "a", "i_inner, j_inner", default_tag="l.auto")
    text = code(knl)
    order = [text.index(f"int {name} = 0") for name in ("a_dim_0_outer", "i_inner", "j_inner")]
    assert order == sorted(order)
    assert "if (8" not in text
    for n, m in ((1, 1), (7, 31), (8, 32), (9, 33), (17, 67)):
        a = np.random.default_rng(n).random((n + 2, m + 2))
        _, (o,) = knl.executor("c")(a=a)
        np.testing.assert_array_equal(o, a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])


def test_loops_in_which_items_have_rows_of_their_own_stay_inside() -> None:
    """Around loops over items, each would be at another place of memory in turn."""
    knl = kernel("{ [i,j]: 0<=i<8 and 0<=j<m }", "o[i,j] = 2*a[i,j]", loop_priority="i, j")
    text = code(pg.tag_inames(knl, "i: l.0"))
    assert text.index("int i = 0") < text.index("int j = 0")


def test_versions_have_loops_over_items_of_their_own() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]")
    knl = pg.split_iname(knl, "i", 256, outer_tag="g.0")
    knl = pg.split_iname(knl, "i_inner", 64, inner_tag="l.0", outer_tag="unr")
    text = code(pg.separate_full_tiles(knl, "i_inner_outer, i_inner_inner"))
    assert text.count("for (int i_inner_inner = 0;") == 2
    assert re.search(r"if \(256 \* i_outer \+ 255 < n\) {\n +#pragma omp simd\n +for", text)


# --- what is computed


@pytest.mark.parametrize("knl", [PLANE, TRIANGLE, PRODUCT], ids=["plane", "triangle", "product"])
def test_it_computes_the_same(knl: Kernel) -> None:
    names = sorted({"n", "m", "l"}.intersection(knl.parameters))
    sizes = [dict(zip(names, s, strict=False)) for s in ((0, 1, 2), (4, 3, 5), (7, 4, 1))]
    both = {"outer_tags": GROUPS, "inner_tags": ITEMS} if knl is not PRODUCT else {}
    agree(knl, sizes, lambda k: tiled(k, 4), lambda k: tiled(k, 4, **both))


@pytest.mark.parametrize("tags", [{}, {"outer_tags": GROUPS, "inner_tags": ITEMS}])
def test_numpy_agrees(tags: Any) -> None:
    run = tiled(PLANE, 8, **tags).executor("c")
    for n, m in ((0, 3), (1, 1), (7, 8), (8, 9), (17, 15), (16, 64)):
        a = np.random.default_rng(n).integers(-9, 9, (n, m)).astype(np.float32)
        np.testing.assert_array_equal(run(a=a, n=n, m=m)[1][0], 2 * a)


# --- validation


def changed(node: Any, iname: str, upper: Any) -> Any:
    """Return a program, or a part of it, with another end of a loop."""
    if isinstance(node, LoopProgram):
        return replace(node, host=tuple([changed(each, iname, upper) for each in node.host]))
    if isinstance(node, Loop) and node.iname == iname:
        node = replace(node, upper=upper(node.upper))
    if isinstance(node, Loop | If | HostLoop | Launch):
        whole: Any = node
        return replace(whole, body=tuple([changed(each, iname, upper) for each in node.body]))
    return node


WRONG: list[tuple[Callable[[Any], Any], str]] = [
    (lambda end: end.children[0], "should not be"),
    (lambda end: end.children[1], "twice|should not be"),
    (lambda end: ex.Min((end.children[0], ex.sum_of(end.children[1], 1))), "should not be"),
    (lambda end: ex.Min((end.children[0], ex.sum_of(end.children[1], -1))), "not executed"),
    (lambda end: ex.Max(end.children), "twice|should not be"),
]


@pytest.mark.parametrize("iname", ["i_inner", "j_inner"])
@pytest.mark.parametrize(("wrong", "text"), WRONG)
def test_wrong_ends_are_noticed(iname: str, wrong: Any, text: str) -> None:
    knl = prepare(pg.add_dtypes(tiled(PLANE, 4), {"a": np.float32}))
    program = lower_prepared(knl, Model.LOOPS)
    validate(knl, program)
    with pytest.raises(WrongInstances, match=text):
        validate(knl, changed(program, iname, wrong))


# --- vectors


def test_gcc_makes_vectors_of_tiles(tmp_path: Path) -> None:
    kernels = {
        "plane": tiled(PLANE),
        "triangle": tiled(TRIANGLE),
        "product": tiled(PRODUCT),
        "items": tiled(PLANE, outer_tags=GROUPS, inner_tags=ITEMS),
        "rows": steps(
            lambda k: pg.split_iname(k, "j", 64),
            lambda k: pg.prioritize_loops(k, "i, j_outer, j_inner"),
        )(PLANE),
    }
    for name, knl in kernels.items():
        source = tmp_path / f"{name}.c"
        source.write_text(code(knl))
        command = ["gcc", *FLAGS, "-fopt-info-vec-optimized", "-o", "/dev/null", str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        lines = source.read_text().splitlines()
        loops = [n for n, line in enumerate(lines, 1) if "for (int j_inner" in line]
        innermost = [*loops, *(n + 1 for n in loops)]  # where gcc says it is, with its statement
        found = re.findall(r":(\d+):\d+: optimized: loop vectorized", done.stderr)
        assert set(map(int, found)) & set(innermost), (name, done.stderr)
