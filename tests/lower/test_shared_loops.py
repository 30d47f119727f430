"""Loops in which all work items make the same iterations: around the loops over work items in C."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model
from polygen.lower.program import Assign, Block, If, Loop, Verbatim
from tests.few import few
from tests.oracle.cases import (
    Step,
    agree,
    grid,
    kernel,
    launches,
    lowered,
    prior,
    split,
    steps,
    tag,
)

ROWS = "{ [i,j,k]: 0<=i,j<n and 0<=k<m }"
PRODUCT = kernel(ROWS, "c[i,j] = sum(k, a[i,k]*b[k,j])")
CALLS = [{"n": n, "m": m} for n, m in ((0, 3), (1, 0), (9, 5))]
ITEMS = steps(grid("i", 4, 1), grid("j", 8))


def loops_around(knl: Kernel) -> list[tuple[str, tuple[str, ...]]]:
    """Return each instruction that is carried out, with the loops in C around it but groups'."""

    def visit(block: Block, loops: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
        for node in block:
            if isinstance(node, Loop):
                group = node.iname.endswith("_outer") and node.unordered
                yield from visit(node.body, loops if group else (*loops, node.iname))
            elif isinstance(node, If):
                yield from visit(node.body, loops)
            elif isinstance(node, Assign | Verbatim):
                yield node.insn_id, loops

    return [x for launch in launches(lowered(knl, Model.LOOPS)) for x in visit(launch.body, ())]


def goes_around(knl: Kernel, loop: str, item: str) -> bool:
    """Tell whether a loop goes around that over work items, wherever both are."""
    found = {
        loops.index(loop) < loops.index(item)
        for _, loops in loops_around(knl)
        if loop in loops and item in loops
    }
    assert len(found) == 1
    return found == {True}


# --- where they do


@pytest.mark.parametrize(
    "step", [ITEMS, steps(ITEMS, split("k", 4)), steps(grid("j", 16), split("k", 16))]
)
def test_sums_of_neighbours(step: Step) -> None:
    agree(PRODUCT, CALLS, step)
    made = step(PRODUCT)
    inner = "k_inner" if "k_inner" in made.inames else "k"
    assert goes_around(made, inner, "j_inner")


def test_what_it_becomes() -> None:
    knl = kernel("{ [j,k]: 0<=j<64 and 0<=k<n }", "c[j] = sum(k, a[k]*b[k,j])")
    text = pg.generate_code(pg.add_dtypes(tag(j="l.0")(knl), {"a,b": np.float32}), "c").source
    assert text[text.index("    float acc") :] == (
        """\
    float acc_k[64];
    for (int j = 0; j < 64; ++j)
        acc_k[j] = 0.0f;
    for (int k = 0; k < n; ++k) {
        for (int j = 0; j < 64; ++j)
            acc_k[j] += a[k] * b[64 * k + j];
    }
    for (int j = 0; j < 64; ++j)
        c[j] = acc_k[j];
}
"""
    )


@few(3, "dtype", ["float32", "float64", "int8", "uint16", "complex64", "float16"])
def test_values_in_c(dtype: str) -> None:
    knl = pg.add_dtypes(steps(ITEMS, split("k", 4))(PRODUCT), {"a": dtype, "b": dtype})
    random = np.random.default_rng(0)
    for n, m in ((1, 3), (8, 4), (19, 7)):
        a = random.integers(0, 4, (n, m)).astype(dtype)
        b = random.integers(0, 4, (m, n)).astype(dtype)
        _, (c,) = knl.executor("c")(a=a, b=b, n=n, m=m)
        np.testing.assert_array_equal(c, a @ b)


def test_conditions_that_differ_are_asked_in_loops_of_their_own() -> None:
    """Each becomes a bound, so that what is left has no condition: here of two elements an item."""
    knl = kernel(
        "{ [i,k]: 0<=i<n and 0<=k<m }",
        "c[i] = c[i] + a[k]*b[k,i]  {inames=i:k}",
        pg.GlobalArg("c", shape="n"),
        "...",
    )
    step = steps(
        split("i", 32, outer_tag="g.0"),
        split("i_inner", 16, outer_tag="unr", inner_tag="l.0"),
        prior("k, i_inner_outer"),
    )
    agree(knl, [{"n": n, "m": 3} for n in (0, 1, 16, 17, 32, 45)], step)
    made = pg.add_dtypes(step(knl), {"a,b,c": np.float32})
    text = pg.generate_code(made, "c").source
    inside = text[text.index("for (int k") :]
    assert "if (" not in inside
    assert inside.count("for (int i_inner_inner = 0; i_inner_inner < pg_min_i32(16, n - ") == 2


def test_many_conditions_that_differ_make_no_loops_each() -> None:
    """Compilers would need half a minute for hundreds of these."""
    knl = kernel(
        "{ [i,k]: 0<=i<n and 0<=k<m }",
        "c[i] = c[i] + a[k]*b[k,i]  {inames=i:k}",
        pg.GlobalArg("c", shape="n"),
        "...",
    )
    for parts, loops in ((32, 32), (33, 1)):
        tiled = split("i", parts * 16, outer_tag="g.0")(knl)
        tiled = split("i_inner", 16, outer_tag="unr", inner_tag="l.0")(tiled)
        tiled = pg.add_dtypes(prior("k, i_inner_outer")(tiled), {"a,b,c": np.float32})
        text = pg.generate_code(tiled, "c").source
        assert text.count("for (int i_inner_inner") == loops


def test_private_arrays_and_scalars_that_pass_from_iteration_to_iteration() -> None:
    knl = kernel(
        "{ [i,k,p,q]: 0<=i<n and 0<=k<m and 0<=p,q<2 }",
        """
        t[p] = p*a[i]                    {id=t, inames=i:p}
        s = 0                            {id=s, inames=i}
        s = s + t[0]*b[k,i]              {id=add, inames=i:k, dep=s:t}
        t[1] = t[1] + s                  {id=more, inames=i:k, dep=add}
        out[i] = s + t[0] + t[1]         {dep=more, inames=i}
        """,
        pg.TemporaryVariable("t", shape=(2,)),
        pg.TemporaryVariable("s"),
        pg.GlobalArg("out", shape="n"),
        "...",
    )
    step = grid("i", 16)
    agree(knl, [{"n": n, "m": m} for n, m in ((0, 1), (5, 0), (16, 3), (21, 4))], step)
    assert goes_around(step(knl), "k", "i_inner")


def test_conditions_on_data_stay_inside() -> None:
    knl = kernel(
        "{ [i,k]: 0<=i<n and 0<=k<m }",
        """
        x = a[i]               {id=x}
        x = x*x + b[i]         {id=step, dep=x, inames=i:k, if=x < 2}
        out[i] = x             {dep=step, inames=i}
        """,
        pg.TemporaryVariable("x"),
        "...",
    )
    step = grid("i", 8)
    agree(knl, [{"n": n, "m": m} for n, m in ((0, 1), (5, 0), (8, 3), (11, 4))], step)
    assert goes_around(step(knl), "k", "i_inner")


# --- where they do not


def _bounds_by_item() -> Kernel:
    knl = kernel("{ [i,k]: 0<=i<n and 0<=k<=i }", "c[i] = sum(k, b[k,i])")
    return grid("i", 16)(knl)


def _bounds_of_data() -> Kernel:
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [k]: 0<=k<last }"],
        "<> last = p[i]  {id=last}\nc[i] = sum(k, b[k,i])",
        pg.GlobalArg("p", np.int32, "n"),
        pg.GlobalArg("b", shape="m, n"),
        "...",
    )
    return grid("i", 16)(knl)


def _written_bounds() -> Kernel:
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [k]: 0<=k<last }"],
        "<> last = p[0]  {id=last, inames=i}\nc[i] = sum(k, b[k,i])",
        pg.GlobalArg("p", np.int32, 1),
        pg.GlobalArg("b", shape="m, n"),
        "...",
    )
    return grid("i", 16)(knl)


def _far_apart() -> Kernel:
    return grid("i", 16)(kernel("{ [i,k]: 0<=i<n and 0<=k<m }", "c[i] = sum(k, b[i,k])"))


def _few_items() -> Kernel:
    return grid("i", 4)(kernel("{ [i,k]: 0<=i<n and 0<=k<m }", "c[i] = sum(k, b[k,i])"))


def _few_iterations() -> Kernel:
    return grid("i", 16)(kernel("{ [i,k]: 0<=i<n and 0<=k<4 }", "c[i] = sum(k, b[k,i])"))


def _much_to_keep() -> Kernel:
    knl = kernel(
        "{ [i,k,p,q]: 0<=i<n and 0<=k<m and 0<=p,q<64 }",
        """
        t[p] = 0                    {id=t, inames=i:p}
        t[3] = t[3] + b[k,i]        {id=add, inames=i:k, dep=t}
        c[i] = sum(q, t[q])         {dep=add}
        """,
        pg.TemporaryVariable("t", shape=(64,)),
        "...",
    )
    return grid("i", 512)(knl)


def _verbatim() -> Kernel:
    knl = kernel(
        "{ [i,k]: 0<=i<n and 0<=k<m }",
        """
        s = 0                                           {id=s, inames=i}
        ... code(i, k) "s += k;" reads(s) writes(s)     {id=c, inames=i:k, dep=s}
        c[i] = s                                        {dep=c, inames=i}
        """,
        pg.TemporaryVariable("s", np.float32),
        "...",
    )
    return grid("i", 16)(knl)


STAY = [
    _bounds_by_item, _bounds_of_data, _written_bounds, _far_apart, _few_items, _few_iterations,
    _much_to_keep, _verbatim,
]  # fmt: skip


@pytest.mark.parametrize("made", STAY)
def test_others_stay_inside(made: Any) -> None:
    knl: Kernel = made()
    loops = [loops for _, loops in loops_around(knl) if "k" in loops]
    assert loops
    assert all(around.index("i_inner") < around.index("k") for around in loops)
