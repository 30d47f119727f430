"""Separate code for loops whose bounds are data: rows of sparse matrices, lengths of lists."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NotSeparable, SeparationIgnored, WrongOrder
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model, lower_prepared, prepare
from polygen.lower.program import Loop, Node
from tests.few import few
from tests.validation.edits import said, where

SPARSE = pg.make_kernel(
    ["{ [r]: 0<=r<n }", "{ [k]: low<=k<high }"],
    """
    for r
        <> low = first[r]
        <> high = first[r+1]
        y[r] = sum(k, val[k]*x[col[k]])
    end
    """,
    [
        pg.GlobalArg("first", np.int32, "n + 1"),
        pg.GlobalArg("col", np.int32, "m"),
        pg.GlobalArg("val", np.float64, "m"),
        pg.GlobalArg("x, y", np.float64, "n"),
        "...",
    ],
    name="sparse",
)
LISTS = pg.make_kernel(
    ["{ [r]: 0<=r<n }", "{ [k]: 0<=k<8 and k<stop }"],
    """
    for r
        <> stop = count[r]  {id=stop}
        y[r,k] = 3*k + r
        z[r,k] = 1  {if=k == 0}
    end
    """,
    [
        pg.GlobalArg("count", np.int32, "n"),
        pg.GlobalArg("y, z", np.int32, "n, 8"),
        "...",
    ],
    name="lists",
    seq_dependencies=True,
)


def step_by(name: str, *args: object, **kwargs: object) -> Callable[[Kernel], Kernel]:
    """Return a step that keeps the order of the parts of `k`."""

    def take(knl: Kernel) -> Kernel:
        new: Kernel = getattr(pg, name)(knl, *args, **kwargs)
        return pg.prioritize_loops(new, "k_outer, k_inner") if "k_outer" in new.inames else new

    return take


STEPS: list[Callable[[Kernel], Kernel]] = [
    step_by("peel", "k"),
    step_by("peel", "k", 1, 1),
    step_by("split_iname", "k", 4, slabs=(1, 1)),
    step_by("split_iname", "k", 4, slabs=(0, 1), inner_tag="unr"),
    lambda k: pg.separate_full_tiles(step_by("split_iname", "k", 4)(k), "k_inner"),
    lambda k: pg.tag_inames(pg.peel(k, "k", 2, 0), "r: g.0"),
    lambda k: pg.tile(pg.peel(k, "k", 1, 1), {"r": 2}, inner_tags={"r": "unr"}),
]


@few(
    5, ("number", "target"), [*((n, "c") for n in range(len(STEPS))), (1, "opencl"), (4, "opencl")]
)
def test_numpy_agrees(number: int, target: str) -> None:
    sparse, lists = (STEPS[number](k).executor(target) for k in (SPARSE, LISTS))
    for n in (0, 1, 2, 7):
        rng = np.random.default_rng(n)
        dense = rng.integers(1, 9, (n, n)) * (rng.random((n, n)) < 0.6)
        rows, columns = np.nonzero(dense)
        first = np.searchsorted(rows, np.arange(n + 1)).astype(np.int32)
        x = rng.integers(-9, 9, n).astype(np.float64)
        val = dense[rows, columns].astype(np.float64)
        _, (y,) = sparse(first=first, col=columns.astype(np.int32), val=val, x=x)
        np.testing.assert_array_equal(y, dense @ x)
        count = (np.arange(n, dtype=np.int32) * 5) % 11 - 1
        y, z = np.zeros((2, n, 8), np.int32)
        lists(count=count, y=y, z=z)
        r, k = np.indices((n, 8))
        inside = k < count[:, None]
        np.testing.assert_array_equal(y, (3 * k + r) * inside)
        np.testing.assert_array_equal(z, inside & (k == 0))


def test_as_code() -> None:
    new = pg.peel(SPARSE, "k")
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(SPARSE, new.history) == new
    source = str(pg.generate_code(new, "c"))
    assert [line.strip() for line in source.partition("rp")[0].splitlines()[-10:]] == [
        "int const low = first[r];",
        "int const high = first[r + 1];",
        "double acc_k = 0.0;",
        "if (low < high)",
        "acc_k += val[low] * x[col[low]];",
        "for (int k = low + 1; k < high; ++k)",
        "acc_k += val[k] * x[col[k]];",
        "y[r] = acc_k;",
        "}",
        "}",
    ]


def test_what_an_iname_is_worth_where_data_says_it() -> None:
    """An integer that is computed has a type of its own, and an iname has none."""
    knl = pg.make_kernel(
        ["{ [r]: 0<=r<n }", "{ [k]: at<=k<=at and 0<=k<8 }"],
        "for r\n<> at = count[r]  {id=at}\ny[r,k] = k + 0.5\nend",
        [pg.GlobalArg("count", np.int32, "n"), pg.GlobalArg("y", np.float32, "n, 8"), "..."],
        seq_dependencies=True,
    )
    for target in ("c", "opencl"):
        y = np.zeros((4, 8), np.float32)
        knl.executor(target)(count=np.array([0, 7, 8, 3], np.int32), y=y)
        wanted = np.zeros((4, 8))
        wanted[[0, 1, 3], [0, 7, 3]] = [0.5, 7.5, 3.5]
        np.testing.assert_array_equal(y, wanted)


@few(3, "extent", [0, 1, 4, 8, 12, 17])
def test_ends_that_are_all_of_a_loop(extent: int) -> None:
    knl = pg.make_kernel(f"{{ [i]: 0<=i<{extent} }}", "b[i] = 2*a[i]", name="few")
    a = np.arange(extent, dtype=np.float32)
    for ends in ((1, 1), (2, 2), (0, 1), (3, 0)):
        slabs = pg.split_iname(knl, "i", 4, slabs=ends)
        for new in (pg.peel(knl, "i", *ends), pg.prioritize_loops(slabs, "i_outer, i_inner")):
            source = str(pg.generate_code(pg.add_dtypes(new, {"a": "float32"}), "c"))
            assert "if (" not in source or extent % 4
            np.testing.assert_array_equal(new.executor("c")(a=a)[1][0], 2 * a)


def test_refused() -> None:
    for condition, why in (("r < stop", "bounds none of these loops"), ("k < count", "'count'")):
        with pytest.raises(NotSeparable, match=why):
            pg.index_set_split(LISTS, condition)
    on_axis = pg.tag_inames(pg.index_set_split(LISTS, "k + 2 < stop"), "r: g.0, k: l.0")
    with pytest.warns(SeparationIgnored, match="'stop' is not computed before its loop"):
        source = str(pg.generate_code(on_axis, "c"))
    assert source.count("for (int k =") == 1


def test_validation_finds_parts_in_another_order() -> None:
    prepared = prepare(pg.index_set_split(LISTS, "k + 2 < stop"))
    program = lower_prepared(prepared, Model.LOOPS)
    met: list[Node] = []

    def later(node: Loop) -> tuple[Node, ...]:
        met.append(node)
        return () if len(met) == 1 else (node, met[0])

    said(prepared, where(Loop, later, "k")(program), WrongOrder)
