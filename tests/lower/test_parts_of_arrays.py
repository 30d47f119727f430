"""Calls on parts of arrays of many kinds, as functions and inlined, on both targets: NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import polygen as pg
from tests.few import few
from tests.oracle.cases import QUIET

LINE = pg.make_function("{ [k]: 0<=k<m }", "y[k] = 2*x[k] + 1", ["m", "x", "y"], name="line")
SWEEP = pg.make_function("{ [k]: 1<=k<m }", "y[k] = y[k] + y[k-1]", ["m", "y"], name="sweep")
RUNNING = pg.make_function(
    "{ [k, l]: 0<=k<m and 0<=l<=k }", "y[k] = sum(l, x[l])", ["m", "x", "y"], name="running"
)
TURN = pg.make_function(
    "{ [p, q]: 0<=p<2 and 0<=q<3 }",
    "y[p, q] = x[q, p]",
    [pg.GlobalArg("x", shape=(3, 2)), pg.GlobalArg("y", shape=(2, 3))],
    name="turn",
    silenced_warnings=QUIET,
)
BRANCH = pg.make_function(
    "{ [k]: 0<=k<m }",
    """
    if x[k] > 2
        y[k] = x[k]  {id=more}
    else
        y[k] = -x[k]  {id=less}
    end
    """,
    ["m", "x", "y"],
    name="branch",
)
KERNELS = {k.name: k for k in (LINE, SWEEP, RUNNING, TURN, BRANCH)}


def array(name: str, shape: str, dtype: Any = np.float64) -> pg.GlobalArg:
    return pg.GlobalArg(name, dtype, shape)


def strided(a: Any) -> Any:
    b = np.zeros_like(a)
    n = len(a)
    b[:, 1 : 2 * n : 2] = 2 * a[::-1, 2 * n :: -2][:, :n] + 1
    return b


def as_long_as(a: Any) -> Any:
    b = np.zeros_like(a)
    for row, values in enumerate(a):
        b[row, : row % 4] = 2 * values[: row % 4] + 1
    return b


CASES: dict[str, tuple[str, Sequence[pg.GlobalArg], Callable[[Any], Any]]] = {
    "strided, backwards": (
        "[j]: b[i, 2*j + 1] = line(n, [j]: a[n - 1 - i, 2*n - 2*j])",
        [array("a", "n, 2*n + 3"), array("b", "n, 2*n + 3")],
        strided,
    ),
    "one element for all": (
        "[j]: b[i, j] = line(2*n + 3, [j]: a[i, 1])",
        [array("a", "n, 2*n + 3"), array("b", "n, 2*n + 3")],
        lambda a: 2 * a[:, 1:2] + 1 + np.zeros_like(a),
    ),
    "in place": (
        "[j]: b[i, j] = sweep(2*n + 3, [j]: b[i, j])",
        [array("b", "n, 2*n + 3")],
        lambda b: np.cumsum(b, axis=1),
    ),
    "a scan": (
        "[j]: b[i, j] = running(2*n + 3, [j]: a[i, 2*n + 2 - j])",
        [array("a", "n, 2*n + 3"), array("b", "n, 2*n + 3")],
        lambda a: np.cumsum(a[:, ::-1], axis=1),
    ),
    "a computed size": (
        "<> w = i % 4  {id=w}\n[j]: b[i, j] = line(w, [j]: a[i, j])  {dep=w}",
        [array("a", "n, 2*n + 3"), array("b", "n, 2*n + 3")],
        as_long_as,
    ),
    "branches": (
        "[j]: b[i, j] = branch(n, [j]: a[i, j])  {if=i > 1}",
        [array("a", "n, 2*n + 3"), array("b", "n, 2*n + 3")],
        lambda a: np.where(
            (np.arange(len(a))[:, None] > 1) & (np.arange(a.shape[1]) < len(a)),
            np.where(a > 2, a, -a),
            0,
        ),
    ),
    "two types": (
        """
        [j]: b[i, j] = line(2*n + 3, [j]: a[i, j])    {id=one}
        [j]: c[i, j] = line(2*n + 3, [j]: b[i, j])    {id=two, dep=one}
        """,
        [
            array("a", "n, 2*n + 3"),
            array("b", "n, 2*n + 3", np.float32),
            array("c", "n, 2*n + 3"),
        ],
        lambda a: 4 * a + 3,
    ),
}


@few(3, "case", CASES)
def test_parts(case: str) -> None:
    text, arrays, expected = CASES[case]
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }", text, [*arrays, "..."], functions=KERNELS, silenced_warnings=QUIET
    )
    function = CASES[case][0].partition("= ")[2].partition("(")[0]
    function = "line" if case in {"two types", "a computed size"} else function
    for way in (knl, pg.inline_callable_kernel(knl, function)):
        parallel = pg.split_iname(way, "i", 4, outer_tag="g.0", inner_tag="l.0")
        for step in (way, parallel):
            for target in "c", "opencl":
                run = step.executor(target)
                for n in (0, 1, 7):
                    a = np.random.default_rng(n).integers(0, 5, (n, 2 * n + 3)).astype(float)
                    given = {x.name: np.zeros(a.shape, x.dtype) for x in arrays} | {
                        arrays[0].name: a.copy()
                    }
                    found = run(**given, n=n)[1]
                    np.testing.assert_array_equal(found[-1], expected(a))


def test_axes_in_another_order() -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "[p, q]: b[q, i, p] = turn([q, p]: a[i, p, q])",
        [array("a", "n, 2, 3"), array("b", "3, n, 2"), "..."],
        functions=KERNELS,
    )
    for n in (0, 1, 7):
        a = np.random.default_rng(n).random((n, 2, 3))
        for target in "c", "opencl":
            (found,) = knl.executor(target)(a=a)[1]
            np.testing.assert_array_equal(found, a.transpose(2, 0, 1))
